/*
 * What BPF has read of code objects when they were sampled for the first time: the newest of all
 * processes. Names are read from it as from the memory of the process, of which it is an excerpt.
 */
#ifndef NODE_AGENT_INTERPRETER_PROCESS_KEPT_CODES_H
#define NODE_AGENT_INTERPRETER_PROCESS_KEPT_CODES_H

#include <linux/types.h>

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"

#include "bpf/frame_chain.h"

struct kept_codes;

/* Returns 0 or -ENOMEM. It takes 300 KiB as soon as there is a code object. */
int kept_codes_new(struct kept_codes **ret) MUST_CHECK;
void kept_codes_free(struct kept_codes *k);
DEFINE_CLEANUP(struct kept_codes *, kept_codes_free);

/* Forgets the oldest one, or this one if there is no memory. */
void kept_codes_add(struct kept_codes *k, const struct code_event *e);

/* Copies the newest one of this process and frame. Returns whether there is one. */
bool kept_codes_find(const struct kept_codes *k, uint32_t pid, const struct interpreter_frame *f,
		     struct code_event *ret);

struct kept_memory {
	struct code_event code;
	const struct interpreter_memory *below; /* of the process; NULL: it cannot be read */
	int error;                              /* and why */
};

/*
 * As interpreter_memory.read, with a struct kept_memory. What begins in a piece and ends behind it
 * is read from the process, and -ESTALE if that has something else now.
 */
int kept_memory_read(void *ctx, uint64_t at, void *to, size_t n);

#endif /* NODE_AGENT_INTERPRETER_PROCESS_KEPT_CODES_H */
