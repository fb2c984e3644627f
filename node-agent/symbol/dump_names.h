/*
 * Names and lines of functions that a program made while it runs, from its jitdump (jit_dump.h).
 * Pure.
 */
#ifndef NODE_AGENT_SYMBOL_DUMP_NAMES_H
#define NODE_AGENT_SYMBOL_DUMP_NAMES_H

#include "common/base.h"
#include "node-agent/symbol/perf_map_name.h"

struct dump_names;

/* max_bytes: of memory, as of jit_functions_new(). -ENOMEM is the only failure. */
int dump_names_new(struct dump_names **ret, size_t max_bytes) MUST_CHECK;
void dump_names_free(struct dump_names *d);
DEFINE_CLEANUP(struct dump_names *, dump_names_free);

/* As jit_dump_add() and jit_dump_skip(). */
int dump_names_add(struct dump_names *d, const char *data, size_t len) MUST_CHECK;
uint64_t dump_names_skip(struct dump_names *d, uint64_t max);

/* Returns 0, -ENOENT if no function has the address, or -ENOMEM. */
int dump_names_find(struct dump_names *d, uint64_t address, struct perf_map_name *ret) MUST_CHECK;

bool dump_names_is_broken(const struct dump_names *d);
size_t dump_names_bytes(const struct dump_names *d);

#endif /* NODE_AGENT_SYMBOL_DUMP_NAMES_H */
