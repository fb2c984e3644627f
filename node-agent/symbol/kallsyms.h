/*
 * Names of kernel functions by address, from the text of /proc/kallsyms. Pure.
 *
 * The text is added in pieces of any size. Functions are kept (types t and w), including those
 * of modules and BPF programs: 8 bytes each and the name, packed. kallsyms has no sizes: a
 * function ends at the next symbol of any type. If that belongs to another module, the
 * function ends at most KALLSYMS_GAP_MAX_BYTES after its start, because nothing is known about
 * the space between them.
 */
#ifndef NODE_AGENT_SYMBOL_KALLSYMS_H
#define NODE_AGENT_SYMBOL_KALLSYMS_H

#include "common/base.h"

/* Kernels have 60,000 to 250,000. */
#define KALLSYMS_SYMBOLS_MAX 1000000u
#define KALLSYMS_NAMES_MAX_BYTES (32u << 20)
#define KALLSYMS_GAP_MAX_BYTES UINT64_C(16384)

struct kallsyms;

/* -ENOMEM is the only failure. */
int kallsyms_new(struct kallsyms **ret) MUST_CHECK;
void kallsyms_free(struct kallsyms *k);
DEFINE_CLEANUP(struct kallsyms *, kallsyms_free);

/* Adds text; skips lines that are not symbols. Returns 0, -ENOMEM, or -EFBIG over a limit. */
int kallsyms_add(struct kallsyms *k, const char *text, size_t len) MUST_CHECK;

enum kallsyms_outcome {
	KALLSYMS_READY,
	KALLSYMS_HIDDEN, /* all addresses are zero: kptr_restrict or no CAP_SYSLOG */
};

/* Ends the text, and prepares for kallsyms_find(). Returns an outcome, or as kallsyms_add(). */
int kallsyms_finish(struct kallsyms *k) MUST_CHECK;

/* Borrowed, NUL-terminated, valid until the next call. NULL if no function contains the address. */
const char *kallsyms_find(struct kallsyms *k, uint64_t address);

size_t kallsyms_count(const struct kallsyms *k);
size_t kallsyms_bytes(const struct kallsyms *k);

#endif /* NODE_AGENT_SYMBOL_KALLSYMS_H */
