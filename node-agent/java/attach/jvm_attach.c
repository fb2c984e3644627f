/*
 * Waking the listener is a handshake without an acknowledgement: the JVM's thread "Signal
 * Dispatcher" wakes up on SIGQUIT, looks for the file, and either starts the listener or prints a
 * thread dump to standard output. At a safepoint, or in a full garbage collection, it looks only
 * seconds later. If the file is gone by then, the dump appears in the program's output. So the file
 * outlives one call (-EINPROGRESS) and is removed as soon as the socket is there, or after
 * JVM_ATTACH_GIVE_UP_NS.
 *
 * For the same reason a process that cannot run gets no signal: it would look only when it is
 * continued. Stopped processes have a state of their own; a frozen cgroup shows only in what the
 * main thread waits for, because the agent may not see the cgroup's files.
 */
#include "node-agent/java/attach/jvm_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common/system/clock.h"
#include "common/system/fs.h"
#include "node-agent/java/attach/as_user.h"
#include "node-agent/java/attach/attach_socket.h"
#include "node-agent/procfs/process_status.h"
#include "node-agent/procfs/procfs.h"

#define POLL_MS 20
#define BUSY_POLLS 10u /* how often the main thread may be seen in the kernel before it counts */
#define THREADS_MAX 4096u
#define LISTENER_THREAD "Attach Listener"
#define SEND_NS (50 * NS_PER_MS) /* to a process that does not run */
#define OTHERS_NS NS_PER_S       /* how long another tool's attempt is waited for */

static int no_permission(const struct jvm_target *t, struct jvm_failure *why)
{
	return jvm_failure_set(why, JAVA_STATE_NO_PERMISSION, -EPERM,
			       "cannot act as its user (uid %u, gid %u): %s is missing",
			       (unsigned)t->uid, (unsigned)t->gid, as_user_missing(t->uid, t->gid));
}

static int stopped(const struct jvm_attach_limits *limits, struct jvm_failure *why)
{
	if (!limits->cancelled || !limits->cancelled(limits->ctx))
		return 0;
	return jvm_failure_set(why, JAVA_STATE_WAITING, -ECANCELED, "the agent is stopping");
}

/* ---- whether the signal may be sent ---- */

/* What the main thread waits for in the kernel; "" if it runs. */
static void read_wait_channel(const struct jvm_target *t, char *ret, size_t size)
{
	AUTO_CLOSE int fd = openat(t->proc_fd, "wchan", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
}

/* A thread that sleeps where signals are handled is stopped, traced, or frozen (cgroup v2). */
static bool is_frozen(const struct jvm_target *t)
{
	static const char *const places[] = {"get_signal", "do_freezer_trap", "do_signal_stop",
					     "ptrace_stop", "__refrigerator"};
	char channel[64];

	read_wait_channel(t, channel, sizeof(channel));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (strcmp(channel, places[i]) == 0)
			return true;
	}
	return false;
}

/*
 * The main thread of a JVM waits for another one to end. In state D for long, it is frozen (cgroup
 * v1) or its file system hangs.
 */
static int check_runs(const struct jvm_target *t, struct process_status *s, struct jvm_failure *why)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * (long)NS_PER_MS};
	int r;

	for (unsigned i = 0;; i++) {
		r = jvm_target_read_status(t, s);
		if (r < 0)
			return jvm_target_fail(why, r, "cannot read its status");
		if (s->state != 'D' || i == BUSY_POLLS)
			break;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	if (s->state == 'Z' || s->state == 'X')
		return jvm_target_fail(why, -ESRCH, "cannot attach");
	if (s->state == 'T' || s->state == 't')
		return jvm_failure_set(why, JAVA_STATE_UNRESPONSIVE, -EAGAIN,
				       "it is stopped by a signal or a debugger");
	if (s->state == 'D' || is_frozen(t))
		return jvm_failure_set(why, JAVA_STATE_UNRESPONSIVE, -EAGAIN, "it is frozen");
	return 0;
}

/* Right before the signal: it must neither kill the process nor be a second one. */
static int check_signal(const struct jvm_target *t, struct jvm_failure *why)
{
	struct process_status s;
	int r = check_runs(t, &s, why);

	if (r < 0)
		return r;
	if (!process_status_has(s.caught, SIGQUIT))
		return jvm_failure_set(why, JAVA_STATE_SIGNALS_REDUCED, -ENOTSUP,
				       "it does not catch SIGQUIT");
	if (process_status_has(s.pending, SIGQUIT))
		return jvm_failure_set(why, JAVA_STATE_UNRESPONSIVE, -EAGAIN,
				       "it has not handled an earlier SIGQUIT");
	if (s.uid != t->uid || s.gid != t->gid)
		return jvm_failure_set(why, JAVA_STATE_UNRESPONSIVE, -EAGAIN,
				       "it has changed its user");
	return 0;
}

/* As the JVM's user, which needs no capability; or else as the agent. */
static int send_signal(const struct jvm_target *t, struct jvm_failure *why)
{
	struct as_user user = {0};
	int r = as_user_begin(&user, t->uid, t->gid);

	if (r == 0)
		r = (int)syscall(SYS_pidfd_send_signal, t->pid_fd, SIGQUIT, NULL, 0) < 0 ? -errno
											 : 0;
	as_user_end(&user);
	if (r == -EPERM)
		r = (int)syscall(SYS_pidfd_send_signal, t->pid_fd, SIGQUIT, NULL, 0) < 0 ? -errno
											 : 0;
	if (r == -EPERM)
		return jvm_failure_set(why, JAVA_STATE_NO_PERMISSION, r,
				       "cannot send SIGQUIT: CAP_KILL is missing");
	return r < 0 ? jvm_target_fail(why, r, "cannot send SIGQUIT") : 0;
}

/* ---- the listener ---- */

/*
 * Returns 1 if the listener runs, 0 if it must be woken, or -errno. A socket that nobody listens on
 * is removed: the JVM's own would be renamed over it, but until then it looks like one.
 */
static int probe(const struct jvm_target *t, struct jvm_failure *why)
{
	int fd = attach_socket_connect(t), r;

	if (fd >= 0)
		close(fd);
	if (fd >= 0 || fd == -EAGAIN)
		return 1;
	if (fd == -ENOENT)
		return 0;
	if (fd == -EPERM)
		return no_permission(t, why);
	if (fd == -EBADMSG)
		return jvm_failure_set(why, JAVA_STATE_FAILED, fd,
				       "/tmp/.java_pid%d is not its socket", (int)t->nspid);
	if (fd != -ECONNREFUSED)
		return jvm_target_fail(why, fd, "cannot connect to its attach listener");
	r = attach_socket_remove_stale(t);
	return r < 0 ? jvm_target_fail(why, r, "cannot remove a socket that nobody listens on") : 0;
}

struct thread_search {
	int task_fd;
	unsigned n_seen;
	bool found;
};

static int see_thread(void *ctx, pid_t tid)
{
	struct thread_search *search = ctx;
	AUTO_CLOSE int fd = -1;
	char path[32], name[PROCESS_COMM_BYTES] = "";

	snprintf(path, sizeof(path), "%d/comm", (int)tid);
	fd = openat(search->task_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, name, sizeof(name) - 1) > 0)
		search->found = strncmp(name, LISTENER_THREAD, strlen(LISTENER_THREAD)) == 0;
	return search->found || ++search->n_seen == THREADS_MAX ? 1 : 0;
}

/* Whether a listener runs whose socket was removed. JDK 8 does not name its threads. */
static bool has_listener_thread(const struct jvm_target *t)
{
	AUTO_CLOSE int fd = openat(t->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct thread_search search = {.task_fd = fd};

	return fd >= 0 && procfs_each_pid(fd, see_thread, &search) >= 0 && search.found;
}

/* Waits until the socket is there, the process has ended, or the time is up. */
static int wait_for_socket(const struct jvm_target *t, const struct jvm_attach_limits *limits,
			   uint64_t wait_ns, struct jvm_failure *why)
{
	uint64_t end_ns = clock_monotonic_ns() + wait_ns;
	struct pollfd p = {.fd = t->pid_fd, .events = POLLIN};
	int r;

	for (;;) {
		r = probe(t, why);
		/* its mounts end with it: then another /tmp may be found below its root */
		if (r < 0 && !jvm_target_is_alive(t))
			return jvm_target_fail(why, -ESRCH, "cannot attach");
		if (r != 0)
			return r;
		r = stopped(limits, why);
		if (r < 0)
			return r;
		if (clock_monotonic_ns() >= end_ns)
			return 0;
		if (poll(&p, 1, POLL_MS) > 0)
			return jvm_target_fail(why, -ESRCH, "cannot attach");
	}
}

static int make_trigger(struct jvm_attach *a, const struct jvm_target *t, struct jvm_failure *why)
{
	int r = attach_trigger_make(&a->trigger, t);

	if (r == -EPERM)
		return no_permission(t, why);
	if (r == -EBADMSG)
		return jvm_failure_set(why, JAVA_STATE_FAILED, r,
				       "somebody else's .attach_pid%d is in the way",
				       (int)t->nspid);
	if (r == -EACCES || r == -EROFS || r == -ENOENT || r == -ENOSPC || r == -EDQUOT)
		return jvm_failure_set(why, JAVA_STATE_NO_PLACE, r,
				       "its user cannot make .attach_pid%d in /tmp: %s",
				       (int)t->nspid, strerror(-r));
	return r < 0 ? jvm_target_fail(why, r, "cannot make .attach_pid") : r;
}

/* Asks the JVM to start its listener. Returns 0, 1 if it runs by now, or -errno. */
static int wake(struct jvm_attach *a, const struct jvm_target *t,
		const struct jvm_attach_limits *limits, struct jvm_failure *why)
{
	int r;

	if (!limits->reopens_socket && (a->has_listened || has_listener_thread(t)))
		return jvm_failure_set(why, JAVA_STATE_UNRESPONSIVE, -ENOTCONN,
				       "its attach listener runs, but somebody removed "
				       "/tmp/.java_pid%d",
				       (int)t->nspid);
	r = limits->may_signal(limits->ctx, t, why);
	if (r == 0)
		r = check_signal(t, why);
	if (r == 0)
		r = make_trigger(a, t, why);
	if (r > 0)
		r = wait_for_socket(t, limits, OTHERS_NS, why);
	if (r == 0)
		r = check_signal(t, why);
	if (r == 0)
		r = send_signal(t, why);
	if (r != 0)
		return r;
	a->waiting = true;
	a->signalled_ns = clock_monotonic_ns();
	return 0;
}

int jvm_attach_listen(struct jvm_attach *a, const struct jvm_target *t,
		      const struct jvm_attach_limits *limits, struct jvm_failure *why)
{
	int r = a->waiting ? 0 : probe(t, why);

	if (r == 0 && !a->waiting)
		r = wake(a, t, limits, why);
	if (r == 0)
		r = wait_for_socket(t, limits, limits->listen_ns, why);
	if (r == 0 && clock_monotonic_ns() - a->signalled_ns < JVM_ATTACH_GIVE_UP_NS)
		return jvm_failure_set(why, JAVA_STATE_UNRESPONSIVE, -EINPROGRESS,
				       "its attach listener has not started yet");
	jvm_attach_forget(a);
	if (r == 0)
		return jvm_failure_set(why, JAVA_STATE_UNRESPONSIVE, -ETIMEDOUT,
				       "its attach listener did not start within %u s",
				       (unsigned)(JVM_ATTACH_GIVE_UP_NS / NS_PER_S));
	if (r < 0)
		return r;
	a->has_listened = true;
	return 0;
}

void jvm_attach_forget(struct jvm_attach *a)
{
	attach_trigger_remove(&a->trigger);
	a->waiting = false;
}

/* ---- one command ---- */

/* One exchange with the listener. */
struct exchange {
	const struct jvm_target *t;
	const struct jvm_attach_limits *limits;
	struct jvm_failure *why;
	uint64_t end_ns;
	int fd; /* -1 while there is no connection */
};

/*
 * Waits until the connection is ready, or for a moment if there is none. Returns 0, -ETIMEDOUT,
 * -ESRCH or -ECANCELED.
 */
static int wait_ready(const struct exchange *x, short events)
{
	struct pollfd p[] = {{.fd = x->t->pid_fd, .events = POLLIN},
			     {.fd = x->fd, .events = events}};

	for (;;) {
		int r = stopped(x->limits, x->why);

		if (r < 0)
			return r;
		if (clock_monotonic_ns() >= x->end_ns)
			return jvm_failure_set(x->why, JAVA_STATE_UNRESPONSIVE, -ETIMEDOUT,
					       "it did not answer in time");
		(void)poll(p, x->fd >= 0 ? 2 : 1, POLL_MS);
		if (x->fd >= 0 && p[1].revents)
			return 0;
		if (p[0].revents)
			return jvm_target_fail(x->why, -ESRCH, "no answer");
		if (x->fd < 0)
			return 0;
	}
}

/* Returns a descriptor or -errno. */
static int connect_until(const struct exchange *x)
{
	for (;;) {
		int r = attach_socket_connect(x->t);

		if (r >= 0)
			return r;
		if (r == -ENOENT || r == -ECONNREFUSED)
			return jvm_failure_set(x->why, JAVA_STATE_UNRESPONSIVE, -ENOTCONN,
					       "its attach listener does not run");
		if (r == -EPERM)
			return no_permission(x->t, x->why);
		if (r != -EAGAIN)
			return jvm_target_fail(x->why, r, "cannot connect to its attach listener");
		r = wait_ready(x, 0);
		if (r < 0)
			return r;
	}
}

static int send_request(const struct exchange *x, const struct buf *request)
{
	size_t sent = 0;

	while (sent < request->len) {
		ssize_t n = send(x->fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);
		int r;

		if (n >= 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET)
			return 0; /* it may have said why */
		if (errno != EAGAIN && errno != EINTR)
			return jvm_target_fail(x->why, -errno, "cannot send the request");
		r = wait_ready(x, POLLOUT);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads to the end of the connection, or as much as fits. */
static int read_answer(const struct exchange *x, char *bytes, size_t size, size_t *ret_len)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = recv(x->fd, bytes + len, size - len, 0);
		int r;

		if (n == 0 || (n < 0 && errno == ECONNRESET))
			break;
		if (n > 0) {
			len += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return jvm_target_fail(x->why, -errno, "cannot read the answer");
		r = wait_ready(x, POLLIN);
		if (r < 0)
			return r;
	}
	*ret_len = len;
	return 0;
}

int jvm_attach_load(const struct jvm_target *t, const char *library, const char *options,
		    const struct jvm_attach_limits *limits, struct attach_answer *ret,
		    struct jvm_failure *why)
{
	struct exchange x = {
		.t = t,
		.limits = limits,
		.why = why,
		.end_ns = clock_monotonic_ns() + limits->answer_ns,
		.fd = -1,
	};
	CLEANUP(buf_fini) struct buf request;
	UNINITIALIZED char answer[ATTACH_ANSWER_MAX];
	struct process_status status;
	AUTO_CLOSE int fd = -1;
	size_t len = 0;
	int r;

	buf_init(&request, ATTACH_REQUEST_MAX);
	r = attach_protocol_load(&request, library, options);
	if (r < 0)
		return jvm_failure_set(why, JAVA_STATE_FAILED, r, "the request is too long");
	/* its kernel accepts connections, and it would say nothing for all of answer_ns */
	r = check_runs(t, &status, why);
	if (r < 0 && (r != -EAGAIN || limits->must_run))
		return r;
	if (r == -EAGAIN)
		x.end_ns = clock_monotonic_ns() + SEND_NS;
	fd = connect_until(&x);
	if (fd < 0)
		return fd;
	x.fd = fd;
	r = send_request(&x, &request);
	if (r == 0)
		r = read_answer(&x, answer, sizeof(answer), &len);
	if (r == 0)
		attach_protocol_parse(answer, len, ret);
	return r;
}
