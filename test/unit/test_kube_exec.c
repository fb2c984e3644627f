#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/kubernetes/kube_exec.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

struct fixture {
	struct loop *loop;
	const char *dir;
	char script[128], pid_file[128];

	int n_done, error;
	char msg[512];
	char *out;
	size_t len;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->dir = temp_dir();
	snprintf(f->script, sizeof(f->script), "%s/plugin", f->dir);
	snprintf(f->pid_file, sizeof(f->pid_file), "%s/pid", f->dir);
	return loop_new(&f->loop);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	unlink(f->script);
	unlink(f->pid_file);
	free(f->out);
	free(f);
	return 0;
}

static void write_script(struct fixture *f, const char *body)
{
	AUTO_CLOSE int fd = open(f->script, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "#!/bin/sh\ndir=%s\n%s\n", f->dir, body) > 0);
}

static void keep_result(void *ctx, const struct kube_exec_result *result)
{
	struct fixture *f = ctx;

	f->n_done++;
	f->error = result->error;
	snprintf(f->msg, sizeof(f->msg), "%s", result->msg ? result->msg : "");
	free(f->out);
	f->out = NULL;
	f->len = result->len;
	if (!result->error) {
		f->out = malloc(result->len + 1);
		memcpy(f->out, result->out, result->len);
		f->out[result->len] = '\0';
	}
	loop_stop(f->loop);
}

static struct kube_exec_run *start(struct fixture *f, struct kube_exec_request req)
{
	struct kube_exec_run *run;
	struct err err = {""};

	if (!req.command)
		req.command = f->script;
	if (!req.timeout_ns)
		req.timeout_ns = 300 * NS_PER_S;
	if (!req.exec_info)
		req.exec_info = "{}";
	if (kube_exec_start(&run, f->loop, &req, keep_result, f, &err) < 0)
		fail_msg("%s", err.msg);
	return run;
}

static void run(struct fixture *f, struct kube_exec_request req)
{
	int n_before = f->n_done;

	start(f, req);
	assert_int_equal(f->n_done, n_before);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_done, n_before + 1);
}

static void assert_failed(const struct fixture *f, int error, const char *end_of_sentence)
{
	char expected[512];

	snprintf(expected, sizeof(expected), "%s: %s", f->script, end_of_sentence);
	assert_string_equal(f->msg, expected);
	assert_int_equal(f->error, error);
}

/* The pid of the script, which the script has written down. */
static pid_t read_pid(const struct fixture *f)
{
	FILE *file;
	char line[32] = "";

	for (int i = 0; i < 1000 && !strchr(line, '\n'); i++) {
		file = fopen(f->pid_file, "re");
		if (file) {
			if (!fgets(line, sizeof(line), file))
				line[0] = '\0';
			fclose(file);
		}
		usleep(10000);
	}
	return (pid_t)strtol(line, NULL, 10);
}

static void assert_gone(pid_t pid)
{
	assert_true(pid > 1);
	/* its child is reaped by init, which takes some time */
	for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
		char path[64], state[256] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "re");
		if (file) {
			if (fgets(state, sizeof(state), file) && strstr(state, ") Z "))
				i = 1000;
			fclose(file);
		}
		if (i >= 1000)
			return;
		usleep(10000);
	}
	assert_int_equal(kill(pid, 0), -1);
}

TEST_FIXTURE(the_output_of_a_program_is_kept, set_up, tear_down)
{
	char a[] = "a b", b[] = "*", x[] = "HOME=elsewhere", y[] = "NEW=1";
	char *const args[] = {a, b, NULL}, *const env[] = {x, y, NULL};
	struct fixture *f = *state;

	write_script(f, "echo \"$# $1 $2 $HOME $NEW $PATH $KUBERNETES_EXEC_INFO\"; cat; ls -l "
			"/proc/self/fd | grep -c '/tmp\\|pipe\\|socket\\|anon'");
	setenv("KUBERNETES_EXEC_INFO", "not this", 1);
	setenv("HOME", "/not/this", 1);
	run(f, (struct kube_exec_request){.args = args, .env = env, .exec_info = "{\"a\":1}"});
	unsetenv("KUBERNETES_EXEC_INFO");
	assert_int_equal(f->error, 0);
	assert_memory_equal(f->out, "2 a b * elsewhere 1 /", 21);
	/* and nothing of ours is open: two pipes of the run, one of grep */
	assert_non_null(strstr(f->out, " {\"a\":1}\n2\n"));
}

TEST_FIXTURE(names_are_found_in_path, set_up, tear_down)
{
	struct fixture *f = *state;

	run(f, (struct kube_exec_request){.command = "true"});
	assert_int_equal(f->error, 0);
	assert_int_equal(f->len, 0);
}

TEST_FIXTURE(a_program_that_is_not_there_cannot_be_started, set_up, tear_down)
{
	static const char *const commands[] = {"/nonexistent/plugin", "no-such-plugin-anywhere"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct kube_exec_request req = {
			.command = commands[i], .exec_info = "{}", .timeout_ns = NS_PER_S};
		struct kube_exec_run *r = NULL;
		struct err err = {""};
		char sentence[128];

		assert_int_equal(kube_exec_start(&r, f->loop, &req, keep_result, f, &err), -ENOENT);
		snprintf(sentence, sizeof(sentence), "start %s: No such file or directory",
			 commands[i]);
		assert_string_equal(err.msg, sentence);
		assert_null(r);
	}
}

TEST_FIXTURE(a_failure_comes_with_the_last_line_of_standard_error, set_up, tear_down)
{
	struct fixture *f = *state;

	write_script(f, "echo out; echo first >&2; printf 'not\\tlogged in\\n\\n' >&2; exit 3");
	run(f, (struct kube_exec_request){0});
	assert_failed(f, -EPROTO, "exit status 3: not logged in");
	write_script(f, "exit 255");
	run(f, (struct kube_exec_request){0});
	assert_failed(f, -EPROTO, "exit status 255");
	write_script(f, "kill -TERM $$");
	run(f, (struct kube_exec_request){0});
	assert_failed(f, -EPROTO, "signal 15");
	/* a lot of it, with a last line that is longer than the part that is kept */
	write_script(f, "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; "
			"printf '%2000sx' '' >&2; exit 1");
	run(f, (struct kube_exec_request){0});
	assert_int_equal(f->error, -EPROTO);
	assert_true(strlen(f->msg) < 512);
}

TEST_FIXTURE(a_program_that_hangs_is_killed_with_what_it_started, set_up, tear_down)
{
	struct fixture *f = *state;

	static const struct {
		uint64_t timeout_ns;
		const char *end_of_sentence;
	} cases[] = {
		{500 * NS_PER_MS, "did not end within 0.5 s: waiting for a browser"},
		/* in case that was not long enough to get so far */
		{30 * NS_PER_S, "did not end within 30 s: waiting for a browser"},
	};
	size_t i = 0;

	write_script(f, "sleep 1000 & echo $! >$dir/pid; echo waiting for a browser >&2; wait");
	run(f, (struct kube_exec_request){.timeout_ns = cases[i].timeout_ns});
	if (!strstr(f->msg, "browser"))
		run(f, (struct kube_exec_request){.timeout_ns = cases[++i].timeout_ns});
	assert_failed(f, -ETIMEDOUT, cases[i].end_of_sentence);
	assert_gone(read_pid(f));
}

TEST_FIXTURE(output_is_taken_up_to_the_limit, set_up, tear_down)
{
	struct fixture *f = *state;

	write_script(f, "head -c 1048576 /dev/zero");
	run(f, (struct kube_exec_request){0});
	assert_int_equal(f->error, 0);
	assert_int_equal(f->len, KUBE_EXEC_OUTPUT_BYTES);
	write_script(f, "echo $$ >$dir/pid; head -c 2097152 /dev/zero; sleep 1000");
	run(f, (struct kube_exec_request){0});
	assert_failed(f, -EFBIG, "printed more than 1 MiB");
	assert_gone(read_pid(f));
}

TEST_FIXTURE(a_run_ends_with_the_program_not_with_its_pipes, set_up, tear_down)
{
	struct fixture *f = *state;
	pid_t left_behind;

	write_script(f, "sleep 1000 & echo $! >$dir/pid; echo token");
	run(f, (struct kube_exec_request){0});
	assert_int_equal(f->error, 0);
	assert_string_equal(f->out, "token\n");
	left_behind = read_pid(f);
	assert_int_equal(kill(left_behind, SIGKILL), 0);
}

TEST_FIXTURE(closing_the_pipes_is_not_an_end, set_up, tear_down)
{
	struct fixture *f = *state;

	write_script(f, "echo token; exec >&- 2>&-; sleep 0.2; exit 7");
	run(f, (struct kube_exec_request){0});
	assert_failed(f, -EPROTO, "exit status 7");
}

TEST_FIXTURE(signals_are_as_at_the_start_of_a_program, set_up, tear_down)
{
	struct fixture *f = *state;
	sigset_t blocked, before;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
	signal(SIGPIPE, SIG_IGN);
	/* "SigBlk" and "SigIgn"; 32 and 33 are glibc's own, which its posix_spawn() ignores */
	write_script(
		f, "grep '^Sig[BI]' /proc/self/status | grep -v '[[:space:]]0*\\(180000000\\)*$'");
	run(f, (struct kube_exec_request){0});
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* grep found nothing that is not 0 */
	assert_failed(f, -EPROTO, "exit status 1");
}

TEST_FIXTURE(a_cancelled_run_is_killed_and_does_not_call_done, set_up, tear_down)
{
	struct fixture *f = *state;
	pid_t pid;

	write_script(f, "echo $$ >$dir/pid; sleep 1000");
	for (int i = 0; i < 2; i++) {
		struct kube_exec_run *r = start(f, (struct kube_exec_request){0});

		pid = read_pid(f);
		kube_exec_cancel(r);
		assert_gone(pid);
	}
	kube_exec_cancel(NULL);
	assert_int_equal(f->n_done, 0);
}

static int start_and_cancel(void *arg)
{
	char a[] = "a", b[] = "B=c";
	char *const args[] = {a, NULL}, *const env[] = {b, NULL};
	struct fixture *f = arg;
	const struct kube_exec_request req = {.command = f->script,
					      .args = args,
					      .env = env,
					      .exec_info = "{}",
					      .timeout_ns = NS_PER_S};
	struct kube_exec_run *r = NULL;
	int result;

	result = kube_exec_start(&r, f->loop, &req, keep_result, f, NULL);
	kube_exec_cancel(r);
	return result;
}

TEST_FIXTURE(lack_of_memory_is_enomem, set_up, tear_down)
{
	struct fixture *f = *state;

	write_script(f, "sleep 1000");
	check_oom(start_and_cancel, f);
}
