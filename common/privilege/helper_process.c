#include "common/privilege/helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/privilege/capabilities.h"
#include "common/system/clock.h"

#define OWN_PROGRAM "/proc/self/exe"
#define LIBRARY_PATH "LD_LIBRARY_PATH="
#define NICE 10
#define KEEPER_NAME "helper-keeper"
/* Pauses before a helper that was killed is forked again. */
#define RESTART_MIN_NS NS_PER_S
#define RESTART_MAX_NS (60 * NS_PER_S)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY false
#else
#define LIMITS_MEMORY true
#endif

/* ---- start and end ---- */

/* Leaves the program the socket, and nothing else that is the agent's. Returns an errno. */
static int set_files(posix_spawn_file_actions_t *a, int socket)
{
	int r = posix_spawn_file_actions_adddup2(a, socket, HELPER_PROCESS_SOCKET);

	for (int fd = 0; r == 0 && fd < HELPER_PROCESS_SOCKET; fd++)
		r = posix_spawn_file_actions_addopen(a, fd, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(a, HELPER_PROCESS_SOCKET + 1);
	return r;
}

/* The agent blocks signals that it waits for otherwise, and ignores some. */
static int set_signals(posix_spawnattr_t *a)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setsigmask(a, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(a, &all);
	return r;
}

/* A group of its own has all that the program forks, and gets no signals meant for the agent. */
static int set_attributes(posix_spawnattr_t *a)
{
	int r = set_signals(a);

	if (r == 0)
		r = posix_spawnattr_setpgroup(a, 0);
	if (r == 0)
		r = posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
							POSIX_SPAWN_SETPGROUP);
	return r;
}

/* Of the environment, which may have keys, only where libraries are. */
static char *library_path(void)
{
	for (char **e = environ; *e; e++) {
		if (strncmp(*e, LIBRARY_PATH, sizeof(LIBRARY_PATH) - 1) == 0)
			return *e;
	}
	return NULL;
}

static int spawn(pid_t *ret, const char *program, char *const args[], int socket)
{
	char *const env[] = {library_path(), NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int r;

	r = posix_spawn_file_actions_init(&files);
	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r == 0) {
		r = set_files(&files, socket);
		if (r == 0)
			r = set_attributes(&attributes);
		if (r == 0)
			r = posix_spawn(ret, program, &files, &attributes, args, env);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

int helper_process_start(struct helper_process *ret, const char *program, const char *name,
			 const char *command)
{
	AUTO_FREE char *own_name = strdup(name), *own_command = strdup(command);
	char *const args[] = {own_name, own_command, NULL};
	AUTO_CLOSE int own = -1, other = -1;
	int ends[2], r;

	*ret = HELPER_PROCESS_NONE;
	if (!own_name || !own_command)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	own = ends[0];
	other = ends[1];
	r = spawn(&ret->pid, program ?: OWN_PROGRAM, args, other);
	if (r < 0) {
		ret->pid = 0;
		return r;
	}
	ret->socket = TAKE_FD(own);
	return 0;
}

void helper_process_end(struct helper_process *h)
{
	closep(&h->socket);
	h->socket = -1;
	/* it may be at work, but nobody waits for the answer */
	if (h->pid > 0) {
		(void)kill(-h->pid, SIGKILL);
		(void)waitpid(h->pid, NULL, 0);
	}
	h->pid = 0;
}

/* ---- messages ---- */

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(HELPER_PROCESS_FDS_MAX * sizeof(int))];
};

int helper_process_send(int socket, const void *message, size_t len, const int *fds, size_t n_fds)
{
	union control control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {.iov_len = len};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};

	if (n_fds > HELPER_PROCESS_FDS_MAX)
		return -EINVAL;
	memcpy(&data.iov_base, &message, sizeof(message)); /* which sendmsg() only reads */
	if (n_fds > 0) {
		control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static void take_fds(const struct msghdr *m, int *fds, size_t n_fds)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t n = 0;

	for (size_t i = 0; i < n_fds; i++)
		fds[i] = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (i < n_fds)
			fds[i] = fd;
		else
			close(fd);
	}
}

int helper_process_receive(int socket, void *message, size_t len, int *fds, size_t n_fds)
{
	union control control = {.bytes = {0}};
	struct iovec data = {message, len};
	struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);

	if (n < 0)
		m.msg_controllen = 0;
	take_fds(&m, fds, n_fds);
	if (n == (ssize_t)len && !(m.msg_flags & MSG_TRUNC))
		return 0;
	for (size_t i = 0; i < n_fds; i++)
		closep(&fds[i]);
	return -EPIPE;
}

bool helper_process_has_message(int socket, int timeout_ms)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};

	return poll(&p, 1, timeout_ms) > 0;
}

bool helper_process_is_closed(int socket)
{
	char c;

	return recv(socket, &c, sizeof(c), MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* ---- the helper ---- */

static bool is_our_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

/*
 * Where memory runs out, this process ends and not the agent. Without root, only a process that is
 * dumpable may write to the file.
 */
static void offer_to_oom_killer(void)
{
	AUTO_CLOSE int fd = -1;

	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "1000", 4);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Waits unless the other end of the socket is closed, which returns true. */
static bool is_closed_within(int socket, uint64_t ns)
{
	struct pollfd p = {.fd = socket}; /* POLLHUP */

	return poll(&p, 1, (int)(ns / NS_PER_MS)) > 0;
}

/*
 * The keeper: forks the helper, and again whenever something has killed it. Returns in the helper
 * only. The keeper itself ends when the helper did what it was there for.
 */
static void keep_forking(void)
{
	static const char restart[HELPER_PROCESS_RESTART_BYTES];
	uint64_t pause_ns = RESTART_MIN_NS;

	for (;;) {
		uint64_t start_ns = clock_monotonic_ns();
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			return;
		if (pid > 0 && (waitpid(pid, &status, 0) < 0 ||
				(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)))
			_exit(EXIT_SUCCESS);
		if (clock_monotonic_ns() - start_ns > RESTART_MAX_NS)
			pause_ns = RESTART_MIN_NS;
		(void)!helper_process_send(HELPER_PROCESS_SOCKET, restart, sizeof(restart), NULL,
					   0);
		if (is_closed_within(HELPER_PROCESS_SOCKET, pause_ns))
			_exit(EXIT_SUCCESS);
		pause_ns = pause_ns < RESTART_MAX_NS / 2 ? 2 * pause_ns : RESTART_MAX_NS;
	}
}

int helper_process_begin(const char *name, struct err *err)
{
	int r;

	if (!is_our_socket(HELPER_PROCESS_SOCKET))
		return err_set(err, -ENOTSOCK, "the agent starts this command by itself");
	process_harden();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, KEEPER_NAME);
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	/* the agent decides when to end, and closes the socket */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	r = capabilities_keep(0);
	if (r < 0)
		return err_set(err, r, "cannot give up capabilities: %s", strerror(-r));
	keep_forking();
	(void)prctl(PR_SET_NAME, name);
	offer_to_oom_killer();
	return 0;
}

int helper_process_error(int status)
{
	bool late =
		WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);

	return late ? -ETIMEDOUT : -EIO;
}

/* ---- its child ---- */

void helper_process_limit_time(uint32_t cpu_ms, unsigned wall_s)
{
	const struct itimerval cpu = {
		.it_value = {.tv_sec = cpu_ms / 1000, .tv_usec = cpu_ms % 1000 * 1000}};
	const struct itimerval wall = {.it_value.tv_sec = wall_s};

	(void)setitimer(ITIMER_PROF, &cpu, NULL);
	(void)setitimer(ITIMER_REAL, &wall, NULL);
}

static void set_limit(int which, uint64_t max)
{
	const struct rlimit limit = {max, max};

	if (setrlimit((__rlimit_resource_t)which, &limit) < 0)
		_exit(EXIT_FAILURE);
}

/* If the kernel has no seccomp, nothing is read. */
static void install_filter(bool may_write)
{
	static const int calls[] = {
		SCMP_SYS(read),
		SCMP_SYS(pread64),
		SCMP_SYS(lseek),
		SCMP_SYS(fstat),
		SCMP_SYS(newfstatat),
		SCMP_SYS(mmap),
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(mprotect),
		SCMP_SYS(madvise),
		SCMP_SYS(brk),
		SCMP_SYS(recvmsg),
		SCMP_SYS(sendto),
		SCMP_SYS(sendmsg),
		SCMP_SYS(poll),
		SCMP_SYS(ppoll),
		SCMP_SYS(close),
		SCMP_SYS(exit),
		SCMP_SYS(exit_group),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(setitimer),
		SCMP_SYS(futex),
		SCMP_SYS(getrandom),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(restart_syscall),
		SCMP_SYS(fcntl),
	};
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	for (size_t i = 0; f && i < ARRAY_SIZE(calls); i++)
		(void)seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	if (f && may_write)
		(void)seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(write), 0);
	if (!f || seccomp_load(f) < 0)
		_exit(EXIT_FAILURE);
	seccomp_release(f);
}

void helper_process_confine(const struct helper_limits *l)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPROF, SIG_DFL);
	(void)signal(SIGALRM, SIG_DFL);
	set_limit(RLIMIT_FSIZE, l->written_bytes);
	if (LIMITS_MEMORY) {
		set_limit(RLIMIT_DATA, l->heap_bytes);
		set_limit(RLIMIT_AS, l->mapped_bytes);
	}
	install_filter(l->written_bytes > 0);
}
