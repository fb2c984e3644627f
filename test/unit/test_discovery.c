#include "cluster-agent/discover/discovery.h"

#include <errno.h>

#include "cluster-agent/scrape/target_table.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/script_server.h"
#include "test/lib/unit.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define ON(port) "\"coroot.com/profile-scrape\":\"true\",\"coroot.com/profile-port\":\"" port "\""
#define OFF "\"coroot.com/profile-scrape\":\"false\""
#define POD_IN(phase, name, version, annotations)                                         \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" name "\"," \
	"\"resourceVersion\":\"" version "\",\"annotations\":{" annotations "}},"         \
	"\"status\":{\"phase\":\"" phase "\",\"podIP\":\"10.0.0.1\"}}"
#define POD(name, version, annotations) POD_IN("Running", name, version, annotations)
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define LIST(items) OK_HEAD "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" items "]}"
#define GONE "HTTP/1.1 410 Gone\r\nConnection: close\r\n\r\n"

struct fixture {
	struct loop *loop;
	struct loop_source *timer;
	struct kube_client *client;
	struct discovery *discovery;
	struct script_server server;
	uint64_t deadline_ns;
	const char *wanted;
	const char *starved; /* pod for which there is no memory, once; NULL: none */
	char seen[1024];     /* "+name:port ", "!name " for lack of memory, and "-name " */
};

static int copy_target(void *ctx)
{
	const struct scrape_target *const *t = ctx;
	struct target *copy = NULL;
	int r = target_new(&copy, *t);

	target_freep(&copy);
	return r;
}

static int on_upsert(void *ctx, const struct scrape_target *t)
{
	struct fixture *f = ctx;
	size_t used = strlen(f->seen);

	if (f->starved && strcmp(t->pod, f->starved) == 0) {
		f->starved = NULL;
		snprintf(f->seen + used, sizeof(f->seen) - used, "!%s ", t->pod);
		return call_without_memory(copy_target, &t);
	}
	used += (size_t)snprintf(f->seen + used, sizeof(f->seen) - used, "+%s:%u ", t->pod,
				 t->n_endpoints ? t->endpoints[0].port : 0);
	if (t->n_labels > 0)
		snprintf(f->seen + used, sizeof(f->seen) - used, "(%s=%s) ", t->labels[0].name,
			 t->labels[0].value);
	return 0;
}

static void on_remove(void *ctx, const char *uid)
{
	struct fixture *f = ctx;
	size_t used = strlen(f->seen);

	snprintf(f->seen + used, sizeof(f->seen) - used, "-%s ", uid);
}

static void poll_state(void *ctx)
{
	struct fixture *f = ctx;

	if (strcmp(f->seen, f->wanted) == 0 || clock_monotonic_ns() > f->deadline_ns)
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, 2 * NS_PER_MS);
}

static int new_discovery(struct fixture *f, const char *namespace)
{
	const struct discovery_config cfg = {
		.client = f->client,
		.loop = f->loop,
		.namespace = namespace,
		.kinds = {[PROFILE_KIND_CPU] = true},
		.pod_labels = "app.kubernetes.io/version",
		.ctx = f,
		.upsert = on_upsert,
		.remove = on_remove,
	};

	return discovery_new(&f->discovery, &cfg);
}

static void play(struct fixture *f, const char *namespace, const struct script_reply *replies,
		 size_t n)
{
	struct kube_config cfg = {0};

	f->server.replies = replies;
	f->server.n_replies = n;
	script_server_start(&f->server);
	cfg.server = f->server.url;
	assert_int_equal(kube_client_new(&f->client, f->loop, &cfg, NULL), 0);
	assert_int_equal(new_discovery(f, namespace), 0);
}

static void check_seen(struct fixture *f, const char *wanted)
{
	f->wanted = wanted;
	f->deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	loop_set_timer(f->timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_string_equal(f->seen, wanted);
}

static void check_metrics(struct fixture *f, const char *const *lines, size_t n)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 65536);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(discovery_register(f->discovery, ms), 0);
	assert_int_equal(metrics_write(ms, &out), 0);
	for (size_t i = 0; i < n; i++)
		assert_non_null(strstr(out.data, lines[i]));
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

	discovery_free(f->discovery);
	kube_client_free(f->client);
	if (f->server.replies)
		script_server_stop(&f->server);
	loop_free(f->loop);
	free(f);
	return 0;
}

#define LABELLED(version, labels) POD("a", version, ON("80") "},\"labels\":{" labels)

TEST_FIXTURE(labels_that_are_asked_for_come_with_the_pod, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(LABELLED("1", "\"app\":\"a\""))},
		{.text = OK_HEAD EVENT("MODIFIED",
				       LABELLED("2", "\"app.kubernetes.io/version\":\"1.2\""))
			 EVENT("MODIFIED", LABELLED("3", "\"app.kubernetes.io/version\":\"1.3\"")),
		 .end = SCRIPT_HOLD},
	};
	struct fixture *f = *state;

	play(f, NULL, script, ARRAY_SIZE(script));
	check_seen(f, "+a:80 +a:80 (app.kubernetes.io/version=1.2) "
		      "+a:80 (app.kubernetes.io/version=1.3) ");
}

TEST_FIXTURE(pods_that_ask_are_reported_with_each_change, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(
			 POD("a", "1", ON("80")) "," POD("b", "1", "") "," POD("c", "1", OFF))},
		{.text = OK_HEAD EVENT("MODIFIED", POD("a", "2", ON("80"))) EVENT(
			 "MODIFIED", POD("b", "3", ON("81"))) EVENT("MODIFIED",
								    POD("a", "4", ON("82")))
			 EVENT("MODIFIED", POD("b", "5", OFF)) EVENT("DELETED", POD("c", "6", OFF))
				 EVENT("DELETED", POD_IN("Succeeded", "a", "7", ON("82")))
					 EVENT("ADDED", POD("d", "8", ON("83"))),
		 .end = SCRIPT_HOLD},
	};
	struct fixture *f = *state;

	play(f, NULL, script, ARRAY_SIZE(script));
	check_seen(f, "+a:80 +b:81 +a:82 -b -a +d:83 ");
	assert_string_equal(f->server.requests[0],
			    "GET /api/v1/pods?fieldSelector=status.phase%3DRunning&limit=500");
	assert_true(discovery_synced(f->discovery));
	assert_string_equal(discovery_problem(f->discovery), "");
}

TEST_FIXTURE(a_new_list_removes_only_what_it_does_not_name, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(POD("a", "1", ON("80")) "," POD("b", "1", ON("81")) "," POD(
			 "c", "1", ON("82")))},
		{.text = GONE},
		/* broken off: nothing is removed yet */
		{.text = OK_HEAD "{\"items\":[" POD("a", "1", ON("80"))},
		{.text = LIST(POD("b", "9", ON("81")) "," POD("a", "9", ON("99")))},
		{.text = OK_HEAD EVENT("ADDED", POD("d", "8", ON("83"))), .end = SCRIPT_HOLD},
	};
	struct fixture *f = *state;

	play(f, "", script, ARRAY_SIZE(script));
	check_seen(f, "+a:80 +b:81 +c:82 +a:99 -c +d:83 ");
}

TEST_FIXTURE(objects_other_than_pods_are_counted_and_ignored, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("{\"metadata\":{\"uid\":\"x\"}}," POD("a", "1", ON("80")))},
		{.text = OK_HEAD EVENT("MODIFIED",
				       "{\"metadata\":{\"uid\":\"a\",\"resourceVersion\":\"2\"}}")
			 EVENT("ADDED", POD("b", "3", ON("0"))),
		 .end = SCRIPT_HOLD},
	};
	static const char *const lines[] = {
		"\ncoroot_cluster_agent_discovery_targets 2\n",
		"pods_ignored_total{reason=\"no_pod\"} 2\n",
		"\ncoroot_cluster_agent_kubernetes_pods_lists_total 1\n"};
	struct fixture *f = *state;

	play(f, "default", script, ARRAY_SIZE(script));
	check_seen(f, "+a:80 +b:0 ");
	assert_memory_equal(f->server.requests[0], "GET /api/v1/namespaces/default/pods?", 36);
	check_metrics(f, lines, ARRAY_SIZE(lines));
}

TEST_FIXTURE(a_listed_pod_for_which_there_was_no_memory_is_tried_again, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(POD("a", "1", ON("80")) "," POD("b", "1", ON("81")))},
		{.text = LIST(POD("a", "1", ON("80")) "," POD("b", "1", ON("81")))},
		{.text = OK_HEAD, .end = SCRIPT_HOLD},
	};
	static const char *const lines[] = {"pods_ignored_total{reason=\"memory\"} 1\n"};
	struct fixture *f = *state;

	f->starved = "a";
	play(f, NULL, script, ARRAY_SIZE(script));
	check_seen(f, "!a +a:80 +b:81 ");
	check_metrics(f, lines, ARRAY_SIZE(lines));
}

TEST_FIXTURE(a_new_pod_for_which_there_was_no_memory_is_tried_again, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST(POD("a", "1", ON("80")))},
		{.text = OK_HEAD EVENT("ADDED", POD("b", "2", ON("81")))
			 EVENT("ADDED", POD("c", "3", ON("82")))},
		{.text = OK_HEAD EVENT("ADDED", POD("b", "2", ON("81")))
			 EVENT("ADDED", POD("c", "3", ON("82"))),
		 .end = SCRIPT_HOLD},
	};
	static const char *const lines[] = {"pods_ignored_total{reason=\"memory\"} 1\n",
					    "\ncoroot_cluster_agent_discovery_changes_total 3\n"};
	struct fixture *f = *state;

	f->starved = "b";
	play(f, NULL, script, ARRAY_SIZE(script));
	check_seen(f, "+a:80 !b +b:81 +c:82 ");
	check_metrics(f, lines, ARRAY_SIZE(lines));
}

TEST_FIXTURE(namespaces_are_names, set_up, tear_down)
{
	static const char *const bad[] = {"a/b", "A", "a?b", "..", "a b"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(new_discovery(f, bad[i]), -EINVAL);
}

static int construct(void *fixture)
{
	struct fixture *f = fixture;
	int r = new_discovery(f, "default");

	discovery_free(TAKE_PTR(f->discovery));
	return r;
}

TEST_FIXTURE(construction_survives_lack_of_memory, set_up, tear_down)
{
	struct fixture *f = *state;

	check_oom(construct, f);
	discovery_free(NULL);
}

int main(void)
{
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	return unit_run(NULL, NULL);
}
