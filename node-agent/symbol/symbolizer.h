/*
 * Addresses → locations: names of functions, the files they are in, and lines if they are known.
 *
 * The entry to this folder. One thread owns a symbolizer and makes all calls. Everything read
 * from a target (its ELF files) is untrusted: it is read piecewise from a descriptor, never
 * mapped, with bounds on every size, and the worst a hostile file achieves is wrong names for
 * its own addresses. Calls never fail: what cannot be resolved gets the frame that says so,
 * and a count by reason in symbol_metrics.h.
 *
 * Texts of frames are those of the frame contract, files without blanks: the source file and line
 * of Go code, of JIT code whose perf map has them (perf_map_name.h) and of code with DWARF, else
 * "[libc.so.6]" or "[kernel]" and line 0; unresolved "libc.so.6+0x2a3b0" with the ELF virtual
 * address at which the function begins, if exception tables say so, else of the instruction (of a
 * file that cannot be read: the offset in the file) and "[libc.so.6@<build id>]", by which names
 * are found later (code_file.h); "[unknown]" with file "" where no file is
 * mapped and no perf map has the address, and "[unknown]" or, when addresses are hidden from us,
 * "[kernel]" for the kernel. Code that signal handlers return to is SYMBOL_SIGNAL_RETURN if its
 * file has no name for it. A profile with more lines than frame_limit_bytes has room for shows
 * further functions without, and one with more names shows them as unresolved.
 */
#ifndef NODE_AGENT_SYMBOL_SYMBOLIZER_H
#define NODE_AGENT_SYMBOL_SYMBOLIZER_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/procfs/file_id.h"
#include "node-agent/symbol/frame_cache.h"

struct jit_files;
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
	/* of the process, whose perf map names anonymous memory; pid 0: unknown */
	pid_t pid;
	uint64_t start_time;         /* clock ticks since boot */
	struct jit_files *jit_files; /* that are held of it; borrowed for the call; NULL: none */
};

/* The function that signal handlers return to, as glibc and musl call it. */
#define SYMBOL_SIGNAL_RETURN "__restore_rt"

enum symbol_address_kind {
	SYMBOL_ADDRESS_EXACT,  /* of the instruction that runs: a leaf, a signal frame's caller */
	SYMBOL_ADDRESS_RETURN, /* after a call; that may be the function's last instruction */
};

struct debuginfod_client;

/* Zero means the default. */
struct symbolizer_config {
	size_t table_budget_bytes; /* symbol tables; default 8 MiB; at least 64 KiB */
	size_t frame_limit_bytes;  /* locations and strings of a profile; default 3 MiB */
	size_t n_addresses;        /* remembered; 24 bytes each; default 16384 */
	bool line_numbers;         /* of C, C++ and Rust: starts a program (line_reader.h) */
	/* native_lines_set_patience(); default: as little time as line_budget.h has */
	unsigned line_patience;
	const char *line_program; /* NULL: this one */
	/* Servers of debug files (debug_symbols.h); taken over in any case. NULL: none. */
	struct debuginfod_client *debuginfod;
	const char *proc_root; /* "/proc" but in tests; borrowed, outlives the symbolizer */
};

/*
 * Nothing is read yet. Returns 0 or -ENOMEM; without the process for line numbers there are none,
 * which is logged.
 */
int symbolizer_new(struct symbolizer **ret, const struct symbolizer_config *cfg) MUST_CHECK;
void symbolizer_free(struct symbolizer *s);
DEFINE_CLEANUP(struct symbolizer *, symbolizer_free);

/* Shows the counters of all symbolizers (there is one). */
int symbolizer_register_metrics(struct metrics *ms) MUST_CHECK;

/* How many samples what is resolved next stands for. Lines of the most are found out first. */
void symbolizer_set_weight(struct symbolizer *s, uint64_t weight);

/*
 * What is returned is valid until symbolizer_end_profile(), symbolizer_end_cycle() or
 * symbolizer_free(), whatever is resolved in between, and until then equal locations are the same
 * pointer, and equal strings. mapping NULL: the address lies in no known mapping.
 */
const struct symbol_location *symbolizer_resolve_user(struct symbolizer *s,
						      const struct symbol_mapping *mapping,
						      uint64_t address,
						      enum symbol_address_kind kind);
const struct symbol_location *symbolizer_resolve_kernel(struct symbolizer *s, uint64_t address,
							enum symbol_address_kind kind);

/* The file behind a mapping, as a pprof describes it. */
struct symbol_file {
	uint32_t number;  /* equal numbers: the same file */
	const char *path; /* borrowed from the mapping */
	const char *name; /* base name, as unresolved functions begin with; valid as locations */
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1]; /* GNU's, in hexadecimal; "": none */
	uint64_t start;      /* virtual addresses of the executable segment, in whole pages */
	uint64_t end;        /* exclusive */
	uint64_t offset;     /* of start in the file */
	uint64_t to_address; /* to be added to an address of the process for one of the file */
	bool relocatable;
};

/*
 * Fills *ret for a mapping in which an address was resolved. Returns 0, or -ENOENT if its file is
 * not known, or no ELF file.
 */
int symbolizer_find_file(struct symbolizer *s, const struct symbol_mapping *m,
			 struct symbol_file *ret) MUST_CHECK;
/* The instruction that a location of this address and kind stands for. */
static inline uint64_t symbol_code_address(uint64_t address, enum symbol_address_kind kind)
{
	/* a return address may belong to the next function; the byte before is the call's last */
	return kind == SYMBOL_ADDRESS_RETURN && address > 0 ? address - 1 : address;
}

/*
 * A location with these texts: the process at the root, "[truncated]". Blanks and control
 * characters in file become '_' and '?'. Valid as above.
 */
const struct symbol_location *symbolizer_frame(struct symbolizer *s, const char *function,
					       const char *file);

/*
 * A location of a frame that somebody else knows: of an interpreter. The same holds for its texts.
 */
const struct symbol_location *symbolizer_known_frame(struct symbolizer *s,
						     const struct symbol_frame *frame);

/*
 * No location is in use, and no profile is being built: looks lines up that the last one did
 * without (native_lines.h), for timeout_ns at most. Returns whether there is more to do now.
 */
bool symbolizer_work(struct symbolizer *s, uint64_t timeout_ns) MUST_CHECK;

/*
 * No location is in use, but the cycle continues: makes room for the next profile if there is
 * little.
 */
void symbolizer_end_profile(struct symbolizer *s);
/* No location is in use any more. */
void symbolizer_end_cycle(struct symbolizer *s);

#endif /* NODE_AGENT_SYMBOL_SYMBOLIZER_H */
