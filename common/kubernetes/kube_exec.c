/*
 * A plugin is an arbitrary program: it may hang, print without end, start helpers that outlive
 * it, or close its output and keep running. None of that may block the loop or leave processes
 * behind.
 *
 * So the child gets a process group of its own, which is killed as a whole, and the run ends
 * when a pidfd reports the child's exit, not when its pipes reach their end: a helper may hold
 * the pipes open. Standard output is read to the end at that moment, and of standard error only
 * the last kilobyte is kept, for the error text.
 *
 * posix_spawn() instead of fork(): we have threads, and memory that fork() would have to
 * account for. SIGCHLD is not used at all; if somebody has set it to SIG_IGN the exit status is
 * lost, and the run fails.
 */
#include "common/kubernetes/kube_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "common/data/buf.h"
#include "common/kubernetes/kube_status.h"
#include "common/system/clock.h"

#define STDERR_TAIL_BYTES ((size_t)1024)
/* A killed process exits at once, unless a file system blocks it. */
#define REAP_MS 200

struct kube_exec_run {
	struct loop *loop;
	char *command;
	uint64_t timeout_ns;
	kube_exec_done_fn done;
	void *ctx;

	pid_t pid; /* 0 if not started, or reaped */
	int pid_fd, out_fd, err_fd;
	struct loop_source *on_exit, *on_out, *on_err, *on_timeout;
	struct buf out;
	char tail[STDERR_TAIL_BYTES]; /* the end of standard error */
	size_t tail_len;
};

/* ---- end of a run ---- */

static void stop_watching(struct kube_exec_run *run)
{
	loop_remove(TAKE_PTR(run->on_exit));
	loop_remove(TAKE_PTR(run->on_out));
	loop_remove(TAKE_PTR(run->on_err));
	loop_remove(TAKE_PTR(run->on_timeout));
}

static void kill_child(struct kube_exec_run *run)
{
	struct pollfd p = {.fd = run->pid_fd, .events = POLLIN};
	siginfo_t info;

	if (run->pid == 0)
		return;
	kill(-run->pid, SIGKILL);
	/* otherwise it stays a zombie until we exit */
	if (poll(&p, 1, REAP_MS) == 1)
		(void)waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG);
	run->pid = 0;
}

void kube_exec_cancel(struct kube_exec_run *run)
{
	if (!run)
		return;
	stop_watching(run);
	kill_child(run);
	closep(&run->pid_fd);
	closep(&run->out_fd);
	closep(&run->err_fd);
	buf_fini(&run->out);
	free(run->command);
	free(run);
}

/* The last non-empty line of standard error. */
static void last_line(const struct kube_exec_run *run, char *ret, size_t size)
{
	size_t end = run->tail_len, start;

	while (end > 0 && (unsigned char)run->tail[end - 1] <= ' ')
		end--;
	for (start = end; start > 0 && run->tail[start - 1] != '\n';)
		start--;
	kube_status_line(run->tail + start, end - start, ret, size);
}

static void finish(struct kube_exec_run *run, int error, const char *why)
{
	struct kube_exec_result result = {.error = error};
	char line[256], msg[512];

	stop_watching(run);
	kill_child(run);
	if (error) {
		last_line(run, line, sizeof(line));
		snprintf(msg, sizeof(msg), "%.200s: %s%s%s", run->command, why, *line ? ": " : "",
			 line);
		result.msg = msg;
	} else {
		result.out = run->out.data ? run->out.data : "";
		result.len = run->out.len;
	}
	run->done(run->ctx, &result);
	kube_exec_cancel(run);
}

/* ---- output ---- */

static void add_to_tail(struct kube_exec_run *run, const char *data, size_t len)
{
	size_t keep = STDERR_TAIL_BYTES - len;

	if (run->tail_len > keep) {
		memmove(run->tail, run->tail + run->tail_len - keep, keep);
		run->tail_len = keep;
	}
	memcpy(run->tail + run->tail_len, data, len);
	run->tail_len += len;
}

/*
 * Returns 1 if there may be more, 0 if there is nothing at the moment, or -ENODATA at the end.
 */
static int read_some(int fd, char *to, size_t size, size_t *ret_len)
{
	ssize_t n = read(fd, to, size);

	*ret_len = n > 0 ? (size_t)n : 0;
	if (n > 0 || (n < 0 && errno == EINTR))
		return 1;
	return n < 0 && errno == EAGAIN ? 0 : -ENODATA;
}

/* Returns 0, -ENODATA at the end of the pipe, -EFBIG or -ENOMEM. */
static int read_out(struct kube_exec_run *run)
{
	char chunk[16384];
	size_t len;
	int r;

	while ((r = read_some(run->out_fd, chunk, sizeof(chunk), &len)) > 0) {
		r = buf_add(&run->out, chunk, len);
		if (r < 0)
			return r;
	}
	return r;
}

static int read_err(struct kube_exec_run *run)
{
	char chunk[STDERR_TAIL_BYTES];
	size_t len;
	int r;

	while ((r = read_some(run->err_fd, chunk, sizeof(chunk), &len)) > 0)
		add_to_tail(run, chunk, len);
	return r;
}

static bool failed_to_read(struct kube_exec_run *run, int r)
{
	if (r != -EFBIG && r != -ENOMEM)
		return false;
	finish(run, r, r == -EFBIG ? "printed more than 1 MiB" : "out of memory");
	return true;
}

static void on_out(void *ctx, uint32_t events)
{
	struct kube_exec_run *run = ctx;
	int r = read_out(run);

	(void)events;
	if (!failed_to_read(run, r) && r == -ENODATA)
		loop_remove(TAKE_PTR(run->on_out));
}

static void on_err(void *ctx, uint32_t events)
{
	struct kube_exec_run *run = ctx;

	(void)events;
	if (read_err(run) == -ENODATA)
		loop_remove(TAKE_PTR(run->on_err));
}

static void on_timeout(void *ctx)
{
	struct kube_exec_run *run = ctx;
	char why[64];

	snprintf(why, sizeof(why), "did not end within %.3g s",
		 (double)run->timeout_ns / (double)NS_PER_S);
	finish(run, -ETIMEDOUT, why);
}

static void on_exit_of_child(void *ctx, uint32_t events)
{
	struct kube_exec_run *run = ctx;
	siginfo_t info = {.si_pid = 0};
	char why[64];
	int r = waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG);

	(void)events;
	if (r == 0 && info.si_pid == 0)
		return;
	run->pid = 0;
	if (failed_to_read(run, read_out(run)))
		return;
	(void)read_err(run);
	if (r < 0)
		snprintf(why, sizeof(why), "its exit status is unknown: SIGCHLD is ignored");
	else
		snprintf(why, sizeof(why),
			 info.si_code == CLD_EXITED ? "exit status %d" : "signal %d",
			 info.si_status);
	finish(run, r < 0 || info.si_status != 0 ? -EPROTO : 0, why);
}

/* ---- start ---- */

static bool have_same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return strncmp(a, b, len + 1) == 0;
}

static bool is_replaced(const char *variable, char *const *by)
{
	for (; by && *by; by++)
		if (have_same_name(variable, *by))
			return true;
	return false;
}

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/*
 * Our environment with env and info in place of variables of the same name. Strings are
 * borrowed.
 */
static char **make_env(char *const *env, char *info)
{
	char **all = calloc(count(environ) + count(env) + 2, sizeof(*all));
	char *const own[] = {info, NULL};
	size_t n = 0;

	if (!all)
		return NULL;
	all[n++] = info;
	for (char *const *v = env; v && *v; v++)
		if (!is_replaced(*v, own))
			all[n++] = *v;
	for (char **v = environ; *v; v++)
		if (!is_replaced(*v, own) && !is_replaced(*v, env))
			all[n++] = *v;
	return all;
}

static char **make_argv(char *command, char *const *args)
{
	size_t n = count(args);
	char **argv = calloc(n + 2, sizeof(*argv));

	if (!argv)
		return NULL;
	argv[0] = command;
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = args[i];
	return argv;
}

/* Starts a program with default signals, in its own process group, with three descriptors. */
static int spawn(pid_t *ret, char **argv, char **env, int out_fd, int err_fd)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	if (posix_spawn_file_actions_init(&files) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	sigemptyset(&none);
	sigfillset(&all);
	/* these fail only for invalid arguments, which ours are not, and for lack of memory */
	r = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	r |= posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
	r |= posix_spawn_file_actions_adddup2(&files, err_fd, STDERR_FILENO);
	r |= posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	r |= posix_spawnattr_setpgroup(&attr, 0);
	r |= posix_spawnattr_setsigmask(&attr, &none);
	r |= posix_spawnattr_setsigdefault(&attr, &all);
	r |= posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						     POSIX_SPAWN_SETSIGDEF);
	r = r ? -ENOMEM : -posix_spawnp(ret, argv[0], &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

static int start_child(struct kube_exec_run *run, const struct kube_exec_request *req)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	AUTO_FREE char **argv = NULL, **env = NULL;
	AUTO_CLOSE int out_write = -1, err_write = -1;
	AUTO_FREE char *info = NULL;
	int r;

	if (asprintf(&info, "KUBERNETES_EXEC_INFO=%s", req->exec_info) < 0) {
		info = NULL;
		return -ENOMEM;
	}
	argv = make_argv(run->command, req->args);
	env = make_env(req->env, info);
	if (!argv || !env)
		return -ENOMEM;
	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	run->out_fd = out[0];
	out_write = out[1];
	if (pipe2(err, O_CLOEXEC) < 0)
		return -errno;
	run->err_fd = err[0];
	err_write = err[1];
	if (fcntl(run->out_fd, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(run->err_fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = spawn(&run->pid, argv, env, out_write, err_write);
	if (r < 0) {
		run->pid = 0;
		return r;
	}
	/* only we reap the child, so the pid cannot have been reused yet */
	run->pid_fd = pidfd_open(run->pid, 0);
	return run->pid_fd < 0 ? -errno : 0;
}

static int watch_child(struct kube_exec_run *run)
{
	struct loop *l = run->loop;
	int r = loop_add_fd(l, run->pid_fd, EPOLLIN, on_exit_of_child, run, &run->on_exit);

	if (r < 0)
		return r;
	r = loop_add_fd(l, run->out_fd, EPOLLIN, on_out, run, &run->on_out);
	if (r < 0)
		return r;
	r = loop_add_fd(l, run->err_fd, EPOLLIN, on_err, run, &run->on_err);
	if (r < 0)
		return r;
	r = loop_add_timer(l, on_timeout, run, &run->on_timeout);
	if (r < 0)
		return r;
	loop_set_timer(run->on_timeout, run->timeout_ns);
	return 0;
}

int kube_exec_start(struct kube_exec_run **ret, struct loop *l, const struct kube_exec_request *req,
		    kube_exec_done_fn done, void *ctx, struct err *err)
{
	CLEANUP(kube_exec_cancelp) struct kube_exec_run *run = NULL;
	int r;

	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	run->loop = l;
	run->timeout_ns = req->timeout_ns;
	run->done = done;
	run->ctx = ctx;
	run->pid_fd = run->out_fd = run->err_fd = -1;
	buf_init(&run->out, KUBE_EXEC_OUTPUT_BYTES);
	run->command = strdup(req->command);
	if (!run->command)
		return -ENOMEM;

	r = start_child(run, req);
	if (r == 0)
		r = watch_child(run);
	if (r < 0)
		return err_set(err, r, "start %s: %s", req->command, strerror(-r));
	*ret = TAKE_PTR(run);
	return 0;
}
