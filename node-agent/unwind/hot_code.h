/*
 * Which parts of a file's deferred code (struct cfi_deferred) samples come to: those that most came
 * to are analysed first. Pure.
 */
#ifndef NODE_AGENT_UNWIND_HOT_CODE_H
#define NODE_AGENT_UNWIND_HOT_CODE_H

#include "common/base.h"
#include "node-agent/unwind/cfi/cfi_table.h"

/* Samples of one part before it is analysed: of an address that comes once, little is gained. */
#define HOT_CODE_SAMPLES 2u
/* Parts of a file that are analysed: 64 MiB of code, in some eight seconds. */
#define HOT_CODE_PARTS_MAX 256u

struct hot_code;

/* Returns 0 or -ENOMEM. */
int hot_code_new(struct hot_code **ret, const struct cfi_extent *extent,
		 const struct cfi_deferred *deferred) MUST_CHECK;
void hot_code_free(struct hot_code *h);
DEFINE_CLEANUP(struct hot_code *, hot_code_free);

/* A sample came to this address of the file. */
void hot_code_note(struct hot_code *h, uint64_t vaddr);

/* How many samples came to the part that is to be analysed next; 0: there is none. */
unsigned hot_code_samples(const struct hot_code *h);

/* Takes that part: it is not deferred any more. Returns -ENOENT if there is none. */
int hot_code_take(struct hot_code *h, struct cfi_extent *ret) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_HOT_CODE_H */
