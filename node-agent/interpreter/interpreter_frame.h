/*
 * A frame of an interpreter, as the walk in BPF sends it, and its name. No text is read in the
 * kernel: a frame is where its code object is, and names are read from the memory of the process.
 */
#ifndef NODE_AGENT_INTERPRETER_INTERPRETER_FRAME_H
#define NODE_AGENT_INTERPRETER_INTERPRETER_FRAME_H

#include "common/base.h"

struct interpreter_frame {
	uint64_t code; /* address of the code object */
	/*
	 * chain_check() (bpf/frame_chain.h) of the word of the code object that the layout names:
	 * another one if another object is there. 0 if it could not be read, too.
	 */
	uint32_t check;
	/*
	 * The frame of compiled code is that of several functions, if some were inlined. 0: the
	 * innermost one, 1: its caller, …
	 */
	uint32_t level;
	/* Where in the code, as the frame has it: an address, or an index (layout.frames.at). */
	uint64_t at;
	/*
	 * Of the frame that has called it, if names are what callers call a function
	 * (CHAIN_CALLERS_NAME); 0 if they are not, or if there is none.
	 */
	uint64_t caller_code;
	uint64_t caller_at;
};

static inline bool interpreter_frame_is_same(const struct interpreter_frame *a,
					     const struct interpreter_frame *b)
{
	return a->code == b->code && a->check == b->check && a->at == b->at &&
	       a->caller_code == b->caller_code && a->caller_at == b->caller_at &&
	       a->level == b->level;
}

struct assembly_pdbs;
struct script_lines;

#define INTERPRETER_FUNCTION_BYTES 512u
#define INTERPRETER_FILE_BYTES 1024u

/* Texts are UTF-8 without control characters; what is longer is cut. */
struct interpreter_name {
	char function[INTERPRETER_FUNCTION_BYTES];
	char file[INTERPRETER_FILE_BYTES];
	uint32_t line;       /* 0: unknown */
	uint32_t start_line; /* of the function; 0: unknown */
	uint8_t n_callers;   /* that the same frame has: it was inlined into them */
	bool is_root;        /* what is below it on the stack is another thread's */
};

/*
 * Reads n bytes of the process at an address, all or nothing. Returns 0, -EFAULT if that is not
 * mapped, -ESRCH if the process is gone, or another -errno.
 */
struct interpreter_memory {
	int (*read)(void *ctx, uint64_t at, void *to, size_t n);
	void *ctx;
	struct script_lines *lines; /* borrowed; NULL: lines of sources are not counted */
	struct assembly_pdbs *pdbs; /* borrowed; NULL: there are no lines of .NET */
};

static inline int interpreter_read(const struct interpreter_memory *m, uint64_t at, void *to,
				   size_t n)
{
	return m->read(m->ctx, at, to, n);
}

#endif /* NODE_AGENT_INTERPRETER_INTERPRETER_FRAME_H */
