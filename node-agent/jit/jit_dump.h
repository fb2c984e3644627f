/*
 * jitdump, the file in which compilers write down the code that they make while a program runs:
 * what is in it, as the file grows. Pure.
 *
 * The format is perf's (tools/perf/Documentation/jitdump-specification.txt in Linux): a header and
 * records, appended to. CPython (-X perf_jit), V8 (--perf-prof), .NET, Erlang, wasmtime and LLVM
 * write it. They map it executable, so that perf sees where it is.
 *
 * The file is another program's. Of a record no more than JIT_DUMP_RECORD_BYTES are kept, and none
 * of the code in it. Behind a record that cannot be one, nothing is read.
 */
#ifndef NODE_AGENT_JIT_JIT_DUMP_H
#define NODE_AGENT_JIT_JIT_DUMP_H

#include "common/base.h"

#define JIT_DUMP_RECORD_BYTES ((size_t)256 * 1024)
#define JIT_DUMP_NAME_BYTES 4096u /* what is longer is cut */
#define JIT_DUMP_HEADER_BYTES 40u /* those of two dumps differ: they have the time */

/* The lines of a function, as they are in the file; len 0: none. */
struct jit_dump_lines {
	const char *data;
	size_t len;
	const char *file; /* of the previous one */
	size_t file_len;
};

struct jit_dump_line {
	uint64_t address;
	uint32_t line;
	const char *file; /* not NUL-terminated */
	size_t file_len;
};

/* All that is known of a function. Pointers are valid during the call only. */
struct jit_dump_code {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t index;   /* by which a move refers to it */
	const char *name; /* not NUL-terminated, as the compiler chose it */
	size_t name_len;
	struct jit_dump_lines lines;
	const char *eh_frame; /* NULL: none; as if it were mapped behind the code, for perf */
	size_t eh_frame_len;
};

struct jit_dump_move {
	uint64_t to;
	uint64_t size_bytes;
	uint64_t index; /* of the code that is there from now on */
};

/* Each returns 0 or -ENOMEM, and may be NULL. */
struct jit_dump_sink {
	int (*on_code)(void *ctx, const struct jit_dump_code *c);
	int (*on_move)(void *ctx, const struct jit_dump_move *m);
	void *ctx;
};

struct jit_dump;

/* -ENOMEM is the only failure. */
int jit_dump_new(struct jit_dump **ret, const struct jit_dump_sink *sink) MUST_CHECK;
void jit_dump_free(struct jit_dump *d);
DEFINE_CLEANUP(struct jit_dump *, jit_dump_free);

/* Reads the next piece of the file, of any length. Returns 0, or the first error of the sink. */
int jit_dump_add(struct jit_dump *d, const char *data, size_t len) MUST_CHECK;

/* How many of the next bytes, at most max, need not be added; the others follow them. */
uint64_t jit_dump_skip(struct jit_dump *d, uint64_t max);

/* Whether what was added is no jitdump of this machine's byte order, from some place on. */
bool jit_dump_is_broken(const struct jit_dump *d);

size_t jit_dump_bytes(const struct jit_dump *d);

/* The next line in the order of the file; *l moves on. Returns false if there is none. */
bool jit_dump_next_line(struct jit_dump_lines *l, struct jit_dump_line *ret);

#endif /* NODE_AGENT_JIT_JIT_DUMP_H */
