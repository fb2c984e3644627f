/*
 * Names of kernel functions by address, from the text of /proc/kallsyms. Pure.
 *
 * The text is fed in pieces of any size. Kept are functions (types t and w), modules' and BPF
 * programs' included: 8 bytes each and the name, packed. kallsyms has no sizes: a function ends at the
 * next symbol of any type; where that belongs to another module it ends KALLSYMS_GAP_MAX_BYTES
 * after its start at most, because what lies between is not known.
 */
#ifndef NODE_AGENT_SYMBOL_KALLSYMS_H
#define NODE_AGENT_SYMBOL_KALLSYMS_H

#include "common/base.h"

/* A kernel has 60 to 250 thousand. */
#define KALLSYMS_SYMBOLS_MAX 1000000u
#define KALLSYMS_NAMES_MAX_BYTES (32u << 20)
#define KALLSYMS_GAP_MAX_BYTES UINT64_C(16384)

struct kallsyms;

/* -ENOMEM is the only failure. */
int kallsyms_new(struct kallsyms **ret) MUST_CHECK;
void kallsyms_free(struct kallsyms *k);
DEFINE_CLEANUP(struct kallsyms *, kallsyms_free);

/* More text. Lines that are not symbols are skipped. -ENOMEM; -EFBIG over a limit. */
int kallsyms_add(struct kallsyms *k, const char *text, size_t len) MUST_CHECK;

enum kallsyms_outcome {
	KALLSYMS_READY,
	KALLSYMS_HIDDEN, /* all addresses are zero: kptr_restrict or no CAP_SYSLOG */
};

/* All text was added: makes it ready for kallsyms_find(). An outcome, or as kallsyms_add(). */
int kallsyms_finish(struct kallsyms *k) MUST_CHECK;

/* Borrowed, NUL-terminated, valid until the next call. NULL when no function has the address. */
const char *kallsyms_find(struct kallsyms *k, uint64_t address);

size_t kallsyms_count(const struct kallsyms *k);
size_t kallsyms_bytes(const struct kallsyms *k);

#endif /* NODE_AGENT_SYMBOL_KALLSYMS_H */
