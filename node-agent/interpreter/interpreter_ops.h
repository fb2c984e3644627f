/*
 * What a language implements so that the walk shows its functions: recognise a file that has its
 * interpreter, say how frames are found, and read the name of one. `python/`, `php/`, `ruby/`,
 * `perl/`, `lua/`, `erlang/` and others are there.
 *
 * All functions are pure but for what they read through their arguments: bytes of an ELF file, or
 * memory of a process. Both are hostile: every length and every chain has a limit.
 */
#ifndef NODE_AGENT_INTERPRETER_INTERPRETER_OPS_H
#define NODE_AGENT_INTERPRETER_INTERPRETER_OPS_H

#include <linux/types.h>

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/dotnet_layout.h"
#include "node-agent/interpreter/erlang_layout.h"
#include "node-agent/interpreter/hotspot_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/lua_layout.h"
#include "node-agent/interpreter/perl_layout.h"
#include "node-agent/interpreter/php_layout.h"
#include "node-agent/interpreter/python_layout.h"
#include "node-agent/interpreter/ruby_layout.h"
#include "node-agent/interpreter/v8_layout.h"

#include "bpf/frame_chain.h"

/* In struct chain_layout and in records. */
enum interpreter_language {
	INTERPRETER_NONE,
	INTERPRETER_PYTHON,
	INTERPRETER_PHP,
	INTERPRETER_RUBY,
	INTERPRETER_PERL,
	INTERPRETER_LUA,
	INTERPRETER_JAVA,
	INTERPRETER_V8,
	INTERPRETER_LUAJIT,
	INTERPRETER_ERLANG,
	INTERPRETER_DOTNET,
	INTERPRETER_MAX,
};

/* Where the interpreter keeps the state of the thread that runs, or a word that leads to it. */
enum interpreter_root_kind {
	INTERPRETER_ROOT_NONE,
	/*
	 * A key of pthread_getspecific(3) is at vaddr: CPython's Py_tss_t {int made; unsigned key}.
	 */
	INTERPRETER_ROOT_KEY_MADE,
	INTERPRETER_ROOT_KEY, /* likewise, an int */
	/*
	 * The function at vaddr returns a thread-local variable, or its address, and nothing else.
	 */
	INTERPRETER_ROOT_GETTER,
	INTERPRETER_ROOT_TLS,    /* vaddr is that of a symbol of type STT_TLS */
	INTERPRETER_ROOT_GLOBAL, /* a variable at vaddr */
	INTERPRETER_ROOT_CALL,   /* calls of the loop know it: CHAIN_NEXT_CALL, CHAIN_NEXT_SLOT */
};

struct interpreter_root {
	enum interpreter_root_kind kind;
	uint64_t vaddr; /* in the file */
	/*
	 * From the value of the variable (which is a pointer) to the first frame: each step reads
	 * the word at (what was found + step).
	 */
	uint8_t n_steps;
	uint8_t anchor; /* 1 + the number of the step that finds the first anchor; 0: none */
	/*
	 * Of a state, INTERPRETER_ROOT_GLOBAL: it is clear unless the variable has what the root of
	 * the frames has for this thread.
	 */
	bool of_this_thread;
	int64_t steps[CHAIN_STEPS];
};

struct interpreter_range {
	uint64_t start; /* virtual address in the file */
	uint64_t end;
};

/* What is known of a file: the same for all processes that map it. No pointers. */
struct interpreter_image {
	enum interpreter_language language;
	struct interpreter_root roots[CHAIN_PATHS]; /* the first that leads to a frame counts */
	/* By enum chain_state_kind: steps lead to the word that is not 0 if the state is set. */
	struct interpreter_root states[CHAIN_STATES];
	uint8_t state_shifts[CHAIN_STATES]; /* chain_path.shift */
	/* INTERPRETER_ROOT_GLOBAL: chain_layout.thread. */
	struct interpreter_root thread;
	struct chain_frames frames;
	uint16_t texts[CHAIN_TEXTS]; /* of what a name is made: chain_layout.texts */
	struct chain_stacks stacks;  /* CHAIN_NEXT_ELEMENT */
	struct chain_calls calls;    /* CHAIN_NEXT_CALL */
	struct chain_slots slots;    /* CHAIN_NEXT_SLOT */
	struct chain_scan scan;      /* CHAIN_NEXT_SCAN; back is an address in the file */
	/* CHAIN_IN_LOOPS_FRAME; returns are addresses in the file, and code is that of a process */
	struct chain_guest guest;
	/* CPython: what a module does not say (python_tasks.h); frame is 0 if it is not known. */
	struct chain_tasks tasks;
	struct interpreter_root first_at; /* likewise; a getter is that of the first root */
	struct interpreter_range loops[CHAIN_RANGES]; /* ascending, disjoint */
	uint32_t n_loops;
	uint8_t flags; /* enum chain_flag */
	union {
		struct python_layout python;
		struct php_layout php;
		struct ruby_layout ruby;
		struct v8_layout v8;
		struct perl_layout perl;
		struct lua_layout lua;
		struct hotspot_layout hotspot;
		struct erlang_layout erlang;
		struct dotnet_layout dotnet;
	};
};

struct interpreter_ops {
	const char *name; /* "python" */
	const char *mark; /* a symbol without which a file has not the interpreter */
	/*
	 * Fills all of *ret if the file has the interpreter. bias is 0 and memory NULL: nothing of
	 * a process is read. Returns 0, -ENOENT if it has not; -ENOTSUP if its release is not
	 * known, or does not verify; or an error of byte_source_read().
	 */
	int (*recognise)(const struct elf_layout *layout, const struct byte_source *src,
			 struct interpreter_image *ret);
	/*
	 * Reads the name of a frame. bias is what is to be added to addresses of the image. Returns
	 * 0; -ENODATA if the interpreter has made the frame for itself and a reader has no use for
	 * it; -ENXIO if the native frame is to be shown; -ESTALE if the check word is another one;
	 * -EBADMSG if that is no code object; or an error of interpreter_read().
	 */
	int (*name_frame)(const struct interpreter_image *image, uint64_t bias,
			  const struct interpreter_memory *memory,
			  const struct interpreter_frame *f, struct interpreter_name *ret);
	/*
	 * NULL, or finds what is known only when the file has been loaded, unless it is known.
	 * Returns 0; -EAGAIN if it is being loaded; -ENOTSUP as above; or an error of
	 * interpreter_read().
	 */
	int (*complete)(struct interpreter_image *image, uint64_t bias,
			const struct interpreter_memory *memory);
	/* NULL, or adds to a layout what is there instead of paths to a first frame. */
	void (*add_layout)(const struct interpreter_image *image, uint64_t bias,
			   struct chain_layout *ret);
};

#endif /* NODE_AGENT_INTERPRETER_INTERPRETER_OPS_H */
