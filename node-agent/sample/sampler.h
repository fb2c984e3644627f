/*
 * Stage 2: CPU samples out of the kernel, and which processes began a new
 * image or ended.
 *
 * Owns the BPF object and one perf event per online CPU. It knows process ids
 * and addresses; names are the business of node-agent/symbol. Records come in
 * the order they were made, from one ring buffer that user space must drain at
 * least every second; what finds no room there is counted, never hidden.
 *
 * All functions are called from the loop thread.
 */
#ifndef NODE_AGENT_SAMPLE_SAMPLER_H
#define NODE_AGENT_SAMPLE_SAMPLER_H

#include <linux/types.h>

#include "common/base.h"
#include "common/err.h"
#include "node-agent/sample/event_parse.h"

#include "bpf/sample_event.h"

struct sampler;

#define SAMPLER_RING_MIN_BYTES ((size_t)256 * 1024)
#define SAMPLER_RING_MAX_BYTES ((size_t)8 * 1024 * 1024)

struct sampler_config {
	unsigned hz; /* ticks per second of each CPU, 1 … 10000 */
	bool kernel_stacks;
	size_t ring_bytes;       /* power of two, multiple of the page size; 0: by hz and CPUs */
	const char *online_path; /* NULL: /sys/devices/system/cpu/online */
};

/* Records are valid during the call. */
struct sampler_handlers {
	void (*on_sample)(void *ctx, const struct sample_event *e);
	void (*on_exec)(void *ctx, const struct event_header *e);
	void (*on_exit)(void *ctx, const struct event_header *e);
	void *ctx;
};

/* Totals since sampler_new(). */
struct sampler_stats {
	struct sampler_counters kernel; /* summed over CPUs */
	uint64_t bad_records;           /* from the ring; 0 unless there is a bug */
	uint64_t run_time_ns; /* of the sample program; 0 unless kernel.bpf_stats_enabled */
	uint64_t run_count;   /* likewise */
	uint64_t map_bytes;   /* kernel memory of all our maps */
	unsigned n_cpus;      /* sampled now */
};

/*
 * Load and attach. -EPERM, -EACCES: err names the missing capability or
 * setting; -ENOENT, -ESRCH, -ENOTSUP …: the kernel lacks something, err says what; -ENOMEM;
 * -EINVAL: hz out of range.
 */
int sampler_new(struct sampler **ret, const struct sampler_config *cfg, struct err *err) MUST_CHECK;

/* Detach and free. NULL is allowed. */
void sampler_free(struct sampler *s);
DEFINE_CLEANUP(struct sampler *, sampler_free);

/*
 * Readable (EPOLLIN) when the kernel thinks that it is time to drain: the ring
 * is half full, or a process not seen before was sampled.
 */
int sampler_fd(const struct sampler *s);

/* Number of records handed over, or -errno. */
int sampler_drain(struct sampler *s, const struct sampler_handlers *h) MUST_CHECK;

/*
 * Follow CPUs that came or went; call it every few seconds. Number of changes,
 * or -errno with err set, and what could be attached stays attached.
 */
int sampler_update_cpus(struct sampler *s, struct err *err) MUST_CHECK;

/*
 * The descriptor of the BPF map with this name in bpf/sampler.bpf.c or a header that it includes, or
 * -ENOENT. Owned by the sampler and valid as long as it is; may be used on any thread. It is how a stage
 * fills a map that the walk reads, as bpf/user_walk.bpf.h describes.
 */
int sampler_map_fd(const struct sampler *s, const char *name) MUST_CHECK;

int sampler_read_stats(struct sampler *s, struct sampler_stats *ret) MUST_CHECK;

/* Bytes of the ring for a node: two seconds of deep stacks on all CPUs, within the limits. Pure. */
size_t sampler_ring_bytes(unsigned hz, unsigned n_cpus);

#endif /* NODE_AGENT_SAMPLE_SAMPLER_H */
