/*
 * Functions that a program made while it runs, from the text of its /tmp/perf-<pid>.map. Pure.
 *
 * Compilers of V8, JVMs, .NET and others append a line per function, "<start> <size> <name>", both
 * numbers hexadecimal. The function that was written last has an address. The text comes from
 * another program: it is read in pieces, as the file grows, and memory is limited
 * (jit_functions.h).
 */
#ifndef NODE_AGENT_SYMBOL_PERF_MAP_H
#define NODE_AGENT_SYMBOL_PERF_MAP_H

#include "common/base.h"

#define PERF_MAP_LINE_BYTES 4096u /* what is longer is cut */

struct perf_map;

/* max_bytes: of memory, at least 64 KiB. -ENOMEM is the only failure. */
int perf_map_new(struct perf_map **ret, size_t max_bytes) MUST_CHECK;
void perf_map_free(struct perf_map *m);
DEFINE_CLEANUP(struct perf_map *, perf_map_free);

/*
 * Reads the next piece of the text, of any length. A line counts once its newline is there; a line
 * that cannot be parsed is ignored. Returns 0, or -ENOMEM: m has some of the lines.
 */
int perf_map_add(struct perf_map *m, const char *text, size_t len) MUST_CHECK;

/*
 * Adds the beginning of a line that has no newline yet, as if it had one. Text that follows
 * continues the line, which is then added again as a whole. Returns 0 or -ENOMEM.
 */
int perf_map_add_rest(struct perf_map *m) MUST_CHECK;

/* Ignores the text up to the next newline: what follows begins in the middle of a line. */
void perf_map_skip_line(struct perf_map *m);

/*
 * Finds the function that has the address; its name is as in the text, not NUL-terminated, valid
 * until the next call. Returns 0, -ENOENT, or -ENOMEM.
 */
int perf_map_find(struct perf_map *m, uint64_t address, const char **ret_name,
		  size_t *ret_len) MUST_CHECK;

size_t perf_map_bytes(const struct perf_map *m);
/* Whether functions were dropped for lack of memory. */
bool perf_map_is_cut(const struct perf_map *m);

#endif /* NODE_AGENT_SYMBOL_PERF_MAP_H */
