/* kube_watch while the credentials of its client change. */
#include "common/kubernetes/kube_watch.h"
#include "common/telemetry/log.h"
#include "test/lib/kube_fixture.h"
#include "test/lib/unit.h"

static struct kube_watch *watch;
static FILE *log_file;
static _Atomic unsigned n_lists, n_watches;
static unsigned n_objects;

/* A list of one pod, then watches that end after one bookmark. */
static void answer(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	if (http_exchange_param(x, "watch")) {
		n_watches++;
		http_respond_text(x, 200,
				  "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"
				  "{\"resourceVersion\":\"8\"}}}");
		return;
	}
	n_lists++;
	http_respond_text(x, 200,
			  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},"
			  "\"items\":[{\"metadata\":{\"name\":\"one\"}}]}");
}

static void ignore_list(void *ctx)
{
	(void)ctx;
}

static int count_object(void *ctx, const json_t *object)
{
	(void)ctx, (void)object;
	n_objects++;
	return 0;
}

static void count_deleted(void *ctx, const json_t *object)
{
	(void)ctx, (void)object;
	n_objects++;
}

static void start(struct kube_fixture *f)
{
	struct kube_watch_config cfg = {
		.loop = f->loop,
		.path = "/api/v1/pods",
		.what = "pods",
		.idle_ns = 60 * NS_PER_S,
		.retry_min_ns = 10 * NS_PER_MS,
		.retry_max_ns = 40 * NS_PER_MS,
		.ctx = f,
		.list_begins = ignore_list,
		.object = count_object,
		.deleted = count_deleted,
		.listed = ignore_list,
	};

	f->answer = answer;
	kube_fixture_serve(f, "Bearer first");
	kube_fixture_connect(f);
	cfg.client = f->client;
	assert_int_equal(kube_watch_new(&watch, &cfg), 0);
}

static int set_up(void **state)
{
	n_lists = n_watches = n_objects = 0;
	log_file = tmpfile();
	log_set_fd(fileno(log_file));
	return kube_fixture_set_up(state);
}

static int tear_down(void **state)
{
	kube_watch_free(TAKE_PTR(watch));
	log_set_fd(STDERR_FILENO);
	fclose(log_file);
	return kube_fixture_tear_down(state);
}

/* n of them have ended well since now. */
static void let_watch(struct kube_fixture *f, unsigned n)
{
	unsigned wanted = n_watches + n;

	for (int i = 0; i < 2000 && n_watches < wanted; i++)
		kube_fixture_pass(f, 10 * NS_PER_MS);
	assert_true(n_watches >= wanted);
}

static void let_fail(struct kube_fixture *f, const char *sentence)
{
	for (int i = 0; i < 2000 && !strstr(kube_watch_problem(watch), sentence); i++)
		kube_fixture_pass(f, 10 * NS_PER_MS);
	assert_non_null(strstr(kube_watch_problem(watch), sentence));
}

TEST_FIXTURE(a_token_that_rotates_interrupts_nothing, set_up, tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_write(f, "token", "first");
	f->cfg.token_file = kube_fixture_path(f, "token");
	start(f);
	let_watch(f, 2);
	/* the new one is there before the old one is refused, and the other way round */
	kube_fixture_write(f, "token", "second");
	kube_fixture_want(f, "Bearer second");
	let_watch(f, 3);
	pthread_mutex_lock(&f->lock);
	snprintf(f->rotate_path, sizeof(f->rotate_path), "%s", f->cfg.token_file);
	snprintf(f->rotate_to, sizeof(f->rotate_to), "third");
	pthread_mutex_unlock(&f->lock);
	kube_fixture_want(f, "Bearer third");
	let_watch(f, 3);
	assert_string_equal(kube_watch_problem(watch), "");
	assert_true(kube_watch_synced(watch));
	assert_int_equal(n_lists, 1);
	assert_int_equal(n_objects, 1);
}

TEST_FIXTURE(an_expired_token_is_a_problem_until_there_is_another, set_up, tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_write(f, "token", "first");
	f->cfg.token_file = kube_fixture_path(f, "token");
	start(f);
	let_watch(f, 1);
	kube_fixture_want(f, "Bearer second");
	let_fail(f, "Unauthorized");
	kube_fixture_write(f, "token", "second");
	let_watch(f, 2);
	assert_string_equal(kube_watch_problem(watch), "");
	assert_int_equal(n_lists, 1);
}

TEST_FIXTURE(a_plugin_that_fails_is_a_problem_until_it_works, set_up, tear_down)
{
	static char version[] = "client.authentication.k8s.io/v1";
	struct kube_fixture *f = *state;

	kube_fixture_write_script(f, "plugin",
				  "[ -s $dir/token ] || { echo please log in >&2; exit 1; }\n"
				  "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":"
				  "\"client.authentication.k8s.io/v1\","
				  "\"status\":{\"token\":\"%s\"}}' $(cat $dir/token)");
	f->cfg.exec.command = kube_fixture_path(f, "plugin");
	f->cfg.exec.api_version = version;
	start(f);
	let_fail(f, "exit status 1: please log in");
	assert_false(kube_watch_synced(watch));
	kube_fixture_write(f, "token", "first");
	let_watch(f, 2);
	assert_true(kube_watch_synced(watch));
	assert_string_equal(kube_watch_problem(watch), "");
	/* and refreshed once it is refused */
	kube_fixture_write(f, "token", "second");
	kube_fixture_want(f, "Bearer second");
	let_watch(f, 3);
	assert_int_equal(n_lists, 1);
	assert_int_equal(n_objects, 1);
}
