/*
 * Stage 2: CPU samples from the kernel, and the fork, exec and exit events of processes.
 *
 * Owns the BPF object and one perf event per online CPU. It deals in process ids and
 * addresses; names are added by node-agent/symbol. Records arrive in the order in which they
 * were made, through one ring buffer that must be drained at least every second; records that
 * do not fit are counted.
 *
 * All functions are called on the loop thread.
 */
#ifndef NODE_AGENT_SAMPLE_SAMPLER_H
#define NODE_AGENT_SAMPLE_SAMPLER_H

#include <linux/types.h>

#include "common/base.h"
#include "common/err.h"
#include "node-agent/sample/event_parse.h"

#include "bpf/sample_event.h"

struct cgroup_hierarchy;
struct sampler;

#define SAMPLER_RING_MIN_BYTES ((size_t)256 * 1024)
#define SAMPLER_RING_MAX_BYTES ((size_t)8 * 1024 * 1024)

struct sampler_config {
	unsigned hz; /* ticks per second of each CPU, 1 … 10000 */
	bool kernel_stacks;
	bool allow_known_bad_kernel;  /* known_kernels.h */
	enum sampler_cgroups cgroups; /* the hierarchy of cgroup ids */
	size_t ring_bytes; /* power of two, multiple of the page size; 0: chosen by hz and CPUs */
	const char *online_path; /* NULL: /sys/devices/system/cpu/online */
};

/* The hierarchy whose ids h knows. */
enum sampler_cgroups sampler_cgroups_of(const struct cgroup_hierarchy *h);

/* The records are valid during the call only. */
struct sampler_handlers {
	void (*on_sample)(void *ctx, const struct sample_event *e);
	void (*on_fork)(void *ctx, const struct fork_event *e);
	void (*on_exec)(void *ctx, const struct exec_event *e);
	void (*on_exit)(void *ctx, const struct event_header *e);
	void (*on_map)(void *ctx, const struct map_event *e);
	void (*on_code)(void *ctx, const struct code_event *e); /* NULL: not wanted */
	void *ctx;
};

/* Totals since sampler_new(). */
struct sampler_stats {
	struct sampler_counters kernel; /* summed over CPUs */
	uint64_t bad_records;           /* from the ring; 0 unless there is a bug */
	uint64_t run_time_ns; /* of the sample program; 0 unless kernel.bpf_stats_enabled */
	uint64_t run_count;   /* likewise */
	uint64_t map_bytes;   /* kernel memory of all our maps */
	unsigned n_cpus;      /* currently sampled */
};

/*
 * Loads the BPF programs and attaches them. Returns 0, or with err set: -EPERM or -EACCES if a
 * capability or setting is missing, which err names; -EINVAL if hz is out of range; another
 * -errno if the kernel lacks something, which err names. -ENOMEM leaves err unset.
 */
int sampler_new(struct sampler **ret, const struct sampler_config *cfg, struct err *err) MUST_CHECK;

/* Detaches and frees. NULL is allowed. */
void sampler_free(struct sampler *s);
DEFINE_CLEANUP(struct sampler *, sampler_free);

/*
 * Becomes readable (EPOLLIN) when the ring should be drained: it is half full, or a process
 * was sampled for the first time and should be read before it exits.
 */
int sampler_fd(const struct sampler *s);

/* Calls the handlers for pending records. Returns the number of records or -errno. */
int sampler_drain(struct sampler *s, const struct sampler_handlers *h) MUST_CHECK;

/*
 * Attaches to CPUs that came online and detaches from those that went offline; call it every
 * few seconds. Returns the number of changes, or -errno with err set, in which case the other
 * CPUs stay attached.
 */
int sampler_update_cpus(struct sampler *s, struct err *err) MUST_CHECK;

/*
 * The descriptor of the BPF map with this name in bpf/sampler.bpf.c or a header that it
 * includes, or -ENOENT. Owned by the sampler and valid as long as it is; may be used on any
 * thread. It is how a stage fills a map that the walk reads, as bpf/user_walk.bpf.h describes.
 */
int sampler_map_fd(const struct sampler *s, const char *name) MUST_CHECK;

/* The maps of unwinding tables, as an initializer of struct unwind_map_fds. */
#define SAMPLER_UNWIND_MAPS(s)                                      \
	{                                                           \
		.slabs = sampler_map_fd(s, "unwind_slabs"),         \
		.tables = sampler_map_fd(s, "unwind_tables"),       \
		.used = sampler_map_fd(s, "unwind_used"),           \
		.processes = sampler_map_fd(s, "unwind_processes"), \
		.files = sampler_map_fd(s, "unwind_files"),         \
	}

/*
 * Samples of tasks in the cgroup with this id are no longer taken, or taken again. Takes effect
 * at once, but samples that were taken before may still arrive. Returns 0, -E2BIG if
 * SAMPLER_EXCLUDE_MAX cgroups are excluded already, or -errno.
 */
int sampler_exclude_cgroup(struct sampler *s, uint64_t id) MUST_CHECK;
void sampler_include_cgroup(struct sampler *s, uint64_t id);

/* The same for one process, until it executes another program. */
int sampler_exclude_process(struct sampler *s, const struct sampler_process *p) MUST_CHECK;
void sampler_include_process(struct sampler *s, const struct sampler_process *p);

int sampler_read_stats(struct sampler *s, struct sampler_stats *ret) MUST_CHECK;

/* The size of the ring: two seconds of deep stacks on all CPUs, within the limits above. Pure. */
size_t sampler_ring_bytes(unsigned hz, unsigned n_cpus);

#endif /* NODE_AGENT_SAMPLE_SAMPLER_H */
