/*
 * The running kernel's functions: /proc/kallsyms, read for the first kernel frame. It is read
 * again when an address is not in it and modules have changed since, at most once a minute, or
 * BPF programs may have, at most every ten minutes. If it hides addresses, one warning says why.
 */
#ifndef NODE_AGENT_SYMBOL_KERNEL_SYMBOLS_H
#define NODE_AGENT_SYMBOL_KERNEL_SYMBOLS_H

#include "common/base.h"

struct kernel_symbols;

enum kernel_symbols_outcome {
	KERNEL_SYMBOLS_FOUND,
	KERNEL_SYMBOLS_UNKNOWN,
	KERNEL_SYMBOLS_HIDDEN, /* addresses are zero, or the file cannot be read */
};

/* proc_root: "/proc" but in tests; borrowed. -ENOMEM is the only failure. */
int kernel_symbols_new(struct kernel_symbols **ret, const char *proc_root) MUST_CHECK;
void kernel_symbols_free(struct kernel_symbols *ks);
DEFINE_CLEANUP(struct kernel_symbols *, kernel_symbols_free);

/* *ret_name is borrowed and valid until the next call. now_ns: monotonic. */
enum kernel_symbols_outcome kernel_symbols_find(struct kernel_symbols *ks, uint64_t address,
						uint64_t now_ns, const char **ret_name);

/* Changes when names found before may no longer be right. */
uint32_t kernel_symbols_generation(const struct kernel_symbols *ks);
size_t kernel_symbols_bytes(const struct kernel_symbols *ks);

#endif /* NODE_AGENT_SYMBOL_KERNEL_SYMBOLS_H */
