/*
 * CAP_SYS_ADMIN stands for nearly everything and is needed for two things: entering the host's UTS
 * and cgroup namespaces at the start, and whatever newer kernels have a capability of its own for.
 * So it goes as soon as the namespaces are entered, unless one of these capabilities is missing (a
 * container runtime that does not know them) or the kernel asks for it all the same, as those of
 * some distributions do for perf events. That is tried, with an event like the sampler's.
 *
 * The rest stays: CPUs come and go, and each needs a perf event; bpf(2) asks for CAP_BPF at every
 * call on many kernels; and processes are read as long as the agent runs.
 */
#include "node-agent/node_privileges.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/kubernetes/kube_config_load.h"
#include "common/privilege/capabilities.h"
#include "common/privilege/syscall_filter.h"
#include "common/telemetry/log.h"

#define ADMIN CAPABILITY(CAP_SYS_ADMIN)
/* the second shrinks the bounding set, once ADMIN goes */
#define START (ADMIN | CAPABILITY(CAP_SETPCAP))
#define SAMPLING (CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON))

/* Whether some option has the agent write to Go processes. */
static bool writes_to_processes(const struct node_options *o)
{
	return o->go_heap_profiler == GO_HEAP_FORCE || o->go_mutex_profiler != GO_MUTEX_OFF ||
	       o->go_block_profiler != GO_BLOCK_OFF;
}

static bool loads_into_jvms(const struct node_options *o)
{
	return o->java_async_profiler;
}

static const struct {
	uint64_t one_of; /* the first is named if none is held */
	unsigned named;
	const char *without;
	bool (*matters)(const struct node_options *o); /* NULL: always */
} needs[] = {
	/* without these the start fails, and privileges.h names them */
	{SAMPLING, 0, NULL, NULL},
	{CAPABILITY(CAP_SYS_PTRACE), CAP_SYS_PTRACE,
	 "processes of other users have no symbols and no Go profiles", NULL},
	{CAPABILITY(CAP_CHECKPOINT_RESTORE) | ADMIN, CAP_CHECKPOINT_RESTORE,
	 "executables that were deleted or replaced have no symbols", NULL},
	/* without it some kernels have names all the same: kernel_symbols.c warns if not */
	{CAPABILITY(CAP_SYSLOG), CAP_SYSLOG, NULL, NULL},
	{CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_DAC_OVERRIDE), CAP_DAC_READ_SEARCH,
	 "executables that only their user may read have no symbols, and processes of other users "
	 "no Go profiles",
	 NULL},
	/* sockets of rootless container runtimes need it, too, which most nodes do not have */
	{CAPABILITY(CAP_DAC_OVERRIDE), CAP_DAC_OVERRIDE,
	 "profilers of Go processes of other users cannot be switched on", writes_to_processes},
	{CAPABILITY(CAP_SETUID), CAP_SETUID, "no Java profiles of JVMs of other users",
	 loads_into_jvms},
	{CAPABILITY(CAP_SETGID), CAP_SETGID, "no Java profiles of JVMs of other groups",
	 loads_into_jvms},
};

static uint64_t all_needs(const struct node_options *o)
{
	uint64_t all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		/* whoever has these is nearly root, so they go unless they are asked for */
		if (needs[i].matters != loads_into_jvms || loads_into_jvms(o))
			all |= needs[i].one_of;
	}
	return all;
}

static void warn_of_missing(const struct node_options *o, uint64_t held)
{
	char text[512] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!needs[i].without || (held & needs[i].one_of) || len >= sizeof(text))
			continue;
		if (needs[i].matters && !needs[i].matters(o))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s: %s",
					len > 0 ? "; " : "", capability_name(needs[i].named),
					needs[i].without);
	}
	if (len > 0)
		log_warn("the agent lacks capabilities and does without", "missing=\"%s\"", text);
}

/* Before 5.11, memory of BPF maps counts as locked memory. */
static void raise_locked_memory(void)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	(void)setrlimit(RLIMIT_MEMLOCK, &all); /* the load fails without it, and says so */
}

static int keep(uint64_t set, struct err *err)
{
	int r = capabilities_keep(set);

	return r < 0 ? err_set(err, r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}

int node_privileges_drop(const struct node_options *o, struct err *err)
{
	uint64_t held = capabilities_held();

	if (held & CAPABILITY(CAP_SYS_RESOURCE))
		raise_locked_memory();
	warn_of_missing(o, held);
	return keep(all_needs(o) | START | capabilities_to_listen(o->listen), err);
}

/* With an event like those of sampler.c. Any other error would be the same with all rights. */
static bool can_open_perf_event(const void *arg)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = 1,
	};
	AUTO_CLOSE int fd = (int)syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), -1,
					 PERF_FLAG_FD_CLOEXEC);

	(void)arg;
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

/* Why CAP_SYS_ADMIN is kept, or NULL if it is not needed, or not there. */
static const char *reason_for_admin(uint64_t held)
{
	const uint64_t instead = SAMPLING | CAPABILITY(CAP_CHECKPOINT_RESTORE);

	if (!(held & ADMIN))
		return NULL;
	if ((held & instead) != instead)
		return "one of CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE is missing";
	if (!capabilities_try_without(ADMIN, can_open_perf_event, NULL))
		return "this kernel wants it for perf events, as kernel.perf_event_paranoid is "
		       "above 2";
	return NULL;
}

int node_privileges_drop_start(struct err *err)
{
	uint64_t held = capabilities_held();
	const char *reason = reason_for_admin(held);
	char text[256];
	int r = keep(held & ~(reason ? CAPABILITY(CAP_SETPCAP) : START), err);

	log_info("gave up capabilities", "kept=\"%s\"%s%s%s",
		 capabilities_text(capabilities_held(), text, sizeof(text)),
		 reason ? " cap_sys_admin=\"" : "", reason ?: "", reason ? "\"" : "");
	return r;
}

/* ---- system calls ---- */

/* Those from JAVA_CALLS on only with --enable-java-async-profiler. */
#define JAVA_CALLS 1
static const struct syscall_group own_calls[] = {
	{"sampling", SYSCALLS("bpf", "perf_event_open")},
	{"acting as the user of a JVM", SYSCALLS("setresuid", "setresgid", "capset")},
	{0},
};

/* Programs are made at the start; maps also when unwinding tables need more memory. */
static const uint64_t bpf_commands[] = {
	BPF_MAP_CREATE,       BPF_MAP_LOOKUP_ELEM,    BPF_MAP_UPDATE_ELEM,  BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY, BPF_OBJ_GET_INFO_BY_FD, BPF_MAP_LOOKUP_BATCH, BPF_MAP_UPDATE_BATCH,
	BPF_MAP_DELETE_BATCH, BPF_LINK_CREATE,        BPF_LINK_DETACH,
};

/* -1 leaves an id as it is. */
static const uint64_t real_ids[] = {UINT32_MAX};

#define JAVA_LIMITS 1
static const struct syscall_limit own_limits[] = {
	{.name = "bpf",
	 .check = SYSCALL_IS_ONE_OF,
	 .one_of = bpf_commands,
	 .n_one_of = ARRAY_SIZE(bpf_commands),
	 .reason = "no new BPF programs after the start"},
	{.name = "setresuid",
	 .check = SYSCALL_IS_ONE_OF,
	 .one_of = real_ids,
	 .n_one_of = ARRAY_SIZE(real_ids),
	 .reason = "the agent may act as another user, but not become one"},
	{.name = "setresgid",
	 .check = SYSCALL_IS_ONE_OF,
	 .one_of = real_ids,
	 .n_one_of = ARRAY_SIZE(real_ids),
	 .reason = "the same for groups"},
	{0},
};

int node_privileges_filter(const struct node_options *o, struct err *err)
{
	const char *context = o->kube_context && o->kube_context[0] ? o->kube_context : NULL;
	struct syscall_group calls[ARRAY_SIZE(own_calls)];
	struct syscall_limit limits[ARRAY_SIZE(own_limits)];
	const struct syscall_filter_config cfg = {
		.mode = o->seccomp,
		.own = calls,
		.own_limits = limits,
		.starts_programs = o->kubeconfig && o->kubeconfig[0] &&
				   kube_config_file_starts_program(o->kubeconfig, context),
	};

	memcpy(calls, own_calls, sizeof(calls));
	memcpy(limits, own_limits, sizeof(limits));
	if (!o->java_async_profiler) {
		calls[JAVA_CALLS] = (struct syscall_group){0};
		limits[JAVA_LIMITS] = (struct syscall_limit){0};
	}
	return syscall_filter_install(&cfg, err);
}
