#include "test/lib/fake_jvm.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

#define LOADED "0\nreturn code: 0\n"
#define N_STRINGS 5 /* of a request */
#define FLOOD_BYTES (1u << 20)
#define CWD "/dev/shm/work"

static struct fake_jvm_seen *seen;

static void check(bool condition, int line)
{
	if (!condition) {
		dprintf(STDERR_FILENO, "fake_jvm.c:%d: %s\n", line, strerror(errno));
		_exit(99);
	}
}

#define CHECK(condition) check(condition, __LINE__)

static void pause_a_moment(void)
{
	const struct timespec t = {.tv_nsec = (long)NS_PER_MS};

	(void)nanosleep(&t, NULL);
}

static bool finds_trigger(void)
{
	char name[64], path[128];
	struct stat st;

	snprintf(name, sizeof(name), ".attach_pid%d", (int)getpid());
	snprintf(path, sizeof(path), "/tmp/%s", name);
	return (stat(name, &st) == 0 || stat(path, &st) == 0) && st.st_uid == geteuid();
}

static void on_signal(int signal)
{
	const int saved = errno;

	(void)signal;
	if (!finds_trigger())
		seen->n_without_file++;
	seen->n_signals++;
	errno = saved;
}

/* As HotSpot does: under another name first. */
static int make_socket(bool served)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char path[64];

	snprintf(path, sizeof(path), "/tmp/.java_pid%d", (int)getpid());
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.tmp", path);
	CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
	CHECK(listen(fd, served ? 5 : 0) == 0 && chmod(addr.sun_path, 0600) == 0);
	CHECK(rename(addr.sun_path, path) == 0);
	return fd;
}

static bool read_request(int fd)
{
	unsigned n_strings = 0;
	size_t len = 0;

	while (n_strings < N_STRINGS && len < sizeof(seen->request)) {
		ssize_t n = read(fd, seen->request + len, sizeof(seen->request) - len);

		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++)
			n_strings += seen->request[len + (size_t)i] == '\0';
		len += (size_t)n;
	}
	seen->request_len = (unsigned)len;
	return true;
}

static void write_all(int fd, const char *text, size_t len)
{
	/* the agent may hang up */
	for (size_t at = 0; at < len;) {
		ssize_t n = send(fd, text + at, len - at, MSG_NOSIGNAL);

		if (n < 0)
			return;
		at += (size_t)n;
	}
}

static void write_answer(int fd, const struct fake_jvm_script *s)
{
	const char *text = s->text ?: LOADED;
	static char flood[FLOOD_BYTES];

	switch (s->answer) {
	case FAKE_JVM_ANSWERS:
		write_all(fd, text, strlen(text));
		break;
	case FAKE_JVM_ANSWERS_SLOWLY:
		for (size_t i = 0; text[i]; i++) {
			write_all(fd, text + i, 1);
			pause_a_moment();
		}
		break;
	case FAKE_JVM_FLOODS:
		memset(flood, 'x', sizeof(flood));
		write_all(fd, text, strlen(text));
		write_all(fd, flood, sizeof(flood));
		break;
	case FAKE_JVM_HANGS_UP:
		break;
	case FAKE_JVM_STALLS:
		write_all(fd, text, strlen(text) / 2);
		for (;;)
			pause();
	case FAKE_JVM_DIES:
		write_all(fd, text, strlen(text) / 2);
		_exit(0);
	}
}

static void serve(int listener, const struct fake_jvm_script *s)
{
	for (;;) {
		AUTO_CLOSE int fd = accept(listener, NULL, NULL);
		struct ucred peer = {0};
		socklen_t len = sizeof(peer);

		if (fd < 0) {
			CHECK(errno == EINTR);
			continue;
		}
		CHECK(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0);
		if (peer.uid != geteuid() || peer.gid != getegid() || !read_request(fd))
			continue;
		seen->peer_uid = peer.uid;
		seen->peer_gid = peer.gid;
		write_answer(fd, s);
		seen->n_connections++;
	}
}

static void handle_sigquit(const struct fake_jvm_script *s)
{
	struct sigaction act = {.sa_handler = on_signal};
	sigset_t set;

	if (s->listen == FAKE_JVM_NEVER_CATCHES)
		return;
	CHECK(sigaction(SIGQUIT, &act, NULL) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGQUIT);
	if (s->listen == FAKE_JVM_BLOCKS)
		CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
}

static void make_root(const struct fake_jvm_script *s)
{
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	if (s->root) {
		CHECK(mount("none", s->root, "tmpfs", 0, "mode=0755") == 0);
		CHECK(chroot(s->root) == 0 && chdir("/") == 0);
		CHECK(mkdir("/tmp", 0777) == 0 && mkdir("/dev", 0755) == 0);
		CHECK(mkdir("/dev/shm", 0777) == 0 && mkdir("/elsewhere", 0777) == 0);
		CHECK(chmod("/elsewhere", 01777) == 0);
	}
	CHECK(mount("none", "/dev/shm", "tmpfs", 0, "mode=1777") == 0);
	CHECK(mkdir(CWD, 0700) == 0);
	if (!s->is_root)
		CHECK(chown(CWD, FAKE_JVM_UID, FAKE_JVM_GID) == 0);
	if (s->link_tmp_to)
		CHECK(rmdir("/tmp") == 0 && symlink(s->link_tmp_to, "/tmp") == 0);
	else
		CHECK(mount("none", "/tmp", "tmpfs", s->tmp_flags, s->tmp_options ?: "mode=1777") ==
		      0);
	CHECK(chdir(s->cwd ?: CWD) == 0);
}

static void become_user(const struct fake_jvm_script *s)
{
	if (s->is_root)
		return;
	CHECK(setgroups(0, NULL) == 0);
	CHECK(setresgid(FAKE_JVM_GID, FAKE_JVM_GID, FAKE_JVM_GID) == 0);
	CHECK(setresuid(FAKE_JVM_UID, FAKE_JVM_UID, FAKE_JVM_UID) == 0);
}

static _Noreturn void play(const struct fake_jvm_script *s)
{
	int listener = -1;

	make_root(s);
	become_user(s);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	handle_sigquit(s);
	if (s->listen == FAKE_JVM_LISTENS_ALWAYS || s->listen == FAKE_JVM_IS_DEAF)
		listener = make_socket(s->listen != FAKE_JVM_IS_DEAF);
	if (s->listen == FAKE_JVM_LEAVES_SOCKET)
		close(make_socket(true));
	seen->ready = true;
	if (s->listen == FAKE_JVM_EXECUTES) {
		execl("/bin/sleep", "sleep", "1000", NULL);
		CHECK(false);
	}
	if (s->listen != FAKE_JVM_LISTENS_ALWAYS) {
		while (seen->n_signals == 0)
			pause_a_moment();
		if (s->listen == FAKE_JVM_EXITS)
			_exit(0);
		while (s->listen == FAKE_JVM_LISTENS_LATE && !seen->released)
			pause_a_moment();
		listener = make_socket(true);
	}
	serve(listener, s);
	abort();
}

static uint64_t start_time_of(pid_t pid)
{
	AUTO_CLOSE int root_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int proc_fd = procfs_open_process(root_fd, pid);
	struct proc_stat stat;

	assert_int_equal(procfs_read_stat(proc_fd, &stat), 0);
	return stat.start_time;
}

static bool sleeps(pid_t pid)
{
	char path[64], name[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)!read(fd, name, sizeof(name) - 1);
	close(fd);
	return strcmp(name, "sleep\n") == 0;
}

void fake_jvm_start(struct fake_jvm *f, const struct fake_jvm_script *script)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(seen, MAP_FAILED);
	f->seen = seen;
	f->pid = fork();
	if (f->pid == 0)
		play(script);
	assert_true(f->pid > 0);
	while (!seen->ready || (script->listen == FAKE_JVM_EXECUTES && !sleeps(f->pid))) {
		assert_int_equal(waitpid(f->pid, NULL, WNOHANG), 0);
		pause_a_moment();
	}
	f->start_time = start_time_of(f->pid);
}

void fake_jvm_end(struct fake_jvm *f)
{
	if (f->pid > 0) {
		(void)kill(f->pid, SIGKILL);
		(void)waitpid(f->pid, NULL, 0);
	}
	f->pid = 0;
	(void)munmap(f->seen, sizeof(*f->seen));
}

const char *fake_jvm_path(const struct fake_jvm *f, const char *path)
{
	static char full[PATH_MAX];

	snprintf(full, sizeof(full), "/proc/%d/root%s", (int)f->pid, path);
	return full;
}
