/*
 * Addresses → frames: the names of functions and of the files they are in.
 *
 * The entry to this folder. One thread owns a symbolizer and makes all calls. Everything read
 * from a target (its ELF files) is untrusted: it is read piecewise from a descriptor, never
 * mapped, with bounds on every size, and the worst a hostile file achieves is wrong names for
 * its own addresses. Calls never fail: what cannot be resolved gets the frame that says so,
 * and a count by reason in symbol_metrics.h.
 *
 * Texts of frames are those of the frame contract: file "[libc.so.6]" or "[kernel]", without
 * blanks; unresolved "libc.so.6+0x2a3b0" with the ELF virtual address at which the function
 * begins, if exception tables say so, else of the instruction (of a file that cannot be read:
 * the offset in the file), "[unknown]" with file "" where no file is mapped, and "[unknown]" or,
 * when addresses are hidden from us, "[kernel]" for the kernel. A profile with more names than
 * frame_limit_bytes has room for shows further functions as unresolved.
 */
#ifndef NODE_AGENT_SYMBOL_SYMBOLIZER_H
#define NODE_AGENT_SYMBOL_SYMBOLIZER_H

#include "common/base.h"
#include "node-agent/process/file_id.h"
#include "node-agent/symbol/frame_cache.h"

struct metrics;
struct symbolizer;

/* The executable mapping that an address lies in. */
struct symbol_mapping {
	const char *path; /* as in /proc/<pid>/maps; "" for anonymous memory; borrowed */
	int fd;           /* open for reading; -1: cannot be opened; borrowed for the call */
	bool may_hang;    /* reading may wait for another machine or program: has a deadline */
	struct file_id id;
	uint64_t start;       /* address of the mapping's first byte */
	uint64_t file_offset; /* of that byte */
};

enum symbol_address_kind {
	SYMBOL_ADDRESS_EXACT,  /* of the instruction that runs: a leaf, a signal frame's caller */
	SYMBOL_ADDRESS_RETURN, /* behind a call; that may be the function's last instruction */
};

/* The frames of one address, innermost inlined function first; at least one. */
struct symbol_frame_list {
	const struct symbol_frame *frames;
	size_t n;
};

/* Zero means the default. */
struct symbolizer_config {
	size_t table_budget_bytes; /* symbol tables; default 8 MiB; at least 64 KiB */
	size_t frame_limit_bytes;  /* frames and strings of a profile; default 8 MiB */
	size_t n_addresses;        /* remembered; 24 bytes each; default 16384 */
	const char *proc_root;     /* "/proc" but in tests; borrowed, outlives the symbolizer */
};

/* -ENOMEM is the only failure. Nothing is read yet. */
int symbolizer_new(struct symbolizer **ret, const struct symbolizer_config *cfg) MUST_CHECK;
void symbolizer_free(struct symbolizer *s);
DEFINE_CLEANUP(struct symbolizer *, symbolizer_free);

/* Shows the counters of all symbolizers (there is one). */
int symbolizer_register_metrics(struct metrics *ms) MUST_CHECK;

/*
 * What *ret refers to is valid until symbolizer_end_profile(), symbolizer_end_cycle() or
 * symbolizer_free(), whatever is resolved in between, and until then equal strings are the same
 * pointer. mapping NULL: the address lies in no known mapping.
 */
void symbolizer_resolve_user(struct symbolizer *s, const struct symbol_mapping *mapping,
			     uint64_t address, enum symbol_address_kind kind,
			     struct symbol_frame_list *ret);
void symbolizer_resolve_kernel(struct symbolizer *s, uint64_t address,
			       enum symbol_address_kind kind, struct symbol_frame_list *ret);

/*
 * A frame with these texts: the process at the root, "[truncated]". Blanks and control
 * characters in file become '_' and '?'. Valid as above.
 */
const struct symbol_frame *symbolizer_frame(struct symbolizer *s, const char *function,
					    const char *file);

/*
 * No frame is in use, but the cycle continues: makes room for the next profile if there is
 * little.
 */
void symbolizer_end_profile(struct symbolizer *s);
/* No frame is in use any more. */
void symbolizer_end_cycle(struct symbolizer *s);

#endif /* NODE_AGENT_SYMBOL_SYMBOLIZER_H */
