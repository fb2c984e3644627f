/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Contract between the walk (user_walk.bpf.h) and user space: how the caller of a frame is found
 * from an address, without frame pointers.
 *
 * A table holds what one file's CFI says. A row says which rule holds from an address on, up to
 * the next row; a rule says where the caller's registers are. Rows are found in three steps, each
 * a search or an index inside one block of memory: mapping of the process → page of the file's
 * text → row.
 *
 * Everything lies in blocks of 16 KiB, which user space allocates, fills by plain stores and
 * publishes: first what is referred to, last the reference. A block that is given up is reused
 * only after the longest walk has ended. The walk masks every index, so that whatever it reads can
 * make a stack wrong but cannot leave a block.
 *
 * Compiled like sample_event.h.
 */
#ifndef BPF_UNWIND_TABLE_H
#define BPF_UNWIND_TABLE_H

#include "frame_chain.h"

/* ---- rules ---- */

/* Offsets are in words: every offset that compilers emit is a multiple of 8. */
#define UNWIND_WORD_BYTES 8

/* What the CFA is, which is the caller's stack pointer. */
enum unwind_cfa {
	/* Not known: one step by frame pointer, which must lead to code. Rule 0 of every table. */
	UNWIND_CFA_UNKNOWN,
	UNWIND_CFA_END,    /* no caller: the outermost frame of a thread */
	UNWIND_CFA_SP,     /* stack pointer + cfa */
	UNWIND_CFA_FP,     /* frame pointer + cfa */
	UNWIND_CFA_AT_SP,  /* the word at (stack pointer + cfa), + aux; cfa is signed here */
	UNWIND_CFA_AT_FP,  /* the word at (frame pointer + cfa), + aux; likewise */
	UNWIND_CFA_PLT,    /* x86-64: stack pointer + (1 or, if (address & 15) >= cfa, 2) words */
	UNWIND_CFA_SIGNAL, /* the frame of a signal handler: all registers are at (stack pointer) */
	/*
	 * Compiled code that is known to keep frame pointers, without CFI: the caller's is at the
	 * frame pointer, the return address above it.
	 */
	UNWIND_CFA_FRAME_POINTER,
	UNWIND_CFA_AT_RBX, /* x86-64: like UNWIND_CFA_AT_SP, from rbx, where that is known */
	/*
	 * The word at (the word at (stack pointer + cfa) + the high half of aux), + its low half;
	 * all are signed.
	 */
	UNWIND_CFA_AT_WORD,
	/*
	 * + DWARF number of a register: that register + cfa. Registers of the tick, or of the code
	 * that a signal interrupted, are known. They are believed in the next frame too, if what
	 * comes of them is likely. rbx is known as long as rules say where it is.
	 */
	UNWIND_CFA_REGISTER = 0x80,
	/*
	 * + DWARF number of a register, which counts words: the word at (stack pointer + cfa +
	 * register), + aux. Only where registers are known.
	 */
	UNWIND_CFA_AT_INDEXED = 0xc0,
};

/* Where the caller's frame pointer is; in unwind_rule.how. */
enum unwind_fp {
	UNWIND_FP_SAME,   /* in its register */
	UNWIND_FP_AT_CFA, /* at CFA + fp */
	UNWIND_FP_AT_FP,  /* at (frame pointer + fp) */
	UNWIND_FP_AT_SP,  /* at (stack pointer + fp) */
	UNWIND_FP_MASK = 0x03,
};
/*
 * With UNWIND_FP_SAME, in unwind_rule.fp: nowhere. Code that uses the register for something else;
 * the walk goes on until it needs it.
 */
#define UNWIND_FP_LOST (-32768)

/* Where the return address is; in unwind_rule.how. */
enum unwind_ra {
	UNWIND_RA_BELOW_CFA = 0x00, /* in the word below the CFA; aux is the high half of cfa */
	UNWIND_RA_AT_CFA = 0x04,    /* at CFA + aux */
	UNWIND_RA_REGISTER =
		0x08, /* in the register aux, of those that UNWIND_CFA_REGISTER knows */
	UNWIND_RA_MASK = 0x0c,
};

/*
 * x86-64: where the caller's rbx is, in unwind_rule.how; 2 to 15: so many words below the CFA.
 * Functions of the dynamic loader that align the stack by an amount that no table knows have their
 * CFA in rbx, and call others, which save it.
 */
enum unwind_rbx {
	UNWIND_RBX_LOST = 0x00, /* not known */
	UNWIND_RBX_SAME = 0x10, /* in its register */
	UNWIND_RBX_WORD = 0x10, /* unit */
	UNWIND_RBX_MASK = 0xf0,
};
#define UNWIND_RBX 3 /* its DWARF number */

/*
 * cfa, fp and aux are in words. With UNWIND_CFA_SP and UNWIND_CFA_FP, cfa is unsigned; it has 32
 * bits with UNWIND_RA_BELOW_CFA, else 16. UNWIND_CFA_AT_… need aux for themselves; their
 * return address is below the CFA.
 */
struct unwind_rule {
	__u8 base; /* enum unwind_cfa */
	__u8 how;  /* enum unwind_fp | enum unwind_ra | enum unwind_rbx */
	__u16 cfa;
	__s16 fp;
	__s16 aux;
};
_Static_assert(sizeof(struct unwind_rule) == 8, "unwind_rule layout");

#define UNWIND_TABLE_RULES 4096 /* of a table; the same number fits into two blocks */

/* ---- rows ---- */

#define UNWIND_PAGE_SHIFT 15 /* a page is 32 KiB of a file's text, by its virtual address */
#define UNWIND_PAGE_BYTES (1 << UNWIND_PAGE_SHIFT)

struct unwind_row {
	__u16 address; /* within its page: the row holds from here up to the next one */
	__u16 rule;    /* index in the table's rules */
};
_Static_assert(sizeof(struct unwind_row) == 4, "unwind_row layout");

/* ---- blocks ---- */

/*
 * unwind_slabs is an array of UNWIND_SLABS maps, each an array of UNWIND_SLAB_BLOCKS blocks with
 * BPF_F_MMAPABLE. User space creates a slab when it needs one, and never replaces or removes it.
 * Blocks are numbered across slabs. Block 0 is never used: its number means "none".
 */
#define UNWIND_SLABS 64
#define UNWIND_SLAB_BLOCKS 64
#define UNWIND_BLOCK_BYTES 16384

#define UNWIND_BLOCK_ROWS 4096 /* and of a page: its rows lie in one block */
#define UNWIND_BLOCK_RULES 2048
#define UNWIND_BLOCK_PAGES 2048
#define UNWIND_BLOCK_STARTS 2048
#define UNWIND_BLOCK_MAPPINGS 1024
#define UNWIND_BLOCK_PROCESSES 256

/* Some elements of one kind that lie one after another in a block. */
struct unwind_ref {
	__u16 block; /* slab * UNWIND_SLAB_BLOCKS + block in the slab */
	__u16 first; /* index of the first one in the block, in elements */
};
_Static_assert(sizeof(struct unwind_ref) == 4, "unwind_ref layout");

/* A page of a table: ascending rows, the first of which has the address 0. */
struct unwind_page {
	struct unwind_ref rows;
	__u16 n; /* 0: nothing is known; several pages may refer to the same rows */
	__u16 pad;
};
_Static_assert(sizeof(struct unwind_page) == 8, "unwind_page layout");

/* ---- tables ---- */

#define UNWIND_TABLES 4096 /* elements of the arrays unwind_tables and unwind_used */
#define UNWIND_TABLE_PIECES 16

/* Indexes that are not of a table; their elements stay 0. */
#define UNWIND_TABLE_NONE 0      /* a file that has no table */
#define UNWIND_TABLE_ANONYMOUS 1 /* memory without a file, where code is generated */
#define UNWIND_TABLE_FIRST 2

/*
 * An element of unwind_tables (BPF_F_MMAPABLE). n_pages is written last, and 0 first of all when
 * the table is given up; an element of zeros is a table that is not built. Walks remember rules
 * that they have found. So each table that is built has another generation than those that had its
 * index before.
 */
struct unwind_table {
	__u32 first_page; /* virtual address of the file >> UNWIND_PAGE_SHIFT */
	__u32 n_pages;
	__u32 generation;
	__u32 pad;
	/* The rules from 0 on, and those from UNWIND_BLOCK_RULES on, if there are so many. */
	struct unwind_ref rules[2];
	/* UNWIND_BLOCK_PAGES pages each, the last one fewer. */
	struct unwind_ref pages[UNWIND_TABLE_PIECES];
};
_Static_assert(sizeof(struct unwind_table) == 88, "unwind_table layout");

/*
 * The array unwind_used (BPF_F_MMAPABLE) has a __u64 for each table: when a walk last came by its
 * file, whether the table is built or not, in units of CLOCK_MONOTONIC >> UNWIND_USED_SHIFT, some
 * 1.07 s.
 */
#define UNWIND_USED_SHIFT 30

/* ---- processes ---- */

#define UNWIND_PROCESSES 8192
#define UNWIND_CHAIN_UNIT 64
#define UNWIND_MAPPINGS 2048 /* of a process; their starts fit into one block */
#define UNWIND_MAPPING_SHIFT 12

/* Executable memory of a process. Its start is in an array of its own, at the same index. */
struct unwind_mapping {
	__u64 bias;    /* address - bias is the virtual address in the file */
	__u32 n_pages; /* length >> UNWIND_MAPPING_SHIFT */
	__u32 table;   /* index */
};
_Static_assert(sizeof(struct unwind_mapping) == 16, "unwind_mapping layout");

enum unwind_process_flag {
	/*
	 * There is executable memory without a mapping here: too many, or unknown. An address in
	 * no mapping then counts as UNWIND_TABLE_ANONYMOUS.
	 */
	UNWIND_PROCESS_OPEN = 1,
};

/*
 * The hash map unwind_processes has a struct unwind_ref to one of these for each tgid. The walk
 * checks that it is of the process, and writes neither. A change of the mappings makes a new one.
 */
struct unwind_process {
	__u64 start_boottime_ns; /* as in struct event_header */
	__u32 tgid;
	__u32 flags; /* enum unwind_process_flag */
	__u32 n_mappings;
	struct unwind_ref starts; /* __u64 each, ascending */
	/* The mappings from 0 on, and those from UNWIND_BLOCK_MAPPINGS on. */
	struct unwind_ref mappings[2];
	/*
	 * An interpreter's struct chain_layout; block 0: it has none. Here, first counts
	 * UNWIND_CHAIN_UNIT bytes.
	 */
	struct unwind_ref chain;
	__u32 pad[7];
};
_Static_assert(sizeof(struct unwind_process) == 64, "unwind_process layout");

/* ---- files ---- */

/*
 * The hash map unwind_files has one of these for each file whose table has an index, by struct
 * event_file (sample_event.h): what the kernel says of the inode that a process has mapped. A file
 * that is changed in place has another ctime, so it is not found any more. By this map, a process
 * is walked whose mappings are not reported yet; it is used where the kernel's tree of mappings
 * can be read (vma_lookup.bpf.h).
 *
 * The key of zeros is for the vDSO. It is there as long as user space fills the map.
 */
#define UNWIND_FILES 4096
/*
 * Instead of the device, for files of overlayfs. The inode is that of the layer, so that a file of
 * an image is known in each container of the image, also in the first process of a new one. What
 * else is in the key, the time of change most of all, tells files of several layers apart.
 */
#define UNWIND_FILE_OF_LAYER 0
#define UNWIND_FILE_SEGMENTS 2 /* linkers make one or two; a file with more is not in the map */

/* What is mapped from these offsets on is code; a segment of zeros is none. */
struct unwind_segment {
	__u64 from; /* offset in the file, of a page */
	__u64 end;
	__u64 ahead; /* virtual address in the file - offset */
};

struct unwind_file {
	/* Of the key: an element may be reused for another file while it is read. */
	__u64 ino;
	__u64 ctime_ns;
	__u32 table;      /* index */
	__u32 page_shift; /* of the kernel */
	struct unwind_segment segments[UNWIND_FILE_SEGMENTS];
};
_Static_assert(sizeof(struct unwind_file) == 72, "unwind_file layout");

union unwind_block {
	struct unwind_row rows[UNWIND_BLOCK_ROWS];
	struct unwind_rule rules[UNWIND_BLOCK_RULES];
	struct unwind_page pages[UNWIND_BLOCK_PAGES];
	__u64 starts[UNWIND_BLOCK_STARTS];
	struct unwind_mapping mappings[UNWIND_BLOCK_MAPPINGS];
	struct unwind_process processes[UNWIND_BLOCK_PROCESSES];
};
_Static_assert(sizeof(union unwind_block) == UNWIND_BLOCK_BYTES, "unwind_block layout");

#endif /* BPF_UNWIND_TABLE_H */
