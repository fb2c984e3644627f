#include "test/store/call_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "test/lib/unit.h"

/* Shared by parent and child. */
struct call_gate {
	atomic_int listener; /* descriptor in the child; -1 until the filter is there */
	atomic_bool watched; /* the parent has the listener */
	atomic_bool left;
};

struct call {
	int nr;
	const char *name;
	int path; /* index of the argument that is a path, or -1: the first is a descriptor */
};

#define CALL(name, path)                \
	{                               \
		SYS_##name, #name, path \
	}
static const struct call calls[] = {
	CALL(openat, 1),     CALL(renameat2, 1), CALL(unlinkat, 1),   CALL(mkdirat, 1),
	CALL(linkat, 1),     CALL(write, -1),    CALL(pwrite64, -1),  CALL(writev, -1),
	CALL(pwritev, -1),   CALL(fsync, -1),    CALL(fdatasync, -1), CALL(ftruncate, -1),
	CALL(fallocate, -1),
#ifdef SYS_renameat
	CALL(renameat, 1),
#endif
#ifdef SYS_open
	CALL(open, 0),       CALL(rename, 0),    CALL(unlink, 0),     CALL(mkdir, 0),
	CALL(rmdir, 0),      CALL(creat, 0),     CALL(link, 0),
#endif
};
#undef CALL

struct call_gate *call_gate_new(void)
{
	struct call_gate *g =
		mmap(NULL, sizeof(*g), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(g != MAP_FAILED);
	atomic_store(&g->listener, -1);
	return g;
}

void call_gate_free(struct call_gate *g)
{
	munmap(g, sizeof(*g));
}

void call_gate_enter(struct call_gate *g)
{
	const size_t n = ARRAY_SIZE(calls);
	struct sock_filter f[ARRAY_SIZE(calls) + 3];
	const struct sock_fprog program = {(unsigned short)(n + 3), f};
	const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC |
				    SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
	int fd;

	f[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++)
		f[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							(unsigned)calls[i].nr,
							(unsigned char)(n - i), 0);
	f[n + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(100);
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		_exit(101);
	atomic_store(&g->listener, fd);
	/* calls would not return before that, and usleep(3) is not among those reported */
	eventually(atomic_load(&g->watched));
}

void call_gate_leave(struct call_gate *g)
{
	atomic_store(&g->left, true);
}

static int take_listener(struct call_gate *g, pid_t pid)
{
	int status, pidfd, fd;

	while (atomic_load(&g->listener) < 0) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			fail_msg("the child ended before it began: status %x", status);
		usleep(1000);
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(pidfd >= 0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, atomic_load(&g->listener), 0);
	assert_true(fd >= 0);
	close(pidfd);
	atomic_store(&g->watched, true);
	return fd;
}

static void read_path(pid_t pid, uint64_t address, char *ret, size_t size)
{
	char mem[64];
	ssize_t n;
	int fd;

	snprintf(mem, sizeof(mem), "/proc/%d/mem", pid);
	fd = open(mem, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, ret, size - 1, (off_t)address);
	ret[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void describe(pid_t pid, const struct seccomp_data *d, char *ret, size_t size)
{
	const struct call *call = calls;
	char path[300], link[64];

	while (call->nr != d->nr)
		call++;
	if (call->path >= 0) {
		read_path(pid, d->args[call->path], path, sizeof(path));
	} else {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, (int)d->args[0]);
		n = readlink(link, path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
	}
	snprintf(ret, size, "%s(%s)", call->name, path);
}

/* Returns true if fn ended it. */
static bool pass_calls(struct call_gate *g, int listener, pid_t pid, call_gate_fn fn, void *ctx)
{
	for (;;) {
		struct pollfd p = {.fd = listener, .events = POLLIN};
		struct seccomp_notif call = {0};
		struct seccomp_notif_resp resp = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		char text[400];

		if (poll(&p, 1, 5) == 0) {
			if (atomic_load(&g->left))
				return false;
			continue;
		}
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			assert_true(errno == ENOENT || errno == EINTR);
			continue;
		}
		describe(pid, &call.data, text, sizeof(text));
		if (fn(ctx, text))
			return true;
		resp.id = call.id;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0)
			assert_int_equal(errno, ENOENT);
	}
}

bool call_gate_run(struct call_gate *g, pid_t pid, call_gate_fn fn, void *ctx)
{
	int status, listener = take_listener(g, pid);
	bool killed = pass_calls(g, listener, pid, fn, ctx);

	kill(pid, SIGKILL);
	close(listener);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return killed;
}
