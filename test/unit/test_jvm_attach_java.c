/* Attaching to real JVMs: Debian's JDK 17, and others. Faults are in test_jvm_attach.c. */
#include "node-agent/java/attach/jvm_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/privilege/capabilities.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "node-agent/java/attach/jvm_library.h"
#include "node-agent/java/attach/jvm_place.h"
#include "test/lib/java_process.h"
#include "test/lib/unit.h"

#define LIBRARY "/../../libasyncProfiler.so" /* from the folder of this test */
#define OTHER_UID 23456u
#define OTHER_GID 34567u
#define RECORD "version.txt"

struct fixture {
	struct java_process java;
	struct jvm_target target;
	struct jvm_place place;
	struct jvm_attach attach;
	struct jvm_library library;
	struct jvm_failure why;
	struct attach_answer answer;
	struct jvm_attach_limits limits;
	int proc_root_fd;
	unsigned n_asked; /* how often may_signal() was called */
	bool forbid;      /* what it says */
	bool (*cancel)(struct fixture *f);
};

static int may_signal(void *ctx, const struct jvm_target *t, struct jvm_failure *why)
{
	struct fixture *f = ctx;

	(void)t;
	f->n_asked++;
	return f->forbid ? jvm_failure_set(why, JAVA_STATE_ATTACH_DISABLED, -ENOTSUP, "no") : 0;
}

static bool cancelled(void *ctx)
{
	struct fixture *f = ctx;

	return f->cancel && f->cancel(f);
}

static void load_library(struct jvm_library *ret)
{
	char path[PATH_MAX] = "";
	struct err err = {0};
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(LIBRARY));

	assert_true(n > 0);
	snprintf(strrchr(path, '/'), sizeof(LIBRARY), LIBRARY);
	if (jvm_library_load(ret, path, &err) < 0)
		fail_msg("%s", err.msg);
}

static void begin(struct fixture *f, const struct java_options *o)
{
	*f = (struct fixture){
		.limits = {.listen_ns = 60 * NS_PER_S,
			   .answer_ns = 60 * NS_PER_S,
			   .may_signal = may_signal,
			   .cancelled = cancelled,
			   .ctx = f},
		.proc_root_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	load_library(&f->library);
	java_process_start(&f->java, o);
	assert_int_equal(jvm_target_open(&f->target, f->proc_root_fd, f->java.pid,
					 f->java.start_time, &f->why),
			 0);
}

static void end(struct fixture *f)
{
	jvm_attach_forget(&f->attach);
	jvm_place_close(&f->place);
	jvm_target_close(&f->target);
	java_process_end(&f->java);
	jvm_library_fini(&f->library);
	close(f->proc_root_fd);
}

static int prepare(struct fixture *f)
{
	return jvm_place_prepare(&f->place, &f->target, &f->library, 0, &f->why);
}

static int listen_to(struct fixture *f)
{
	return jvm_attach_listen(&f->attach, &f->target, &f->limits, &f->why);
}

/* Has async-profiler write its version to a file. */
static int load(struct fixture *f)
{
	char options[JVM_PLACE_PATH_MAX + 64];

	snprintf(options, sizeof(options), "version,file=%s/" RECORD, f->place.dir);
	return jvm_attach_load(&f->target, f->place.library, options, &f->limits, &f->answer,
			       &f->why);
}

/* No file of ours or of the handshake is in the JVM's /tmp; its socket may be. */
static void assert_nothing_left(struct fixture *f)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/.attach_pid%d", (int)f->java.pid,
		 (int)f->target.nspid);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/" JVM_PLACE_PREFIX "%d-%llu",
		 (int)f->java.pid, (int)f->java.pid, (unsigned long long)f->java.start_time);
	assert_int_equal(access(path, F_OK), -1);
}

static void assert_attaches(struct fixture *f)
{
	CLEANUP(buf_fini) struct buf text;
	AUTO_CLOSE int fd = -1;
	struct stat st;

	buf_init(&text, 4096);
	if (prepare(f) < 0 || listen_to(f) < 0 || jvm_place_check(&f->place, &f->why) < 0 ||
	    load(f) < 0)
		fail_msg("%s", f->why.err.msg);
	if (f->answer.outcome != ATTACH_LOADED || f->answer.code != 0)
		fail_msg("%s", f->answer.text);
	fd = jvm_place_open_file(&f->place, RECORD);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, f->target.uid);
	assert_int_equal(fs_read_fd(fd, &text), 0);
	assert_non_null(strstr(text.data, "."));
	assert_int_equal(jvm_place_remove(&f->place), 0);
	assert_nothing_left(f);
	assert_true(java_process_is_silent(&f->java));
	assert_true(jvm_target_is_alive(&f->target));
}

static void test_same_user_and_again(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){0});
	assert_attaches(&f);
	assert_int_equal(f.n_asked, 1);
	assert_attaches(&f); /* its listener runs: no signal */
	assert_int_equal(f.n_asked, 1);
	end(&f);
}

static void test_other_user(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.uid = OTHER_UID, .gid = OTHER_GID});
	assert_attaches(&f);
	assert_int_equal(f.target.uid, OTHER_UID);
	assert_int_equal(f.target.gid, OTHER_GID);
	assert_int_equal(geteuid(), 0);
	end(&f);
}

static void test_namespaces(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.uid = OTHER_UID, .gid = OTHER_GID, .pid_namespaces = 3});
	assert_int_equal(f.target.nspid, 1);
	assert_attaches(&f);
	end(&f);
}

/* JDK 8 compares uid and gid, and answers in another way; it has a root of its own here. */
static void test_every_release(void **state)
{
	static const unsigned releases[] = {8, 11, 21, 25};
	struct java_release r;
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct java_options o = {.release = &r};

		if (releases[i] == 8) { /* the others are in a folder for root alone */
			o.uid = OTHER_UID;
			o.gid = OTHER_GID;
		}
		if (releases[i] == 21) /* the program wants it */
			o.flag = "-Djava.security.manager=allow";
		if (!java_release_find(&r, releases[i]))
			skip();
		begin(&f, &o);
		assert_attaches(&f);
		assert_int_equal(f.n_asked, 1);
		assert_attaches(&f);
		assert_int_equal(f.n_asked, 1);
		end(&f);
	}
}

/*
 * Rootless containers, and those whose root is not the node's. Not with ThreadSanitizer: its
 * runtime does not see the clone(2) that makes the namespace, whose child may wait for its locks.
 */
#ifndef __SANITIZE_THREAD__
static void test_user_namespace(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.user_namespace = true, .pid_namespaces = 1});
	assert_int_equal(f.target.uid, JAVA_PROCESS_FIRST_ID);
	assert_int_equal(f.target.gid, JAVA_PROCESS_FIRST_ID);
	assert_attaches(&f);
	end(&f);
	begin(&f, &(struct java_options){.user_namespace = true,
					 .pid_namespaces = 1,
					 .uid = OTHER_UID,
					 .gid = OTHER_GID});
	assert_int_equal(f.target.uid, JAVA_PROCESS_FIRST_ID + OTHER_UID);
	assert_int_equal(f.target.gid, JAVA_PROCESS_FIRST_ID + OTHER_GID);
	assert_attaches(&f);
	end(&f);
}
#endif

/* ---- rights ---- */

#define AGENTS                                                                                \
	(CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_BPF) | \
	 CAPABILITY(CAP_PERFMON) | CAPABILITY(CAP_SYSLOG) | CAPABILITY(CAP_CHECKPOINT_RESTORE))
#define FOR_JAVA (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))

/* In a child that has only these capabilities. */
static void with_capabilities(uint64_t set, void (*fn)(struct fixture *f), struct fixture *f)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (capabilities_keep(set) < 0)
			_exit(2);
		fn(f);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void open_again(struct fixture *f)
{
	jvm_target_close(&f->target);
	if (jvm_target_open(&f->target, f->proc_root_fd, f->java.pid, f->java.start_time, &f->why) <
	    0)
		fail_msg("%s", f->why.err.msg);
}

static void attach_once(struct fixture *f)
{
	open_again(f);
	assert_attaches(f);
}

static void fail_for_setuid(struct fixture *f)
{
	open_again(f);
	assert_int_equal(listen_to(f), -EPERM);
	assert_int_equal(f->why.state, JAVA_STATE_NO_PERMISSION);
	assert_non_null(strstr(f->why.err.msg, "CAP_SETUID is missing"));
	assert_int_equal(prepare(f), -EPERM);
	assert_non_null(strstr(f->why.err.msg, "CAP_SETUID is missing"));
}

static void fail_for_setgid(struct fixture *f)
{
	open_again(f);
	assert_int_equal(prepare(f), -EPERM);
	assert_int_equal(f->why.state, JAVA_STATE_NO_PERMISSION);
	assert_non_null(strstr(f->why.err.msg, "CAP_SETGID is missing"));
}

static void fail_for_ptrace(struct fixture *f)
{
	jvm_target_close(&f->target);
	assert_int_equal(jvm_target_open(&f->target, f->proc_root_fd, f->java.pid,
					 f->java.start_time, &f->why),
			 -EACCES);
	assert_int_equal(f->why.state, JAVA_STATE_NO_PERMISSION);
	assert_non_null(strstr(f->why.err.msg, "CAP_SYS_PTRACE is missing"));
}

static void test_two_capabilities_are_all_that_it_takes(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.uid = OTHER_UID, .gid = OTHER_GID, .pid_namespaces = 2});
	with_capabilities(AGENTS | CAPABILITY(CAP_SETGID), fail_for_setuid, &f);
	with_capabilities(AGENTS | CAPABILITY(CAP_SETUID), fail_for_setgid, &f);
	with_capabilities(FOR_JAVA, fail_for_ptrace, &f);
	with_capabilities(AGENTS | FOR_JAVA, attach_once, &f);
	end(&f);
}

static void test_a_jvm_of_root_needs_no_more(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.pid_namespaces = 1});
	with_capabilities(AGENTS, attach_once, &f);
	end(&f);
}

/* ---- JVMs that must be left alone ---- */

static void test_the_callers_check_keeps_the_signal_back(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.flag = "-XX:+DisableAttachMechanism"});
	f.forbid = true;
	assert_int_equal(listen_to(&f), -ENOTSUP);
	assert_int_equal(f.why.state, JAVA_STATE_ATTACH_DISABLED);
	assert_nothing_left(&f);
	assert_true(java_process_is_silent(&f.java));
	end(&f);
}

/* With -Xrs SIGQUIT would kill it, but its listener is there from the start. */
static void test_reduced_signals(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.flag = "-Xrs", .pid_namespaces = 1});
	assert_attaches(&f);
	assert_int_equal(f.n_asked, 0);
	end(&f);
}

static void test_a_process_that_does_not_catch_sigquit_gets_none(void **state)
{
	struct fixture f;
	char path[64];

	(void)state;
	begin(&f, &(struct java_options){.flag = "-Xrs"});
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", (int)f.java.pid);
	assert_int_equal(unlink(path), 0);
	f.limits.reopens_socket = true;
	assert_int_equal(listen_to(&f), -ENOTSUP);
	assert_int_equal(f.why.state, JAVA_STATE_SIGNALS_REDUCED);
	assert_nothing_left(&f);
	assert_true(jvm_target_is_alive(&f.target));
	end(&f);
}

static void test_loading_disabled(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){.flag = "-XX:-EnableDynamicAgentLoading"});
	assert_int_equal(prepare(&f), 0);
	assert_int_equal(listen_to(&f), 0);
	assert_int_equal(load(&f), 0);
	assert_int_equal(f.answer.outcome, ATTACH_LOADING_DISABLED);
	assert_int_equal(jvm_place_remove(&f.place), 0);
	end(&f);
}

static void test_a_library_that_cannot_be_loaded(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){0});
	assert_int_equal(listen_to(&f), 0);
	assert_int_equal(
		jvm_attach_load(&f.target, "/nowhere/libx.so", "", &f.limits, &f.answer, &f.why),
		0);
	assert_int_equal(f.answer.outcome, ATTACH_NOT_LOADED);
	assert_non_null(strstr(f.answer.text, "/nowhere/libx.so"));
	end(&f);
}

/* ---- JVMs that stop, die, or lose their socket ---- */

static void test_a_stopped_jvm_gets_no_signal(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct java_options){0});
	assert_int_equal(kill(f.java.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(f.java.child, NULL, WUNTRACED), f.java.child);
	assert_int_equal(listen_to(&f), -EAGAIN);
	assert_int_equal(f.why.state, JAVA_STATE_UNRESPONSIVE);
	assert_nothing_left(&f);
	assert_int_equal(kill(f.java.pid, SIGCONT), 0);
	assert_attaches(&f);
	end(&f);
}

static bool kill_it(struct fixture *f)
{
	(void)kill(f->java.pid, SIGKILL);
	return false;
}

static void test_a_jvm_that_is_killed_while_it_is_asked(void **state)
{
	struct fixture f;
	int r;

	(void)state;
	begin(&f, &(struct java_options){0});
	f.cancel = kill_it;
	r = listen_to(&f);
	if (r == 0) /* it was quicker */
		r = load(&f);
	assert_int_equal(r, -ESRCH);
	assert_int_equal(waitpid(f.java.child, NULL, 0), f.java.child);
	f.java.child = 0;
	assert_false(jvm_target_is_alive(&f.target));
	assert_nothing_left(&f);
	assert_int_equal(listen_to(&f), -ESRCH);
	end(&f);
}

static void test_a_jvm_whose_socket_was_removed(void **state)
{
	struct fixture f;
	char path[64];

	(void)state;
	begin(&f, &(struct java_options){0});
	assert_attaches(&f);
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", (int)f.java.pid);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(load(&f), -ENOTCONN);
	/* an older JDK would print a thread dump */
	assert_int_equal(listen_to(&f), -ENOTCONN);
	f.attach.has_listened = false; /* another agent */
	assert_int_equal(listen_to(&f), -ENOTCONN);
	f.limits.reopens_socket = true;
	assert_attaches(&f);
	assert_int_equal(f.n_asked, 2);
	end(&f);
}

/* ---- places ---- */

static void assert_place(const struct java_options *o, enum jvm_place_kind kind, const char *path)
{
	struct fixture f;

	begin(&f, o);
	assert_attaches(&f);
	assert_int_equal(f.place.kind, kind);
	assert_memory_equal(f.place.dir, path, strlen(path));
	end(&f);
}

static void test_places(void **state)
{
	(void)state;
	assert_place(&(struct java_options){.pid_namespaces = 1, .tmp_flags = MS_NOEXEC},
		     JVM_PLACE_SHM, "/dev/shm/" JVM_PLACE_PREFIX);
	assert_place(&(struct java_options){.uid = OTHER_UID,
					    .gid = OTHER_GID,
					    .pid_namespaces = 1,
					    .tmp_options = "mode=1777,size=1m"},
		     JVM_PLACE_SHM, "/dev/shm/" JVM_PLACE_PREFIX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_user_and_again),
		cmocka_unit_test(test_other_user),
		cmocka_unit_test(test_namespaces),
#ifndef __SANITIZE_THREAD__
		cmocka_unit_test(test_user_namespace),
#endif
		cmocka_unit_test(test_every_release),
		cmocka_unit_test(test_two_capabilities_are_all_that_it_takes),
		cmocka_unit_test(test_a_jvm_of_root_needs_no_more),
		cmocka_unit_test(test_the_callers_check_keeps_the_signal_back),
		cmocka_unit_test(test_reduced_signals),
		cmocka_unit_test(test_a_process_that_does_not_catch_sigquit_gets_none),
		cmocka_unit_test(test_loading_disabled),
		cmocka_unit_test(test_a_library_that_cannot_be_loaded),
		cmocka_unit_test(test_a_stopped_jvm_gets_no_signal),
		cmocka_unit_test(test_a_jvm_that_is_killed_while_it_is_asked),
		cmocka_unit_test(test_a_jvm_whose_socket_was_removed),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
