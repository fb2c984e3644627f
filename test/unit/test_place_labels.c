#include "common/kubernetes/place_labels.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/script_server.h"
#include "test/lib/unit.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define PLACE(name, labels) \
	"{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"2\",\"labels\":{" labels "}}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define LIST(items) OK_HEAD "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" items "]}"
#define GONE "HTTP/1.1 410 Gone\r\nConnection: close\r\n\r\n"

struct fixture {
	struct loop *loop;
	struct loop_source *timer;
	struct kube_client *client;
	struct place_labels *places;
	struct script_server server;
	uint64_t deadline_ns;
	const char *namespace, *node, *wanted;
	char seen[512]; /* "name=value " */
};

static void look(struct fixture *f)
{
	struct place_label labels[PLACE_LABELS_MAX];
	size_t n = place_labels_find(f->places, f->namespace, f->node, labels), used = 0;

	f->seen[0] = '\0';
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(f->seen + used, sizeof(f->seen) - used, "%s=%s ",
					 labels[i].name, labels[i].value);
}

static void poll_state(void *ctx)
{
	struct fixture *f = ctx;

	look(f);
	if (strcmp(f->seen, f->wanted) == 0 || clock_monotonic_ns() > f->deadline_ns)
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, 2 * NS_PER_MS);
}

/* Until the labels of such a pod are those. */
static void check(struct fixture *f, const char *namespace, const char *node, const char *wanted)
{
	f->namespace = namespace;
	f->node = node;
	f->wanted = wanted;
	f->deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	loop_set_timer(f->timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_string_equal(f->seen, wanted);
}

static int new_places(struct fixture *f, const struct place_labels_config *asked)
{
	struct place_labels_config cfg = *asked;

	cfg.client = f->client;
	cfg.loop = f->loop;
	cfg.prefix = "agent";
	return place_labels_new(&f->places, &cfg);
}

static void play(struct fixture *f, const struct place_labels_config *asked,
		 const struct script_reply *replies, size_t n)
{
	struct kube_config kube = {0};

	f->server.replies = replies;
	f->server.n_replies = n;
	script_server_start(&f->server);
	kube.server = f->server.url;
	assert_int_equal(kube_client_new(&f->client, f->loop, &kube, NULL), 0);
	assert_int_equal(new_places(f, asked), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int r = loop_new(&f->loop);

	*state = f;
	log_set_level(LOG_LEVEL_ERROR);
	return r < 0 ? r : loop_add_timer(f->loop, poll_state, f, &f->timer);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	place_labels_free(f->places);
	kube_client_free(f->client);
	if (f->server.replies)
		script_server_stop(&f->server);
	loop_free(f->loop);
	free(f);
	return 0;
}

TEST_FIXTURE(labels_follow_the_objects, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(PLACE("shop", "\"team\":\"a\",\"x\":\"y\"") "," PLACE(
			 "bare", "") "," PLACE("old", "\"team\":\"c\""))},
		{.text = OK_HEAD EVENT("MODIFIED", PLACE("shop", "\"team\":\"b\",\"tier\":\"1\""))
			 EVENT("ADDED", PLACE("late", "\"tier\":\"2\""))
				 EVENT("DELETED", PLACE("old", "\"team\":\"c\""))},
		/* what the next list does not name is gone */
		{.text = GONE},
		{.text = LIST(PLACE("late", "\"team\":\"\",\"tier\":\"3\""))},
	};
	struct fixture *f = *state;

	play(f, &(struct place_labels_config){.namespace_keys = "team,tier"}, script,
	     ARRAY_SIZE(script));
	check(f, "late", "n", "tier=3 ");
	check(f, "shop", "n", "");
	check(f, "old", "n", "");
	check(f, "bare", "n", "");
	assert_true(script_server_requests(&f->server) >= 1);
	assert_non_null(strstr(f->server.requests[0], "/api/v1/namespaces?"));
	assert_null(strstr(f->server.requests[0], "fieldSelector"));
}

TEST_FIXTURE(a_change_is_seen_at_once, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(PLACE("shop", "\"team\":\"a\""))},
		{.text = OK_HEAD EVENT("MODIFIED", PLACE("shop", "\"team\":\"b\",\"tier\":\"1\"")),
		 .end = SCRIPT_HOLD},
	};
	struct fixture *f = *state;

	play(f, &(struct place_labels_config){.namespace_keys = "team,tier"}, script,
	     ARRAY_SIZE(script));
	check(f, "shop", "n", "team=b tier=1 ");
}

/* Both kinds get the same answers, so that it does not matter which asks first. */
TEST_FIXTURE(of_one_name_the_namespace_has_the_label, set_up, tear_down)
{
#define BOTH LIST(PLACE("shop", "\"team\":\"a\"") "," PLACE("n1", "\"team\":\"b\",\"zone\":\"z\""))
	static const struct script_reply script[] = {{.text = BOTH}, {.text = BOTH}};
	struct fixture *f = *state;

	play(f, &(struct place_labels_config){.namespace_keys = "team", .node_keys = "team,zone"},
	     script, ARRAY_SIZE(script));
	check(f, "shop", "n1", "team=a zone=z ");
	check(f, "other", "n1", "team=b zone=z ");
	check(f, "shop", "n2", "team=a ");
	check(f, "", NULL, "");
}

TEST_FIXTURE(an_agent_of_one_node_watches_that_alone, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(PLACE("node-1.test", "\"zone\":\"z\""))}};
	struct fixture *f = *state;

	play(f, &(struct place_labels_config){.node_keys = "zone", .node = "node-1.test"}, script,
	     ARRAY_SIZE(script));
	check(f, "shop", "node-1.test", "zone=z ");
	assert_non_null(strstr(f->server.requests[0],
			       "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-1.test&"));
}

TEST_FIXTURE(without_keys_nothing_is_asked, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(new_places(f, &(struct place_labels_config){.node_keys = " ,"}), 0);
	f->wanted = "";
	look(f);
	assert_string_equal(f->seen, "");
	assert_int_equal(place_labels_find(NULL, "shop", "n1", (struct place_label[32]){{0}}), 0);
	place_labels_free(f->places);
	f->places = NULL;
	assert_int_equal(new_places(f, &(struct place_labels_config){.node_keys = "zone",
								     .node = "no node"}),
			 -EINVAL);
}

static int make(void *ctx)
{
	struct fixture *f = ctx;
	int r = new_places(
		f, &(struct place_labels_config){.namespace_keys = "team", .node_keys = "zone"});

	place_labels_free(f->places);
	f->places = NULL;
	return r;
}

TEST_FIXTURE(a_lack_of_memory_is_no_crash, set_up, tear_down)
{
	struct fixture *f = *state;
	char server[] = "http://127.0.0.1:1";
	struct kube_config kube = {.server = server};

	assert_int_equal(kube_client_new(&f->client, f->loop, &kube, NULL), 0);
	check_oom(make, f);
}
