/* kube_client with exec plugins, which are shell scripts here. */
#include <errno.h>
#include <signal.h>

#include "common/system/clock.h"
#include "test/lib/kube_fixture.h"
#include "test/lib/unit.h"

#define V1 "client.authentication.k8s.io/v1"
/* Counts its runs, and prints a credential. */
#define PRINT(status)                                               \
	"printf x >>$dir/runs\n"                                    \
	"printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 \
	"\",\"status\":{%s}}' '" status "'\n"
#define TOKEN "\"token\":\"abc\""

static void use_plugin(struct kube_fixture *f, const char *script)
{
	static char version[] = V1;

	kube_fixture_write_script(f, "plugin", script);
	f->cfg.exec.command = kube_fixture_path(f, "plugin");
	f->cfg.exec.api_version = version;
	kube_fixture_connect(f);
}

TEST_FIXTURE(many_requests_wait_for_one_run, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "Bearer abc");
	use_plugin(f, "sleep 0.2\n" PRINT(TOKEN));
	for (int i = 0; i < 20; i++)
		kube_fixture_send(f, (struct kube_request){0});
	kube_fixture_pass(f, 50 * NS_PER_MS);
	for (int i = 0; i < 20; i++)
		kube_fixture_send(f, (struct kube_request){0});
	kube_fixture_wait(f);
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_requests(f), 40);
	/* and its credential is kept */
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_size(f, "runs"), 1);
}

TEST_FIXTURE(a_401_runs_the_plugin_again_and_repeats_the_request, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "Bearer second");
	use_plugin(f, "t=first; [ -s $dir/runs ] && t=second\nprintf x >>$dir/runs\n"
		      "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
		      "\",\"status\":{\"token\":\"%s\"}}' $t");
	for (int i = 0; i < 5; i++)
		kube_fixture_send(f, (struct kube_request){0});
	kube_fixture_wait(f);
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_size(f, "runs"), 2);
	assert_int_equal(kube_fixture_requests(f), 10);
}

TEST_FIXTURE(a_request_that_is_refused_twice_is_answered_with_401, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "Bearer other");
	use_plugin(f, PRINT(TOKEN));
	kube_fixture_ask(f, (struct kube_request){0});
	assert_int_equal(f->error, 0);
	assert_int_equal(f->status, 401);
	assert_string_equal(f->msg, "Unauthorized");
	assert_int_equal(kube_fixture_requests(f), 2);
	assert_int_equal(kube_fixture_size(f, "runs"), 2);
}

TEST_FIXTURE(credentials_are_replaced_when_they_expire, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	uint64_t start_ns = clock_monotonic_ns();

	kube_fixture_serve(f, "Bearer abc");
	use_plugin(f, PRINT(TOKEN ",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\""));
	/* a wrong clock does not make it run for every request */
	for (int i = 0; i < 3; i++)
		kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	assert_true(kube_fixture_size(f, "runs") <=
		    1 + (clock_monotonic_ns() - start_ns) / NS_PER_S);
	usleep(1050000);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	assert_true(kube_fixture_size(f, "runs") >= 2);
	assert_int_equal(kube_fixture_requests(f), 4);
}

TEST_FIXTURE(the_plugin_gets_the_cluster, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	static char variable[] = "MODE=test", word[] = "get-token";
	char *args[] = {word, NULL}, *env[] = {variable, NULL};

	f->cfg.exec.args = args;
	f->cfg.exec.env = env;
	f->cfg.exec.provide_cluster_info = true;
	kube_fixture_write(f, "ca", "PEM");
	f->cfg.ca_file = kube_fixture_path(f, "ca");
	kube_fixture_serve(f, "Bearer abc");
	use_plugin(f, "[ \"$MODE $1\" = 'test get-token' ] || exit 1\n"
		      "case $KUBERNETES_EXEC_INFO in *'\"server\":\"http://127.0.0.1:'*"
		      "'\"certificate-authority-data\":\"UEVN\"'*) ;; *) exit 2 ;; "
		      "esac\n" PRINT(TOKEN));
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
}

TEST_FIXTURE(plugins_that_fail_fail_the_requests_with_a_sentence, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	static const struct {
		const char *script, *sentence;
	} cases[] = {
		{"echo not logged in >&2; exit 1", "/plugin: exit status 1: not logged in"},
		{"echo garbage; echo more >&2", "/plugin: its output is not valid JSON (line 1)"},
		{"true", "/plugin: it printed nothing"},
		{"head -c 2097152 /dev/zero", "/plugin: printed more than 1 MiB"},
		{"kill -9 $$", "/plugin: signal 9"},
		{PRINT(""), "/plugin: it returned neither a token nor a certificate"},
		{PRINT("\"token\":\"a b\""), "/plugin: its token or certificate cannot be used"},
	};
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		use_plugin(f, cases[i].script);
		kube_fixture_send(f, (struct kube_request){0});
		kube_fixture_send(f, (struct kube_request){0});
		kube_fixture_wait(f);
		kube_fixture_assert_failed(f, -EACCES, cases[i].sentence);
	}
	f->cfg.exec.command = kube_fixture_path(f, "none");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_failed(f, -EACCES, "/none: No such file or directory");
	assert_int_equal(kube_fixture_requests(f), 0);
}

TEST_FIXTURE(a_plugin_that_failed_is_asked_again, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "Bearer abc");
	use_plugin(f, "[ -s $dir/runs ] || { printf x >>$dir/runs; exit 1; }\n" PRINT(TOKEN));
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_failed(f, -EACCES, "exit status 1");
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
}

TEST_FIXTURE(a_request_waits_no_longer_than_its_time_for_a_plugin_that_hangs, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "Bearer abc");
	use_plugin(f, "while [ ! -s $dir/go ]; do sleep 0.05; done\n" PRINT(TOKEN));
	kube_fixture_send(f, (struct kube_request){.timeout_ns = 150 * NS_PER_MS});
	kube_fixture_send(f, (struct kube_request){.timeout_ns = 100 * NS_PER_MS});
	kube_fixture_wait(f);
	kube_fixture_assert_failed(f, -ETIMEDOUT, "waiting for the exec plugin");
	/* the others get its result in the end */
	kube_fixture_send(f, (struct kube_request){0});
	kube_fixture_send(f, (struct kube_request){.idle_timeout_ns = 30 * NS_PER_S});
	kube_fixture_write(f, "go", "x");
	kube_fixture_wait(f);
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_size(f, "runs"), 1);
	assert_int_equal(kube_fixture_requests(f), 2);
}

TEST_FIXTURE(requests_that_wait_for_a_plugin_can_be_cancelled, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct kube_call *first, *second;

	kube_fixture_serve(f, "Bearer abc");
	use_plugin(f, "while [ ! -s $dir/go ]; do sleep 0.05; done\n" PRINT(TOKEN));
	first = kube_fixture_send(f, (struct kube_request){0});
	kube_fixture_pass(f, 50 * NS_PER_MS);
	second = kube_fixture_send(f, (struct kube_request){0});
	kube_call_cancel(first);
	kube_call_cancel(second);
	f->n_expected = 0;
	/* the result of the run is used */
	kube_fixture_write(f, "go", "x");
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_size(f, "runs"), 1);
	assert_int_equal(kube_fixture_requests(f), 1);
}

TEST_FIXTURE(freeing_the_client_kills_the_plugin, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	char line[32] = "";
	FILE *file;

	kube_fixture_serve(f, "");
	use_plugin(f, "echo $$ >$dir/pid; sleep 1000");
	kube_fixture_send(f, (struct kube_request){0});
	while (kube_fixture_size(f, "pid") == 0)
		kube_fixture_pass(f, 10 * NS_PER_MS);
	kube_client_free(TAKE_PTR(f->client));
	file = fopen(kube_fixture_path(f, "pid"), "re");
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	/* and reaped */
	assert_int_equal(kill((pid_t)strtol(line, NULL, 10), 0), -1);
	assert_int_equal(f->n_done, 0);
}

TEST_FIXTURE(who_has_a_token_needs_no_plugin, kube_fixture_set_up, kube_fixture_tear_down)
{
	static char token[] = "own";
	struct kube_fixture *f = *state;

	f->cfg.token = token;
	kube_fixture_serve(f, "Bearer own");
	use_plugin(f, PRINT(TOKEN));
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_size(f, "runs"), 0);
}
