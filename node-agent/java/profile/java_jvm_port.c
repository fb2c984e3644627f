#include "node-agent/java/profile/java_jvm_port.h"

#include <errno.h>

#include "node-agent/java/attach/agent_warning.h"
#include "node-agent/java/attach/place_sweep.h"
#include "node-agent/java/profile/java_check.h"
#include "node-agent/procfs/procfs.h"

/* The first release whose attach listener opens its socket again if that was removed. */
#define SOCKET_REOPENED_SINCE 14u

static int require_target(struct java_jvm_port *p, struct jvm_failure *why)
{
	int r = 0;

	if (!p->has_target)
		r = jvm_target_open(&p->target, p->proc_root_fd, p->id->pid, p->id->start_time,
				    why);
	p->has_target = r == 0;
	return r;
}

static void close_place(void *ctx)
{
	struct java_jvm_port *p = ctx;

	if (p->has_place)
		jvm_place_close(&p->place);
	p->has_place = false;
}

void java_jvm_port_fini(struct java_jvm_port *p)
{
	close_place(p);
	if (p->has_target)
		jvm_target_close(&p->target);
	p->has_target = false;
}

static int check(void *ctx, struct jvm_failure *why)
{
	struct java_jvm_port *p = ctx;
	struct jvm_flags flags = {0};
	int r = java_check(p->opened, &flags, why);

	*p->reopens_socket = flags.feature >= SOCKET_REOPENED_SINCE;

	if (r < 0)
		return r;
	if (!p->library) {
		why->state = JAVA_STATE_NO_LIBRARY;
		return err_set(&why->err, -ENOENT, "libasyncProfiler.so is missing");
	}
	if (!flags.agent_loading_warns)
		return 0;
	r = require_target(p, why);
	return r == 0 ? agent_warning_prevent(p->opened, &p->target, &flags, why) : r;
}

static int check_profilers(void *ctx, struct jvm_failure *why)
{
	const struct java_jvm_port *p = ctx;

	return java_check_profilers(p->opened, why);
}

static int find(void *ctx, struct jvm_failure *why)
{
	struct java_jvm_port *p = ctx;
	int r = require_target(p, why);

	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	close_place(p);
	if (!p->library)
		return -ENOENT;
	r = jvm_place_find(&p->place, &p->target, p->library, why);
	p->has_place = r == 0;
	return r;
}

static int prepare(void *ctx, unsigned skip, struct jvm_failure *why)
{
	struct java_jvm_port *p = ctx;
	int r = require_target(p, why);

	if (r < 0)
		return r;
	close_place(p);
	r = jvm_place_prepare(&p->place, &p->target, p->library, skip, why);
	p->has_place = r == 0;
	if (p->has_place)
		place_sweep(&p->place, &p->target);
	return r;
}

static const char *dir(void *ctx)
{
	const struct java_jvm_port *p = ctx;

	return p->place.dir;
}

static enum jvm_place_kind kind(void *ctx)
{
	const struct java_jvm_port *p = ctx;

	return p->place.kind;
}

/* The same process: the one that is open is checked again before it is left. */
static int may_signal(void *ctx, const struct jvm_target *t, struct jvm_failure *why)
{
	struct java_jvm_port *p = ctx;

	(void)t;
	return java_check_signal(p->opened, why);
}

static bool cancelled(void *ctx)
{
	const struct java_jvm_port *p = ctx;

	return p->must_end && p->must_end(p->must_end_ctx);
}

/*
 * An earlier agent may have loaded another release of the library, and only that one can end its
 * recording. It cannot be compared to ours, and need not be: whoever may replace it can load
 * whatever he likes into the JVM himself.
 */
static bool is_other_release(const struct java_jvm_port *p)
{
	const char *name = strrchr(p->place.library, '/');

	return name && strcmp(name + 1, p->library->name) != 0;
}

/* Restores the library if somebody has removed or changed it. */
static int require_library(struct java_jvm_port *p, struct jvm_failure *why)
{
	int r;

	if (is_other_release(p))
		return 0;
	r = jvm_place_check(&p->place, why);
	if (r != -ESTALE)
		return r;
	r = prepare(p, 0, why);
	return r == 0 ? jvm_place_check(&p->place, why) : r;
}

static int command(void *ctx, const char *options, struct attach_answer *ret,
		   struct jvm_failure *why)
{
	struct java_jvm_port *p = ctx;
	const struct jvm_attach_limits limits = {
		.must_run = p->must_run,
		.listen_ns = p->listen_ns,
		.answer_ns = p->answer_ns,
		.cancelled = cancelled,
		.may_signal = may_signal,
		.reopens_socket = *p->reopens_socket,
		.ctx = p,
	};
	int r = require_library(p, why);

	if (r == 0)
		r = jvm_attach_listen(p->attach, &p->target, &limits, why);
	if (r < 0)
		return r;
	return jvm_attach_load(&p->target, p->place.library, options, &limits, ret, why);
}

static int each_file(void *ctx, int (*fn)(void *fn_ctx, const char *name, uint64_t size),
		     void *fn_ctx)
{
	const struct java_jvm_port *p = ctx;

	return jvm_place_each_file(&p->place, fn, fn_ctx);
}

static int open_file(void *ctx, const char *name)
{
	const struct java_jvm_port *p = ctx;

	return jvm_place_open_file(&p->place, name);
}

static int rename_file(void *ctx, const char *from, const char *to)
{
	const struct java_jvm_port *p = ctx;

	return jvm_place_rename(&p->place, from, to);
}

static int unlink_file(void *ctx, const char *name)
{
	const struct java_jvm_port *p = ctx;

	return jvm_place_unlink(&p->place, name);
}

static int remove_place(void *ctx)
{
	struct java_jvm_port *p = ctx;

	p->has_place = false;
	return jvm_place_remove(&p->place);
}

static bool is_alive(void *ctx, pid_t pid, uint64_t start_time)
{
	const struct java_jvm_port *p = ctx;
	AUTO_CLOSE int fd = procfs_open_process(p->proc_root_fd, pid);
	struct proc_stat st;

	return fd >= 0 && procfs_read_stat(fd, &st) == 0 && st.start_time == start_time &&
	       !st.ended;
}

const struct java_port_ops java_jvm_port_ops = {
	.check = check,
	.check_profilers = check_profilers,
	.find = find,
	.prepare = prepare,
	.dir = dir,
	.kind = kind,
	.command = command,
	.each_file = each_file,
	.open_file = open_file,
	.rename_file = rename_file,
	.unlink_file = unlink_file,
	.remove = remove_place,
	.close = close_place,
	.is_alive = is_alive,
};
