#include "node-agent/java/profile/java_check.h"

#include <errno.h>

#include "node-agent/java/attach/jvm_place.h"
#include "node-agent/java/vm/foreign_profiler.h"
#include "node-agent/java/vm/jvm_readiness.h"

static int refuse(struct jvm_failure *why, enum java_state state, const char *text)
{
	why->state = state;
	return err_set(&why->err, -EPERM, "%s", text);
}

int java_check_flags(const struct jvm_flags *f, struct jvm_failure *why)
{
	if (jvm_flags_get(f, JVM_FLAG_DISABLE_ATTACH_MECHANISM, false))
		return refuse(why, JAVA_STATE_ATTACH_DISABLED, "-XX:+DisableAttachMechanism");
	if (!jvm_flags_get(f, JVM_FLAG_ENABLE_DYNAMIC_AGENT_LOADING, true))
		return refuse(why, JAVA_STATE_LOADING_DISABLED, "-XX:-EnableDynamicAgentLoading");
	if (jvm_flags_get(f, JVM_FLAG_REDUCE_SIGNAL_USAGE, false))
		return refuse(why, JAVA_STATE_SIGNALS_REDUCED, "-Xrs");
	return 0;
}

int java_check_signal(struct jvm_opened *o, struct jvm_failure *why)
{
	struct hsperfdata perf;
	bool is_initialized = jvm_opened_perf(o, &perf) == 0 && perf.is_initialized;
	int ready = jvm_readiness_check(o->target.proc_fd, is_initialized);

	switch (ready) {
	case JVM_READY:
		return 0;
	case JVM_STARTING:
		return -EAGAIN;
	case JVM_EXITING:
		return -ESRCH;
	case JVM_SIGNAL_BLOCKED:
		return refuse(why, JAVA_STATE_UNRESPONSIVE, "all its threads block SIGQUIT");
	case JVM_STOPPED:
		why->state = JAVA_STATE_UNRESPONSIVE;
		return err_set(&why->err, -EAGAIN, "the process is stopped");
	default:
		why->state = JAVA_STATE_FAILED;
		return err_set(&why->err, ready, "read its signals: %s", strerror(-ready));
	}
}

bool java_check_is_ours(const char *path, size_t len)
{
	return memmem(path, len, "/" JVM_PLACE_PREFIX, strlen("/" JVM_PLACE_PREFIX)) != NULL;
}

int java_check_profilers(const struct jvm_opened *o, struct jvm_failure *why)
{
	const char *name = "";
	int r = foreign_profiler_find(o->target.proc_fd, java_check_is_ours, &name);

	if (r <= 0)
		return r;
	why->state = JAVA_STATE_FOREIGN_PROFILER;
	return err_set(&why->err, -EPERM, "%s is loaded", name);
}

int java_check(struct jvm_opened *o, struct jvm_flags *flags, struct jvm_failure *why)
{
	int r;

	if (o->kind == JVM_OPENJ9)
		return refuse(why, JAVA_STATE_OPENJ9, "OpenJ9");
	r = jvm_opened_flags(o, flags);
	if (r == -ENOENT || r == -EBADMSG || r == -EFBIG || r == -ENOTSUP) {
		why->state = JAVA_STATE_UNSUPPORTED;
		return err_set(&why->err, -ENOTSUP, "its flags cannot be read: %s", strerror(-r));
	}
	if (r < 0)
		return r;
	r = java_check_flags(flags, why);
	if (r < 0)
		return r;
	r = java_check_signal(o, why);
	if (r < 0)
		return r;
	return java_check_profilers(o, why);
}
