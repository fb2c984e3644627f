#include "common/kubernetes/kube_watch.h"

#include <errno.h>

#include "common/telemetry/log.h"
#include "test/lib/script_server.h"
#include "test/lib/unit.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
/* of an answer that ends before it is complete */
#define CUT_HEAD "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\nConnection: close\r\n\r\n"
#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define LIST(version, items)                                                         \
	OK_HEAD "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version \
		"\"},\"items\":[" items "]}"
#define PAGE(version, next, items)                                                   \
	OK_HEAD "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version \
		"\",\"continue\":\"" next "\"},\"items\":[" items "]}"
#define EVENT(type, name, version)                                          \
	"{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name \
	"\",\"resourceVersion\":\"" version "\"}}}\n"
#define ERROR_EVENT(code, message)                                           \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" code \
	",\"message\":\"" message "\"}}\n"
#define REFUSAL(status, headers, message)                             \
	"HTTP/1.1 " status "\r\nConnection: close\r\n" headers "\r\n" \
	"{\"kind\":\"Status\",\"message\":\"" message "\"}"

#define FIRST_LIST "GET /api/v1/pods?fieldSelector=a%3Db&limit=500"
#define WATCH_FROM(version)                                                     \
	"GET /api/v1/pods?fieldSelector=a%3Db&watch=1&allowWatchBookmarks=true" \
	"&timeoutSeconds=N&resourceVersion=" version

#define SHORT_WATCH_FROM(version)                                               \
	"GET /api/v1/pods?fieldSelector=a%3Db&watch=1&allowWatchBookmarks=true" \
	"&timeoutSeconds=M&resourceVersion=" version

struct fixture {
	struct loop *loop;
	struct loop_source *timer;
	struct kube_client *client;
	struct kube_watch *watch;
	struct script_server server;
	uint64_t idle_ns;
	uint64_t deadline_ns;
	bool (*is_done)(struct fixture *f);
	size_t n_wanted;     /* requests */
	const char *wanted;  /* seen */
	const char *refused; /* name of an object that the owner refuses once; NULL: none */
	FILE *log;
	char seen[1024]; /* calls to the owner: "[", "+name ", "!name " if refused, "-name ", "]" */
};

/* ---- the owner ---- */

static void record(struct fixture *f, const char *mark, const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *name = json_string_value(json_object_get(metadata, "name"));
	size_t used = strlen(f->seen);

	snprintf(f->seen + used, sizeof(f->seen) - used, "%s%s%s", mark, name ? name : "",
		 name ? " " : "");
}

static void on_list_begins(void *ctx)
{
	record(ctx, "[", NULL);
}

static int on_object(void *ctx, const json_t *object)
{
	const json_t *name = json_object_get(json_object_get(object, "metadata"), "name");
	struct fixture *f = ctx;

	if (f->refused && strcmp(json_string_value(name), f->refused) == 0) {
		f->refused = NULL;
		record(f, "!", object);
		return -ENOMEM;
	}
	record(f, "+", object);
	return 0;
}

static void on_deleted(void *ctx, const json_t *object)
{
	record(ctx, "-", object);
}

static void on_listed(void *ctx)
{
	record(ctx, "]", NULL);
}

/* ---- running ---- */

static void poll_state(void *ctx)
{
	struct fixture *f = ctx;

	if (f->is_done(f) || clock_monotonic_ns() > f->deadline_ns)
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, 2 * NS_PER_MS);
}

static int new_watch(struct fixture *f)
{
	const struct kube_watch_config cfg = {
		.client = f->client,
		.loop = f->loop,
		.path = "/api/v1/pods",
		.selectors = "fieldSelector=a%3Db",
		.what = "pods",
		.idle_ns = f->idle_ns,
		.retry_min_ns = 10 * NS_PER_MS,
		.retry_max_ns = 40 * NS_PER_MS,
		.ctx = f,
		.list_begins = on_list_begins,
		.object = on_object,
		.deleted = on_deleted,
		.listed = on_listed,
	};

	return kube_watch_new(&f->watch, &cfg);
}

static bool has_asked(struct fixture *f)
{
	return script_server_requests(&f->server) >= f->n_wanted;
}

static bool has_seen(struct fixture *f)
{
	return strcmp(f->seen, f->wanted) == 0;
}

static bool has_no_problem(struct fixture *f)
{
	return !kube_watch_problem(f->watch)[0];
}

static bool has_problem(struct fixture *f)
{
	return kube_watch_problem(f->watch)[0];
}

static void run_until(struct fixture *f, bool (*is_done)(struct fixture *f))
{
	f->is_done = is_done;
	f->deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	loop_set_timer(f->timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
}

static void play(struct fixture *f, const struct script_reply *replies, size_t n)
{
	struct kube_config cfg = {0};

	f->server.replies = replies;
	f->server.n_replies = n;
	script_server_start(&f->server);
	cfg.server = f->server.url;
	assert_int_equal(kube_client_new(&f->client, f->loop, &cfg, NULL), 0);
	assert_int_equal(new_watch(f), 0);
}

/* Plays the script until one request more than it has replies arrives; that one is held. */
static void play_out(struct fixture *f, const struct script_reply *replies, size_t n)
{
	play(f, replies, n);
	f->n_wanted = n + 1;
	run_until(f, has_asked);
}

static void check_seen(struct fixture *f, const char *wanted)
{
	f->wanted = wanted;
	run_until(f, has_seen);
	assert_string_equal(f->seen, wanted);
}

/* The i-th request; timeoutSeconds is N where it is 240 to 300, M where it is 2. */
static void check_request(struct fixture *f, size_t i, const char *wanted)
{
	char *request = f->server.requests[i], *seconds, *end;
	unsigned long s;

	assert_true(script_server_requests(&f->server) > i);
	seconds = strstr(request, "timeoutSeconds=");
	if (seconds) {
		seconds += strlen("timeoutSeconds=");
		s = strtoul(seconds, &end, 10);
		assert_true(s == 2 || (s >= 240 && s <= 300));
		*seconds = s == 2 ? 'M' : 'N';
		memmove(seconds + 1, end, strlen(end) + 1);
	}
	assert_string_equal(request, wanted);
}

static size_t count_lines(struct fixture *f, const char *part)
{
	char line[4096];
	size_t n = 0;

	fflush(f->log);
	rewind(f->log);
	while (fgets(line, sizeof(line), f->log))
		n += strstr(line, part) != NULL;
	return n;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int r = loop_new(&f->loop);

	*state = f;
	f->idle_ns = 60 * NS_PER_S;
	f->log = tmpfile();
	assert_non_null(f->log);
	log_set_fd(fileno(f->log));
	return r < 0 ? r : loop_add_timer(f->loop, poll_state, f, &f->timer);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kube_watch_free(f->watch);
	kube_client_free(f->client);
	if (f->server.replies)
		script_server_stop(&f->server);
	loop_free(f->loop);
	log_set_fd(STDERR_FILENO);
	fclose(f->log);
	free(f);
	return 0;
}

/* ---- tests ---- */

TEST_FIXTURE(lists_in_pages_then_watches_from_there, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = PAGE("7", "a/b+c=", ITEM("one") "," ITEM("two"))},
		{.text = PAGE("7", "d", "")},
		{.text = LIST("7", ITEM("three"))},
		{.text = OK_HEAD EVENT("MODIFIED", "one", "8") EVENT("DELETED", "two", "9")
			 EVENT("ADDED", "four", "10")},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[+one +two +three ]+one -two +four ");
	check_request(f, 0, FIRST_LIST);
	check_request(f, 1, FIRST_LIST "&continue=a%2Fb%2Bc%3D");
	check_request(f, 2, FIRST_LIST "&continue=d");
	check_request(f, 3, WATCH_FROM("7"));
	check_request(f, 4, WATCH_FROM("10"));
	assert_true(kube_watch_synced(f->watch));
	assert_string_equal(kube_watch_problem(f->watch), "");
}

TEST_FIXTURE(events_are_reported_as_they_arrive, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", "")},
		{.text = OK_HEAD EVENT("ADDED", "one", "2"), .end = SCRIPT_HOLD},
	};
	struct fixture *f = *state;

	play(f, script, ARRAY_SIZE(script));
	check_seen(f, "[]+one ");
	assert_int_equal(script_server_requests(&f->server), 2);
}

TEST_FIXTURE(an_object_of_a_list_that_is_refused_comes_again, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = PAGE("1", "next", ITEM("one"))},
		{.text = LIST("1", ITEM("two") "," ITEM("three"))},
		{.text = LIST("1", ITEM("two") "," ITEM("three"))},
	};
	struct fixture *f = *state;

	f->refused = "two";
	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[+one !two +two +three ]");
	check_request(f, 2, FIRST_LIST "&continue=next");
	assert_int_equal(count_lines(f, "cannot list pods: Cannot allocate memory"), 1);
}

TEST_FIXTURE(an_object_of_a_watch_that_is_refused_comes_again, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", "")},
		{.text = OK_HEAD EVENT("ADDED", "one", "2") EVENT("ADDED", "two", "3")},
		{.text = OK_HEAD EVENT("ADDED", "two", "3") EVENT("ADDED", "three", "4")},
	};
	struct fixture *f = *state;

	f->refused = "two";
	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[]+one !two +two +three ");
	check_request(f, 2, SHORT_WATCH_FROM("2"));
	assert_string_equal(kube_watch_problem(f->watch), "");
}

TEST_FIXTURE(bookmarks_move_the_version_and_nothing_else, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", "")},
		{.text = OK_HEAD "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
				 "{\"resourceVersion\":\"50\"}}}\n"},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[]");
	check_request(f, 2, WATCH_FROM("50"));
}

TEST_FIXTURE(closed_watches_resume_without_a_new_list, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", ITEM("one"))},
		{.text = OK_HEAD},
		{.text = OK_HEAD},
		{.text = OK_HEAD EVENT("ADDED", "two", "2") "{\"type\":\"ADDED\",\"obj"},
		{.text = CUT_HEAD EVENT("ADDED", "three", "3")},
		{.text = OK_HEAD, .end = SCRIPT_RESET, .hold_ms = 60},
		{.text = OK_HEAD EVENT("DELETED", "one", "4")},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[+one ]+two +three -one ");
	check_request(f, 3, WATCH_FROM("1"));
	check_request(f, 4, WATCH_FROM("2"));
	check_request(f, 5, WATCH_FROM("3"));
	check_request(f, 7, WATCH_FROM("4"));
	assert_string_equal(kube_watch_problem(f->watch), "");
	assert_int_equal(count_lines(f, "retrying"), 0);
}

TEST_FIXTURE(an_expired_version_leads_to_a_new_list, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", ITEM("one"))},
		{.text = OK_HEAD ERROR_EVENT("410", "too old resource version: 1 (5)")},
		{.text = LIST("5", ITEM("two"))},
		{.text = OK_HEAD EVENT("ADDED", "three", "6")},
		{.text = REFUSAL("410 Gone", "", "too old")},
		{.text = LIST("9", "")},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[+one ][+two ]+three []");
	check_request(f, 2, FIRST_LIST);
	check_request(f, 6, WATCH_FROM("9"));
	/* this is normal, so nothing is logged */
	assert_int_equal(count_lines(f, "retrying"), 0);
}

TEST_FIXTURE(an_expired_continue_token_restarts_the_list, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = PAGE("1", "x", ITEM("one"))},
		{.text = REFUSAL("410 Gone", "", "The provided continue parameter is too old")},
		{.text = LIST("2", ITEM("two"))},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[+one [+two ]");
	check_request(f, 2, FIRST_LIST);
}

TEST_FIXTURE(a_page_that_fails_is_asked_for_again, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = PAGE("1", "x", ITEM("one"))},
		{.text = REFUSAL("500 Internal Server Error", "", "etcd is away")},
		{.text = LIST("1", ITEM("two"))},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[+one +two ]");
	check_request(f, 2, FIRST_LIST "&continue=x");
}

TEST_FIXTURE(errors_inside_of_a_watch_lead_to_a_new_list, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", "")},
		{.text = OK_HEAD EVENT("ADDED", "one", "2")
			 ERROR_EVENT("500", "unable to decode an event")},
		{.text = LIST("3", ITEM("one"))},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[]+one [+one ]");
	assert_string_equal(kube_watch_problem(f->watch),
			    "cannot watch pods: unable to decode an event");
	check_request(f, 3, SHORT_WATCH_FROM("3"));
}

TEST_FIXTURE(answers_that_are_not_understood_lead_to_a_new_list, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = OK_HEAD "<html>"},
		{.text = OK_HEAD "{\"kind\":\"Status\",\"message\":\"no\",\"items\":[]}"},
		{.text = OK_HEAD "{\"metadata\":{},\"items\":[]}"},
		{.text = OK_HEAD "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":["},
		{.text = LIST("1", "")},
		{.text = OK_HEAD "<html>"},
		{.text = LIST("2", "")},
		{.text = OK_HEAD "{\"type\":\"ADDED\"}"},
		{.text = LIST("3", "")},
		{.text = OK_HEAD EVENT("EXPLODED", "one", "4")},
		{.text = LIST("5", "")},
		{.text = OK_HEAD "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}"},
		{.text = LIST("6", "")},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[[[[[][][][][]");
	check_request(f, 13, SHORT_WATCH_FROM("6"));
	assert_string_equal(kube_watch_problem(f->watch),
			    "cannot watch pods: cannot parse the answer: an event without "
			    "resourceVersion");
}

TEST_FIXTURE(objects_that_cannot_be_read_are_left_out, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", ITEM("one") ",{\"a\":1e},{\"b\":\"\\u0000\"}")},
		{.text = OK_HEAD "{\"type\":tru}\n" EVENT("ADDED", "two", "2")},
	};
	struct fixture *f = *state;
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct buf out;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(f->seen, "[+one +]+two ");
	check_request(f, 2, WATCH_FROM("2"));

	buf_init(&out, 65536);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(kube_watch_register(f->watch, "coroot_cluster_agent", ms), 0);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_non_null(strstr(out.data, "coroot_cluster_agent_kubernetes_pods_objects_left_out_"
					 "total{reason=\"unreadable\"} 2\n"));
	assert_non_null(strstr(out.data, "coroot_cluster_agent_kubernetes_pods_lists_total 1\n"));
	assert_non_null(strstr(out.data, "kubernetes_pods_watch_events_total 1\n"));
	buf_fini(&out);
}

TEST_FIXTURE(a_refusal_is_logged_once_with_the_missing_rights, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = REFUSAL("403 Forbidden", "", "pods is forbidden: User \\\"x\\\" cannot")},
		{.text = REFUSAL("403 Forbidden", "", "pods is forbidden: User \\\"x\\\" cannot")},
		{.text = REFUSAL("403 Forbidden", "", "pods is forbidden: User \\\"x\\\" cannot")},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	assert_string_equal(
		kube_watch_problem(f->watch),
		"cannot list pods: pods is forbidden: User \"x\" cannot; the agent needs "
		"get, list and watch of pods (RBAC)");
	assert_int_equal(count_lines(f, "retrying"), 1);
	assert_int_equal(
		count_lines(f, "hint=\"the agent needs get, list and watch of pods (RBAC)\""), 1);
	assert_false(kube_watch_synced(f->watch));
}

TEST_FIXTURE(the_end_of_a_failure_is_logged, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", "")},
		{.text = REFUSAL("503 Service Unavailable", "", "starting")},
		{.text = REFUSAL("403 Forbidden", "", "no")},
		{.text = OK_HEAD},
	};
	struct fixture *f = *state;

	play_out(f, script, ARRAY_SIZE(script));
	run_until(f, has_no_problem);
	assert_string_equal(kube_watch_problem(f->watch), "");
	assert_int_equal(count_lines(f, "retrying"), 2);
	assert_int_equal(count_lines(f, "recovered"), 1);
	check_request(f, 4, WATCH_FROM("1"));
}

TEST_FIXTURE(retry_after_is_waited_for, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = REFUSAL("429 Too Many Requests", "Retry-After: 1\r\n", "slow down")},
	};
	struct fixture *f = *state;
	uint64_t began_ns = clock_monotonic_ns();

	play_out(f, script, ARRAY_SIZE(script));
	assert_true(clock_monotonic_ns() - began_ns >= NS_PER_S);
}

TEST_FIXTURE(a_silent_server_gets_a_new_watch, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = LIST("1", "")},
		{.text = OK_HEAD EVENT("ADDED", "one", "2"), .end = SCRIPT_HOLD},
		{.text = OK_HEAD},
		{.text = OK_HEAD, .end = SCRIPT_HOLD},
		{.text = OK_HEAD, .end = SCRIPT_HOLD},
	};
	struct fixture *f = *state;

	f->idle_ns = 2 * NS_PER_S;
	play(f, script, ARRAY_SIZE(script));
	run_until(f, has_problem);
	assert_string_equal(f->seen, "[]+one ");
	assert_int_equal(script_server_requests(&f->server), 5);
	check_request(f, 2, SHORT_WATCH_FROM("2"));
	check_request(f, 3, WATCH_FROM("2"));
	check_request(f, 4, SHORT_WATCH_FROM("2"));
}

TEST_FIXTURE(a_server_that_is_away_is_a_problem, set_up, tear_down)
{
	struct fixture *f = *state;
	static const struct script_reply empty[] = {{.text = ""}};
	struct kube_config cfg = {.server = f->server.url};

	/* a port without a listener */
	f->server.replies = empty;
	script_server_start(&f->server);
	script_server_stop(&f->server);
	f->server.replies = NULL;
	assert_int_equal(kube_client_new(&f->client, f->loop, &cfg, NULL), 0);
	assert_int_equal(new_watch(f), 0);
	run_until(f, has_problem);
	assert_memory_equal(kube_watch_problem(f->watch), "cannot list pods: ", 18);
	assert_false(kube_watch_synced(f->watch));
}

TEST_FIXTURE(freeing_in_the_middle_is_quiet, set_up, tear_down)
{
	static const struct script_reply script[] = {
		{.text = OK_HEAD "{\"items\":[" ITEM("one") ",{\"half", .end = SCRIPT_HOLD},
	};
	struct fixture *f = *state;

	play(f, script, ARRAY_SIZE(script));
	check_seen(f, "[+one ");
	kube_watch_free(TAKE_PTR(f->watch));
	kube_watch_free(NULL);
}

static int construct(void *fixture)
{
	struct fixture *f = fixture;
	int r = new_watch(f);

	kube_watch_free(TAKE_PTR(f->watch));
	return r;
}

TEST_FIXTURE(construction_survives_lack_of_memory, set_up, tear_down)
{
	struct fixture *f = *state;

	check_oom(construct, f);
}

int main(void)
{
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	return unit_run(NULL, NULL);
}
