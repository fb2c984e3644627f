/* Faults of JVMs while they are attached to. Real JVMs are in test_jvm_attach_java.c. */
#include "node-agent/java/attach/jvm_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/privilege/capabilities.h"
#include "common/system/clock.h"
#include "node-agent/java/attach/as_user.h"
#include "test/lib/fake_jvm.h"
#include "test/lib/unit.h"

#define LIBRARY "/tmp/library.so"
#define SHORT_NS (50 * NS_PER_MS) /* for what must not happen */
#define LONG_NS (300 * NS_PER_S)  /* for what must happen */

struct fixture {
	struct fake_jvm jvm;
	struct jvm_target target;
	struct jvm_attach attach;
	struct jvm_attach_limits limits;
	struct jvm_failure why;
	struct attach_answer answer;
	int proc_root_fd;
	bool cancel;
	pid_t kill_when_asked;
};

static int may_signal(void *ctx, const struct jvm_target *t, struct jvm_failure *why)
{
	struct fixture *f = ctx;

	(void)t;
	(void)why;
	if (f->kill_when_asked > 0)
		(void)kill(f->kill_when_asked, SIGKILL);
	return 0;
}

static bool cancelled(void *ctx)
{
	const struct fixture *f = ctx;

	return f->cancel;
}

static void begin(struct fixture *f, const struct fake_jvm_script *script)
{
	*f = (struct fixture){
		.limits = {.listen_ns = LONG_NS,
			   .answer_ns = LONG_NS,
			   .may_signal = may_signal,
			   .cancelled = cancelled,
			   .ctx = f},
		.proc_root_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	fake_jvm_start(&f->jvm, script);
	if (jvm_target_open(&f->target, f->proc_root_fd, f->jvm.pid, f->jvm.start_time, &f->why) <
	    0)
		fail_msg("%s", f->why.err.msg);
}

/* What was changed for the JVM's user must be as before. */
static void assert_own_rights(void)
{
	uid_t r, e, s;

	assert_int_equal(getresuid(&r, &e, &s), 0);
	assert_true(r == 0 && e == 0 && s == 0);
	assert_int_equal(getresgid(&r, &e, &s), 0);
	assert_true(r == 0 && e == 0 && s == 0);
	assert_true(capabilities_held() & CAPABILITY(CAP_SETUID));
	assert_int_equal(prctl(PR_GET_KEEPCAPS), 0);
	assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
}

static void end(struct fixture *f)
{
	jvm_attach_forget(&f->attach);
	jvm_target_close(&f->target);
	fake_jvm_end(&f->jvm);
	close(f->proc_root_fd);
	assert_own_rights();
}

static const char *trigger(const struct fixture *f, const char *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/.attach_pid%d", dir, (int)f->jvm.pid);
	return fake_jvm_path(&f->jvm, path);
}

static const char *socket_path(const struct fixture *f)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/.java_pid%d", (int)f->jvm.pid);
	return fake_jvm_path(&f->jvm, path);
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void assert_no_trigger(const struct fixture *f)
{
	assert_false(exists(trigger(f, "/tmp")));
	assert_false(exists(trigger(f, "/dev/shm/work")));
}

static int listen_to(struct fixture *f)
{
	return jvm_attach_listen(&f->attach, &f->target, &f->limits, &f->why);
}

static int load(struct fixture *f)
{
	return jvm_attach_load(&f->target, LIBRARY, "start", &f->limits, &f->answer, &f->why);
}

static void assert_attaches(struct fixture *f)
{
	if (listen_to(f) < 0 || load(f) < 0)
		fail_msg("%s", f->why.err.msg);
	assert_int_equal(f->answer.outcome, ATTACH_LOADED);
	assert_int_equal(f->answer.code, 0);
	assert_no_trigger(f);
	assert_int_equal(f->jvm.seen->n_without_file, 0);
}

static void assert_refused(const struct fake_jvm_script *script, int error, enum java_state state)
{
	struct fixture f;

	begin(&f, script);
	assert_int_equal(listen_to(&f), error);
	assert_int_equal(f.why.state, state);
	assert_true(f.why.err.msg[0] != '\0');
	assert_int_equal(f.jvm.seen->n_signals, 0);
	assert_no_trigger(&f);
	assert_true(jvm_target_is_alive(&f.target));
	end(&f);
}

/* ---- the straight way ---- */

TEST(test_one_signal_and_the_right_user)
{
	static const char bytes[] = "1\0load\0" LIBRARY "\0true\0start";
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	assert_attaches(&f);
	assert_attaches(&f);
	assert_int_equal(f.jvm.seen->n_signals, 1);
	assert_int_equal(f.jvm.seen->peer_uid, FAKE_JVM_UID);
	assert_int_equal(f.jvm.seen->peer_gid, FAKE_JVM_GID);
	assert_int_equal(f.jvm.seen->request_len, sizeof(bytes));
	assert_memory_equal(f.jvm.seen->request, bytes, sizeof(bytes));
	end(&f);
}

TEST(test_a_listener_that_runs_gets_no_signal)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_ALWAYS});
	assert_attaches(&f);
	assert_int_equal(f.jvm.seen->n_signals, 0);
	end(&f);
}

TEST(test_a_stale_socket_is_replaced)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LEAVES_SOCKET});
	assert_true(exists(socket_path(&f)));
	assert_attaches(&f);
	assert_int_equal(f.jvm.seen->n_signals, 1);
	end(&f);
}

/* ---- a JVM that takes long ---- */

TEST(test_a_long_safepoint_gets_one_signal_and_keeps_the_file)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_LATE});
	f.limits.listen_ns = SHORT_NS;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(listen_to(&f), -EINPROGRESS);
		assert_int_equal(f.why.state, JAVA_STATE_UNRESPONSIVE);
		assert_true(exists(trigger(&f, "/tmp")));
	}
	f.jvm.seen->released = true;
	f.limits.listen_ns = LONG_NS;
	assert_attaches(&f);
	assert_int_equal(f.jvm.seen->n_signals, 1);
	end(&f);
}

TEST(test_it_is_given_up_some_time)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_LATE});
	f.limits.listen_ns = SHORT_NS;
	assert_int_equal(listen_to(&f), -EINPROGRESS);
	f.attach.signalled_ns -= JVM_ATTACH_GIVE_UP_NS;
	assert_int_equal(listen_to(&f), -ETIMEDOUT);
	assert_no_trigger(&f);
	assert_false(f.attach.waiting);
	end(&f);
}

TEST(test_the_file_goes_when_the_agent_stops)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_LATE});
	f.limits.listen_ns = SHORT_NS;
	assert_int_equal(listen_to(&f), -EINPROGRESS);
	jvm_attach_forget(&f.attach);
	assert_no_trigger(&f);
	end(&f);

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_LATE});
	f.limits.listen_ns = SHORT_NS;
	assert_int_equal(listen_to(&f), -EINPROGRESS);
	f.cancel = true;
	assert_int_equal(listen_to(&f), -ECANCELED);
	assert_no_trigger(&f);
	end(&f);
}

/* Its /tmp is reached through the descriptor that is kept. */
TEST(test_the_file_goes_when_the_jvm_has_died)
{
	struct fixture f;
	int tmp_fd;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_LATE});
	f.limits.listen_ns = SHORT_NS;
	assert_int_equal(listen_to(&f), -EINPROGRESS);
	tmp_fd = open(fake_jvm_path(&f.jvm, "/tmp"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(kill(f.jvm.pid, SIGKILL), 0);
	assert_int_equal(waitpid(f.jvm.pid, NULL, 0), f.jvm.pid);
	f.jvm.pid = 0;
	assert_int_equal(faccessat(tmp_fd, f.attach.trigger.name, F_OK, 0), 0);
	assert_int_equal(listen_to(&f), -ESRCH);
	assert_int_equal(faccessat(tmp_fd, f.attach.trigger.name, F_OK, 0), -1);
	close(tmp_fd);
	end(&f);
}

/* ---- processes that must not get the signal ---- */

TEST(test_no_signal_to_who_does_not_catch_it)
{
	assert_refused(&(struct fake_jvm_script){.listen = FAKE_JVM_NEVER_CATCHES}, -ENOTSUP,
		       JAVA_STATE_SIGNALS_REDUCED);
	assert_refused(&(struct fake_jvm_script){.listen = FAKE_JVM_EXECUTES}, -ENOTSUP,
		       JAVA_STATE_SIGNALS_REDUCED);
}

TEST(test_no_second_signal_while_one_is_pending)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_BLOCKS});
	assert_int_equal(kill(f.jvm.pid, SIGQUIT), 0);
	assert_int_equal(listen_to(&f), -EAGAIN);
	assert_int_equal(f.why.state, JAVA_STATE_UNRESPONSIVE);
	assert_no_trigger(&f);
	end(&f);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static char read_first(const char *dir, const char *name, const char *line)
{
	char path[256], text[256] = "";
	const char *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	at = strstr(text, line);
	assert_non_null(at);
	return at[strlen(line)];
}

/* The kernel counts a process as frozen shortly before it sleeps. */
static void wait_until_it_sleeps(pid_t pid)
{
	char proc[32];

	snprintf(proc, sizeof(proc), "/proc/%d", (int)pid);
	eventually(read_first(proc, "wchan", "") != '0');
}

static void in_frozen_cgroup(const char *dir)
{
	struct fixture f;
	char pid[16];

	begin(&f, &(struct fake_jvm_script){0});
	snprintf(pid, sizeof(pid), "%d", (int)f.jvm.pid);
	write_file(dir, "cgroup.procs", pid);
	write_file(dir, "cgroup.freeze", "1");
	eventually(read_first(dir, "cgroup.events", "frozen ") == '1');
	wait_until_it_sleeps(f.jvm.pid);
	assert_int_equal(listen_to(&f), -EAGAIN);
	assert_int_equal(f.why.state, JAVA_STATE_UNRESPONSIVE);
	assert_non_null(strstr(f.why.err.msg, "frozen"));
	assert_no_trigger(&f);
	write_file(dir, "cgroup.freeze", "0");
	eventually(read_first(dir, "cgroup.events", "frozen ") == '0');
	assert_attaches(&f);
	assert_int_equal(f.jvm.seen->n_signals, 1);
	end(&f);
}

TEST(test_no_signal_to_a_frozen_container)
{
	const char *mounted = temp_dir();
	char dir[64];

	assert_int_equal(mount("none", mounted, "cgroup2", 0, NULL), 0);
	snprintf(dir, sizeof(dir), "%s/test-frozen-%d", mounted, (int)getpid());
	assert_int_equal(mkdir(dir, 0755), 0);
	in_frozen_cgroup(dir);
	while (rmdir(dir) < 0)
		assert_int_equal(errno, EBUSY);
	assert_int_equal(umount(mounted), 0);
	assert_int_equal(rmdir(mounted), 0);
}

/* Its kernel accepts connections for it. */
TEST(test_no_command_for_a_stopped_process)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_ALWAYS});
	f.limits.must_run = true;
	assert_int_equal(load(&f), 0);
	assert_int_equal(kill(f.jvm.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(f.jvm.pid, NULL, WUNTRACED), f.jvm.pid);
	assert_int_equal(load(&f), -EAGAIN);
	assert_non_null(strstr(f.why.err.msg, "stopped"));
	assert_int_equal(kill(f.jvm.pid, SIGCONT), 0);
	assert_int_equal(load(&f), 0);
	assert_int_equal(f.jvm.seen->n_connections, 2);
	/* unless it is to find the command when it continues */
	assert_int_equal(kill(f.jvm.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(f.jvm.pid, NULL, WUNTRACED), f.jvm.pid);
	f.limits.must_run = false;
	f.limits.answer_ns = 3600 * NS_PER_S;
	assert_int_equal(load(&f), -ETIMEDOUT);
	assert_int_equal(kill(f.jvm.pid, SIGCONT), 0);
	eventually(f.jvm.seen->n_connections >= 3);
	end(&f);
}

/* ---- processes that end ---- */

TEST(test_a_jvm_that_exits_on_the_signal)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_EXITS});
	assert_int_equal(listen_to(&f), -ESRCH);
	assert_false(jvm_target_is_alive(&f.target));
	assert_int_equal(listen_to(&f), -ESRCH);
	end(&f);
}

TEST(test_a_jvm_that_dies_before_the_signal)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	f.kill_when_asked = f.jvm.pid;
	assert_int_equal(listen_to(&f), -ESRCH);
	end(&f);
}

TEST(test_another_process_with_that_pid)
{
	struct fixture f;
	struct jvm_target other;

	begin(&f, &(struct fake_jvm_script){0});
	assert_int_equal(
		jvm_target_open(&other, f.proc_root_fd, f.jvm.pid, f.jvm.start_time + 1, &f.why),
		-ESRCH);
	end(&f);
}

/* ---- answers ---- */

static void assert_answer(const struct fake_jvm_script *script, enum attach_outcome outcome)
{
	struct fixture f;

	begin(&f, script);
	if (listen_to(&f) < 0 || load(&f) < 0)
		fail_msg("%s", f.why.err.msg);
	assert_int_equal(f.answer.outcome, outcome);
	end(&f);
}

TEST(test_answers_of_every_kind)
{
	assert_answer(&(struct fake_jvm_script){.answer = FAKE_JVM_ANSWERS_SLOWLY}, ATTACH_LOADED);
	assert_answer(&(struct fake_jvm_script){.answer = FAKE_JVM_FLOODS}, ATTACH_LOADED);
	assert_answer(&(struct fake_jvm_script){.answer = FAKE_JVM_FLOODS, .text = "nonsense"},
		      ATTACH_GARBAGE);
	assert_answer(&(struct fake_jvm_script){.answer = FAKE_JVM_HANGS_UP}, ATTACH_EMPTY);
	assert_answer(&(struct fake_jvm_script){.text = "0\n0\n"}, ATTACH_LOADED);
}

TEST(test_an_answer_that_never_comes)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.answer = FAKE_JVM_STALLS});
	assert_int_equal(listen_to(&f), 0);
	f.limits.answer_ns = SHORT_NS;
	assert_int_equal(load(&f), -ETIMEDOUT);
	assert_int_equal(f.why.state, JAVA_STATE_UNRESPONSIVE);
	f.limits.answer_ns = LONG_NS;
	f.cancel = true;
	assert_int_equal(load(&f), -ECANCELED);
	end(&f);
}

TEST(test_a_jvm_that_dies_while_it_answers)
{
	struct fixture f;
	int r;

	begin(&f, &(struct fake_jvm_script){.answer = FAKE_JVM_DIES});
	assert_int_equal(listen_to(&f), 0);
	r = load(&f);
	if (r == 0)
		assert_int_not_equal(f.answer.outcome, ATTACH_LOADED);
	else
		assert_int_equal(r, -ESRCH);
	end(&f);
}

/* It listens and accepts nobody: after a few clients connecting fails, too. */
TEST(test_a_listener_that_accepts_nobody)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_IS_DEAF});
	for (int i = 0; i < 4; i++) {
		assert_int_equal(listen_to(&f), 0);
		f.limits.answer_ns = SHORT_NS;
		assert_int_equal(load(&f), -ETIMEDOUT);
	}
	assert_int_equal(f.jvm.seen->n_signals, 0);
	end(&f);
}

/* ---- what others put into /tmp ---- */

/* The kernel remembers who called listen(2). */
static int make_socket_at(const char *path, uid_t uid)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct as_user user;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(chown(path, uid, uid) | chmod(path, 0777), 0);
	assert_int_equal(as_user_begin(&user, uid, uid), 0);
	assert_int_equal(listen(fd, 5), 0);
	as_user_end(&user);
	return fd;
}

static void assert_not_its_socket(struct fixture *f)
{
	assert_int_equal(listen_to(f), -EBADMSG);
	assert_int_equal(f->why.state, JAVA_STATE_FAILED);
	assert_non_null(strstr(f->why.err.msg, "is not its socket"));
	assert_int_equal(f->jvm.seen->n_signals, 0);
	assert_true(exists(socket_path(f)));
	assert_int_equal(unlink(socket_path(f)), 0);
}

TEST(test_sockets_that_are_not_the_jvms)
{
	struct fixture f;
	int fd;

	begin(&f, &(struct fake_jvm_script){0});
	fd = open(socket_path(&f), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	close(fd);
	assert_not_its_socket(&f);
	assert_int_equal(mkfifo(socket_path(&f), 0666), 0);
	assert_not_its_socket(&f);
	/* of another user */
	fd = make_socket_at(socket_path(&f), FAKE_JVM_UID + 1);
	assert_not_its_socket(&f);
	close(fd);
	/* of the right user, but another process listens */
	fd = make_socket_at(socket_path(&f), FAKE_JVM_UID);
	assert_not_its_socket(&f);
	close(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
	close(fd);
	assert_int_equal(symlink("/run/systemd/private", socket_path(&f)), 0);
	assert_not_its_socket(&f);
	assert_attaches(&f);
	end(&f);
}

static void put_trigger(const struct fixture *f, const char *dir, uid_t uid, const char *text)
{
	int fd = open(trigger(f, dir), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchown(fd, uid, uid), 0);
	close(fd);
}

/* jcmd's is empty. It serves, and is not ours to remove. */
TEST(test_a_trigger_of_another_tool)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	put_trigger(&f, "/tmp", FAKE_JVM_UID, "");
	if (listen_to(&f) < 0 || load(&f) < 0)
		fail_msg("%s", f.why.err.msg);
	assert_true(exists(trigger(&f, "/tmp")));
	end(&f);
}

TEST(test_a_trigger_of_an_agent_that_was_killed)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	put_trigger(&f, "/tmp", FAKE_JVM_UID, "coroot-node-agent\n");
	assert_attaches(&f);
	end(&f);
}

TEST(test_a_trigger_that_is_in_the_way)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.listen = FAKE_JVM_LISTENS_LATE});
	put_trigger(&f, "/tmp", FAKE_JVM_UID + 1, "");
	f.limits.listen_ns = SHORT_NS;
	assert_int_equal(listen_to(&f), -EINPROGRESS);
	assert_true(exists(trigger(&f, "/dev/shm/work")));
	jvm_attach_forget(&f.attach);
	assert_false(exists(trigger(&f, "/dev/shm/work")));
	assert_true(exists(trigger(&f, "/tmp")));
	end(&f);

	/* in both places: links lead nowhere, whatever they say */
	begin(&f, &(struct fake_jvm_script){0});
	assert_int_equal(symlink("/etc/passwd", trigger(&f, "/tmp")), 0);
	assert_int_equal(symlink("/tmp/new", trigger(&f, "/dev/shm/work")), 0);
	assert_int_equal(listen_to(&f), -EBADMSG);
	assert_int_equal(f.why.state, JAVA_STATE_FAILED);
	assert_int_equal(f.jvm.seen->n_signals, 0);
	assert_false(exists(fake_jvm_path(&f.jvm, "/tmp/new")));
	end(&f);
}

TEST(test_a_tmp_in_which_it_could_not_listen)
{
	assert_refused(&(struct fake_jvm_script){.tmp_flags = MS_RDONLY}, -EROFS,
		       JAVA_STATE_NO_PLACE);
	assert_refused(&(struct fake_jvm_script){.tmp_options = "mode=0755"}, -EACCES,
		       JAVA_STATE_NO_PLACE);
	assert_refused(&(struct fake_jvm_script){.tmp_options = "mode=1777,nr_inodes=1"}, -ENOSPC,
		       JAVA_STATE_NO_PLACE);
}

/* Absolute links and ".." are resolved in the JVM's root, not in ours. */
TEST(test_links_do_not_lead_out_of_its_root)
{
	const char *root = temp_dir();
	struct stat in, tmp;
	struct fixture f;
	int fd;

	begin(&f, &(struct fake_jvm_script){.root = root, .link_tmp_to = "/../../../elsewhere"});
	fd = jvm_target_open_dir(&f.target, "/tmp");
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &in), 0);
	close(fd);
	assert_int_equal(stat(fake_jvm_path(&f.jvm, "/elsewhere"), &tmp), 0);
	assert_true(in.st_dev == tmp.st_dev && in.st_ino == tmp.st_ino);
	assert_attaches(&f);
	end(&f);
	assert_int_equal(rmdir(root), 0);
}

/* systemd's RestrictSUIDSGID= does this to the agent. */
static int refuse_openat2(int error)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)error), SCMP_SYS(openat2), 0);

	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

/* In a child, as the filter stays. */
static bool attaches_without_openat2(struct fixture *f, int error)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(refuse_openat2(error) == 0 && listen_to(f) == 0 && load(f) == 0 &&
		      f->answer.outcome == ATTACH_LOADED);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(test_without_openat2_no_link_is_followed)
{
	const char *root = temp_dir();
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	assert_true(attaches_without_openat2(&f, ENOSYS));
	assert_true(attaches_without_openat2(&f, EPERM));
	assert_no_trigger(&f);
	assert_int_equal(f.jvm.seen->n_signals, 1);
	end(&f);
	begin(&f, &(struct fake_jvm_script){.root = root, .link_tmp_to = "/elsewhere"});
	assert_false(attaches_without_openat2(&f, ENOSYS));
	assert_int_equal(f.jvm.seen->n_signals, 0);
	end(&f);
	assert_int_equal(rmdir(root), 0);
}
