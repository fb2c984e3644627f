#include "node-agent/container/pod_source.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/script_server.h"
#include "test/lib/unit.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define POD(name, annotations, statuses)                                            \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" name \
	"\",\"resourceVersion\":\"2\",\"annotations\":{" annotations "}},"          \
	"\"status\":{\"containerStatuses\":[" statuses "]}}"
#define STATUS(id) "{\"name\":\"c\",\"image\":\"i\",\"containerID\":\"containerd://" id "\"}"
#define OFF "\"coroot.com/ebpf-profiling\":\"disabled\""
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define LIST(items) OK_HEAD "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" items "]}"
#define REFUSED                                               \
	"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n" \
	"{\"kind\":\"Status\",\"message\":\"pods is forbidden\"}"

struct fixture {
	struct loop *loop;
	struct loop_source *timer;
	struct pod_source *source;
	struct container_sink sink;
	void (*found)(void *ctx, const struct container_facts *c); /* or NULL */
	struct script_server server;
	uint64_t deadline_ns;
	uint64_t wait_ns;
	const char *wanted;
	FILE *log;
	bool is_asking;
	/* "+id pod ", with "!" instead of "+" if disabled; "." when a request has ended */
	char seen[1024];
};

static void on_found(void *ctx, const struct container_facts *c)
{
	struct fixture *f = ctx;
	size_t used = strlen(f->seen);

	assert_string_equal(c->namespace, "ns");
	assert_string_equal(c->owner, c->pod);
	if (f->found) {
		f->found(f, c);
		return;
	}
	if (c->sandbox) /* the pod itself */
		return;
	if (!c->name[0]) {
		snprintf(f->seen + used, sizeof(f->seen) - used, "%s%s %s (%s) ",
			 c->profiling_disabled ? "!" : "+", c->id, c->pod, c->likely_name);
		return;
	}
	assert_string_equal(c->name, "c");
	assert_string_equal(c->image, "i");
	snprintf(f->seen + used, sizeof(f->seen) - used, "%s%s %s ",
		 c->profiling_disabled ? "!" : "+", c->id, c->pod);
}

static void on_done(void *ctx, int error)
{
	struct fixture *f = ctx;
	size_t used = strlen(f->seen);

	assert_int_equal(error, 0);
	assert_true(f->is_asking);
	f->is_asking = false;
	snprintf(f->seen + used, sizeof(f->seen) - used, ".");
}

static void poll_state(void *ctx)
{
	struct fixture *f = ctx;

	if (strcmp(f->seen, f->wanted) == 0 || clock_monotonic_ns() > f->deadline_ns)
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, 2 * NS_PER_MS);
}

static void check_seen(struct fixture *f, const char *wanted)
{
	f->wanted = wanted;
	f->deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	loop_set_timer(f->timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_string_equal(f->seen, wanted);
	f->seen[0] = '\0';
}

static int new_source(struct fixture *f, const char *node, struct err *err)
{
	struct kube_config kube = {.server = f->server.url};
	const struct pod_source_config cfg = {
		.loop = f->loop,
		.kube = &kube,
		.node = node,
		.sink = &f->sink,
		.wait_ns = f->wait_ns,
		.pod_labels = "app.kubernetes.io/version,team",
	};

	f->sink = (struct container_sink){on_found, f};
	return pod_source_new(&f->source, &cfg, err);
}

static void play(struct fixture *f, const struct script_reply *replies, size_t n, uint64_t wait_ns)
{
	memset(f, 0, sizeof(*f));
	f->wait_ns = wait_ns;
	f->log = tmpfile();
	assert_non_null(f->log);
	log_set_fd(fileno(f->log));
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, poll_state, f, &f->timer), 0);
	f->server.replies = replies;
	f->server.n_replies = n;
	script_server_start(&f->server);
	assert_int_equal(new_source(f, "Node-1.test", NULL), 0);
}

static void tear_down(struct fixture *f)
{
	pod_source_ops.free(f->source);
	loop_free(f->loop);
	script_server_stop(&f->server);
	log_set_fd(STDERR_FILENO);
	fclose(f->log);
}

static void ask_for(struct fixture *f, const char *id)
{
	const char *const ids[] = {id, "never-known"};
	const struct container_question q = {ids, NULL, strcmp(id, "c1") == 0 ? 1 : 2};

	f->is_asking = true;
	assert_int_equal(pod_source_ops.ask(f->source, &q, on_done, f), 0);
	assert_true(f->is_asking);
}

static size_t count_logged(struct fixture *f, const char *text)
{
	char line[1024];
	size_t n = 0;

	rewind(f->log);
	while (fgets(line, sizeof(line), f->log))
		n += strstr(line, text) != NULL;
	return n;
}

TEST(changes_of_this_nodes_pods_are_passed_on)
{
	static const struct script_reply replies[] = {
		{LIST(POD("one", "", STATUS("c1")) "," POD("two", OFF, STATUS("c2"))), SCRIPT_CLOSE,
		 0},
		{OK_HEAD
			 /* another condition, an annotation, a restart, the end */
			 EVENT("MODIFIED", POD("one", "\"x\":\"y\"", STATUS("c1")))
				 EVENT("MODIFIED", POD("one", OFF, STATUS("c1")))
					 EVENT("MODIFIED", POD("two", "", STATUS("c3")))
						 EVENT("DELETED", POD("two", "", STATUS("c3"))),
		 SCRIPT_HOLD, 0},
	};
	struct fixture f;

	play(&f, replies, ARRAY_SIZE(replies), 50 * NS_PER_MS);
	check_seen(&f, "+c1 one !c2 two !c1 one +c3 two ");
	assert_true(script_server_requests(&f.server) >= 1);
	assert_string_equal(f.server.requests[0],
			    "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1.test&limit=500");
	/* containers that have ended are remembered for their last profiles */
	ask_for(&f, "c2");
	check_seen(&f, "!c2 two .");
	ask_for(&f, "c3");
	check_seen(&f, "+c3 two .");
	ask_for(&f, "c1");
	check_seen(&f, "!c1 one .");
	assert_int_equal(count_logged(&f, "no pods"), 0);
	tear_down(&f);
}

#define RENAMED(id) "{\"name\":\"c\",\"image\":\"2\",\"containerID\":\"containerd://" id "\"}"

/* The pod's image may be set while it runs; its container is replaced some time later. */
TEST(a_container_keeps_its_image)
{
	static const struct script_reply replies[] = {
		{LIST(POD("one", "", STATUS("c1"))), SCRIPT_CLOSE, 0},
		{OK_HEAD EVENT("MODIFIED", POD("one", "", RENAMED("c1")))
			 EVENT("MODIFIED", POD("one", OFF, RENAMED("c1"))),
		 SCRIPT_HOLD, 0},
	};
	struct fixture f;

	play(&f, replies, ARRAY_SIZE(replies), 50 * NS_PER_MS);
	check_seen(&f, "+c1 one !c1 one ");
	tear_down(&f);
}

static void ask_by_pod(struct fixture *f, const char *id, const char *uid)
{
	const struct container_question q = {&id, &uid, 1};

	f->is_asking = true;
	assert_int_equal(pod_source_ops.ask(f->source, &q, on_done, f), 0);
}

#define LONG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Of sandboxes and crash loops: their cgroup says which pod it was. */
TEST(containers_that_no_status_names_are_called_by_their_pod)
{
	static const char only[] = "{\"metadata\":{\"name\":\"solo\",\"namespace\":\"ns\","
				   "\"uid\":\"u\",\"resourceVersion\":\"2\"},"
				   "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}";
	char list[1024];
	const struct script_reply replies[] = {
		{list, SCRIPT_CLOSE, 0},
	};
	struct fixture f;

	snprintf(list, sizeof(list),
		 OK_HEAD "{\"metadata\":{\"resourceVersion\":\"1\"},"
			 "\"items\":[%s,%s]}",
		 POD("one", "", STATUS("c1")), only);
	play(&f, replies, 1, 50 * NS_PER_MS);
	check_seen(&f, "+c1 one ");
	ask_by_pod(&f, LONG, "one");
	check_seen(&f, "+" LONG " one (0123456789ab) .");
	ask_by_pod(&f, LONG, "one"); /* it is known from now on */
	check_seen(&f, "+" LONG " one (0123456789ab) .");
	ask_by_pod(&f, "x", "u");
	check_seen(&f, "+x solo (main) .");
	ask_by_pod(&f, "y", "another");
	check_seen(&f, ".");
	ask_by_pod(&f, "z", "");
	check_seen(&f, ".");
	tear_down(&f);
}

static void stop_when_done(void *ctx)
{
	struct fixture *f = ctx;

	if (!f->is_asking || clock_monotonic_ns() > f->deadline_ns)
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, 2 * NS_PER_MS);
}

static void check_labels(void *ctx, const struct container_facts *c)
{
	struct fixture *f = ctx;

	snprintf(f->seen, sizeof(f->seen), "%s", c->labels ?: "none");
}

TEST(labels_that_are_asked_for_are_read)
{
	static const struct script_reply replies[] = {
		{LIST("{\"metadata\":{\"name\":\"one\",\"namespace\":\"ns\",\"uid\":\"u\","
		      "\"resourceVersion\":\"2\",\"labels\":{\"team\":\"a\",\"other\":\"b\","
		      "\"app.kubernetes.io/version\":\"1.2\"}},\"status\":"
		      "{\"containerStatuses\":[" STATUS("c1") "]}}"),
		 SCRIPT_CLOSE, 0},
	};
	struct fixture f;

	play(&f, replies, ARRAY_SIZE(replies), NS_PER_MS);
	f.found = check_labels;
	check_seen(&f, "app.kubernetes.io/version=1.2\nteam=a\n");
	tear_down(&f);
}

TEST(what_is_called_by_its_pod_follows_the_pod)
{
	static const struct script_reply replies[] = {
		{LIST(POD("one", "", STATUS("c1"))), SCRIPT_CLOSE, 0},
		{OK_HEAD, SCRIPT_CLOSE, 200},
		{OK_HEAD EVENT("MODIFIED", POD("one", OFF, STATUS("c1"))), SCRIPT_HOLD, 0},
	};
	struct loop_source *poll;
	struct fixture f;

	play(&f, replies, ARRAY_SIZE(replies), NS_PER_MS);
	poll = f.timer;
	assert_int_equal(loop_add_timer(f.loop, stop_when_done, &f, &f.timer), 0);
	f.deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	while (!strstr(f.seen, "!s1 one (s1) ") && clock_monotonic_ns() < f.deadline_ns) {
		f.seen[0] = '\0';
		ask_by_pod(&f, "s1", "one");
		loop_set_timer(f.timer, 0);
		assert_int_equal(loop_run(f.loop), 0);
	}
	assert_non_null(strstr(f.seen, "!s1 one (s1) "));
	loop_remove(f.timer);
	f.timer = poll;
	tear_down(&f);
}

TEST(requests_wait_for_the_list)
{
	static const struct script_reply replies[] = {
		{LIST(POD("one", "", STATUS("c1"))), SCRIPT_CLOSE, 0},
	};
	struct fixture f;

	play(&f, replies, ARRAY_SIZE(replies), 600 * NS_PER_S);
	ask_for(&f, "c1");
	/* found by the list, and once more for the request if that was not answered before */
	check_seen(&f, "+c1 one +c1 one .");
	tear_down(&f);
}

TEST(a_server_that_refuses_delays_nobody)
{
	static const struct script_reply replies[] = {
		{REFUSED, SCRIPT_CLOSE, 0},
		{REFUSED, SCRIPT_CLOSE, 0},
		{LIST(POD("one", "", STATUS("c1"))), SCRIPT_CLOSE, 0},
	};
	struct fixture f;

	play(&f, replies, ARRAY_SIZE(replies), 1);
	ask_for(&f, "c1");
	check_seen(&f, ".");
	/* the third request is granted, and the list is passed on unasked */
	check_seen(&f, "+c1 one ");
	assert_int_equal(count_logged(&f, "pods is forbidden"), 1);
	tear_down(&f);
}

TEST(an_empty_node_is_logged_once)
{
	static const struct script_reply replies[] = {
		{LIST(""), SCRIPT_CLOSE, 0},
		{"HTTP/1.1 410 Gone\r\nConnection: close\r\n\r\n", SCRIPT_CLOSE, 0},
		{LIST(""), SCRIPT_CLOSE, 0},
		{OK_HEAD EVENT("ADDED", POD("one", "", STATUS("c1"))), SCRIPT_HOLD, 0},
	};
	struct fixture f;

	play(&f, replies, ARRAY_SIZE(replies), 1);
	check_seen(&f, "+c1 one ");
	assert_int_equal(count_logged(&f, "no pods on this node"), 1);
	tear_down(&f);
}

/* The list ends after its last container is known. */
static void await_metric(struct fixture *f, struct metrics *ms, const char *line)
{
	uint64_t deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	bool found = false;

	while (!found && clock_monotonic_ns() < deadline_ns) {
		CLEANUP(buf_fini) struct buf out;

		check_seen(f, "");
		buf_init(&out, MIB);
		assert_int_equal(metrics_write(ms, &out), 0);
		found = strstr(out.data, line) != NULL;
	}
	assert_true(found);
}

TEST(metrics_are_those_of_the_node_agent)
{
	CLEANUP(buf_fini) struct buf out;
	struct metrics *ms;
	struct fixture f;

	play(&f,
	     (struct script_reply[]){{LIST(POD("one", "", STATUS("c1")) ",{}"), SCRIPT_CLOSE, 0}},
	     1, 1);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(pod_source_register(f.source, ms), 0);
	check_seen(&f, "+c1 one ");
	ask_for(&f, "c4");
	check_seen(&f, ".");
	await_metric(&f, ms, "\ncoroot_node_agent_kubernetes_pods_lists_total 1\n");
	buf_init(&out, MIB);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_non_null(strstr(out.data, "\ncoroot_node_agent_kubernetes_containers 1\n"));
	assert_non_null(strstr(out.data, "\ncoroot_node_agent_kubernetes_containers_left_out_total{"
					 "reason=\"unreadable\"} 1\n"));
	tear_down(&f);
	metrics_free(ms);
}

TEST(a_node_has_a_valid_name)
{
	static const char *const names[] = {"", "a b", "a/b", "a&limit=1", "n\xc3\xb6rd"};
	struct fixture f = {0};

	assert_int_equal(loop_new(&f.loop), 0);
	snprintf(f.server.url, sizeof(f.server.url), "http://127.0.0.1:1");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct err err = {""};

		assert_int_equal(new_source(&f, names[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, "not the name of a node"));
	}
	loop_free(f.loop);
}
