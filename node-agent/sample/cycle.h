/*
 * What one interval collects: distinct stacks per process, how often each was sampled, and the
 * samples that were lost.
 *
 * Filled on the loop thread, then handed to the worker as a whole; never used by two threads
 * at the same time. Holds a reference to every snapshot in it. Beyond its limits it counts
 * samples as lost.
 *
 * Stacks are packed, because beside many short-lived programs they are most of the agent's memory.
 */
#ifndef NODE_AGENT_SAMPLE_CYCLE_H
#define NODE_AGENT_SAMPLE_CYCLE_H

#include "common/base.h"
#include "common/pprof/pprof_writer.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/process/process_snapshot.h"
#include "node-agent/sample/sampler.h"

struct cycle;

struct cycle_config {
	uint32_t max_stacks; /* distinct ones */
	size_t max_bytes; /* of stacks and processes; finding them takes 19 to 38 more per stack */
};

/* Why a sample is not in the cycle; the names go into profiles and metrics. */
enum cycle_lost {
	CYCLE_LOST_RING_FULL,   /* in the kernel: user space was too slow */
	CYCLE_LOST_NO_TASK,     /* in the kernel: the task could not be read */
	CYCLE_LOST_BAD_RECORD,  /* malformed; the BPF program never sends such a record */
	CYCLE_LOST_STACKS_FULL, /* max_stacks reached */
	CYCLE_LOST_BYTES_FULL,  /* max_bytes reached */
	CYCLE_LOST_NO_MEMORY,
	CYCLE_LOST_WORKER_BUSY, /* a whole earlier cycle, dropped because the worker was behind */
	CYCLE_LOST_MAX,
};

struct cycle_losses {
	uint64_t n[CYCLE_LOST_MAX];
};

/* Its words are packed: see cycle_stack_unpack(). */
struct cycle_stack {
	struct cycle_stack *next; /* of the same process */
	struct cycle_process *process;
	uint64_t n_samples;
	uint16_t n_kernel;
	uint16_t n_user;
	uint16_t n_chain;
	uint16_t n_walked;
	uint32_t chain_state;
	uint16_t root_at;                              /* as in struct sample_event */
	uint16_t stack_switch[SAMPLER_STACK_SWITCHES]; /* as in struct sample_event */
	uint16_t packed_bytes;
	uint8_t end;   /* enum walk_end */
	uint8_t flags; /* enum sample_flag */
	uint8_t packed[];
};

/*
 * Whether the walk knew each of its steps: it had the mapping of each address, by the kernel's own
 * tree if nothing else, as those of libraries of a process that exits before it is read.
 */
static inline bool cycle_stack_is_exact(const struct cycle_stack *s)
{
	return s->flags & SAMPLE_BY_TABLES && !(s->flags & SAMPLE_GUESSED) &&
	       s->end == WALK_END_BOTTOM;
}

struct cycle_process {
	struct process_snapshot *snapshot;
	/*
	 * Of any snapshot of the process in the cycle: the first ones may be older than its code.
	 * Set by cycle_processes(), borrowed; NULL: none.
	 */
	struct jit_files *jit_files;
	struct cycle_stack *stacks; /* newest first */
	uint32_t n_stacks;
	uint64_t n_samples;
	uint64_t cost_ns; /* CPU time that its samples cost in the kernel */
};

/* -ENOMEM is the only failure. */
int cycle_new(struct cycle **ret, const struct cycle_config *cfg) MUST_CHECK;
void cycle_free(struct cycle *c);
DEFINE_CLEANUP(struct cycle *, cycle_free);

/*
 * Counts one sample of this process. Copies from e and takes a reference to snapshot if
 * needed. Returns 0, or -EFBIG or -ENOMEM after counting the sample as lost.
 */
int cycle_add_sample(struct cycle *c, struct process_snapshot *snapshot,
		     const struct sample_event *e);

void cycle_add_lost(struct cycle *c, enum cycle_lost why, uint64_t n);
uint64_t cycle_lost(const struct cycle *c, enum cycle_lost why);
const struct cycle_losses *cycle_losses(const struct cycle *c);
/* Counts everything in dropped, samples and losses, as lost in c. */
void cycle_add_dropped(struct cycle *c, const struct cycle *dropped);
/* The name in metrics: "ring_full" … */
const char *cycle_lost_name(enum cycle_lost why);

/* What a stack consists of. */
struct cycle_stack_words {
	struct interpreter_frame frames[CHAIN_ENTRIES]; /* n_chain */
	uint32_t indexes[CHAIN_ENTRIES];   /* index of each entry; see struct chain_entry */
	uint64_t addrs[SAMPLER_MAX_ADDRS]; /* leaf first: n_kernel, then n_user */
	uint64_t words[3 * CHAIN_ENTRIES + SAMPLER_MAX_ADDRS]; /* room */
};
void cycle_stack_unpack(const struct cycle_stack *s, struct cycle_stack_words *ret);

uint64_t cycle_n_samples(const struct cycle *c);
uint32_t cycle_n_stacks(const struct cycle *c);

/* Frees what finds equal stacks: no sample will be added any more. */
void cycle_seal(struct cycle *c);

/* Sorted by workload, pid and start time. Borrowed until the next cycle_add_sample(). */
struct cycle_process *const *cycle_processes(struct cycle *c, size_t *ret_n);

/*
 * The addresses of a stack in a third of their bytes: each as the difference to the one before it,
 * zigzag-encoded as a varint (protobuf.dev/programming-guides/encoding). Frames that follow each
 * other are mostly in the same file, some three bytes apart. Equal stacks are equal bytes. Pure.
 */

#define PACKED_ADDRS_MAX_BYTES(n) ((n) * (size_t)PPROF_PACKED_MAX_BYTES)

/* to has room for PACKED_ADDRS_MAX_BYTES(n). Returns how many bytes they take. */
size_t packed_addrs_pack(const uint64_t *addrs, size_t n, uint8_t *to);

/* Returns how many addresses these bytes are, or -EBADMSG if they are none, or more than max. */
ssize_t packed_addrs_unpack(const uint8_t *packed, size_t len, uint64_t *to, size_t max) MUST_CHECK;

#endif /* NODE_AGENT_SAMPLE_CYCLE_H */
