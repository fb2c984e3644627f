/*
 * What one interval collects: stacks and how often each was seen, by process,
 * and what was lost on the way.
 *
 * Filled on the loop thread, then handed to the worker as a whole; one thread
 * has it at a time. Holds a reference to every snapshot in it. At its limits it
 * counts a loss and goes on.
 */
#ifndef NODE_AGENT_SAMPLE_CYCLE_H
#define NODE_AGENT_SAMPLE_CYCLE_H

#include "common/base.h"
#include "node-agent/process/process_table.h"
#include "node-agent/sample/sampler.h"

struct cycle;

struct cycle_config {
	uint32_t max_stacks; /* distinct ones */
	size_t max_bytes;    /* of stacks and processes; the index takes 16 to 32 more per stack */
};

/* Why a sample is not in the cycle; the names go into profiles and metrics. */
enum cycle_lost {
	CYCLE_LOST_RING_FULL,   /* in the kernel: user space was too slow */
	CYCLE_LOST_NO_TASK,     /* in the kernel: process unreadable */
	CYCLE_LOST_BAD_RECORD,  /* not as the kernel part makes them */
	CYCLE_LOST_STACKS_FULL, /* max_stacks */
	CYCLE_LOST_BYTES_FULL,  /* max_bytes */
	CYCLE_LOST_NO_MEMORY,
	CYCLE_LOST_WORKER_BUSY, /* a whole cycle before this one: the worker did not keep up */
	CYCLE_LOST_MAX,
};

struct cycle_losses {
	uint64_t n[CYCLE_LOST_MAX];
};

/* Addresses leaf first: n_kernel, then n_user. */
struct cycle_stack {
	struct cycle_stack *next; /* of the same process */
	struct cycle_process *process;
	uint64_t hash;
	uint64_t n_samples;
	uint16_t n_kernel;
	uint16_t n_user;
	uint8_t end;                                   /* enum walk_end */
	uint8_t flags;                                 /* enum sample_flag */
	uint16_t stack_switch[SAMPLER_STACK_SWITCHES]; /* as in struct sample_event */
	uint64_t addrs[];
};

struct cycle_process {
	struct process_snapshot *snapshot;
	struct cycle_stack *stacks; /* newest first */
	uint32_t n_stacks;
	uint64_t n_samples;
};

/* -ENOMEM is the only failure. */
int cycle_new(struct cycle **ret, const struct cycle_config *cfg) MUST_CHECK;
void cycle_free(struct cycle *c);
DEFINE_CLEANUP(struct cycle *, cycle_free);

/* Copies what it needs. 0, or -EFBIG or -ENOMEM: not added, and counted as lost. */
int cycle_add_sample(struct cycle *c, struct process_snapshot *snapshot,
		     const struct sample_event *e);

void cycle_add_lost(struct cycle *c, enum cycle_lost why, uint64_t n);
uint64_t cycle_lost(const struct cycle *c, enum cycle_lost why);
const struct cycle_losses *cycle_losses(const struct cycle *c);
/* dropped is given up: its samples, and what it had lost, are losses of c. */
void cycle_add_dropped(struct cycle *c, const struct cycle *dropped);
/* "ring_full" … */
const char *cycle_lost_name(enum cycle_lost why);

uint64_t cycle_n_samples(const struct cycle *c);
uint32_t cycle_n_stacks(const struct cycle *c);

/* Sorted by workload, pid and start time. Borrowed until the next cycle_add_sample(). */
struct cycle_process *const *cycle_processes(struct cycle *c, size_t *ret_n);

#endif /* NODE_AGENT_SAMPLE_CYCLE_H */
