/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Contract between go_walk.bpf.h and node-agent/unwind: where assembly functions of Go
 * programs have their caller. Compiled like sample_event.h.
 */
#ifndef BPF_GO_ASSEMBLY_H
#define BPF_GO_ASSEMBLY_H

#define GO_ASSEMBLY_RANGES 1024 /* of a program; a power of two */
#define GO_ASSEMBLY_TABLES 64   /* one per program */
#define GO_ASSEMBLY_PROCESSES 2048
#define GO_ASSEMBLY_UNKNOWN 0xffff /* code that frame pointers unwind */

/*
 * The code of a program, from start[i] up to start[i + 1]: its return address is that many 8-byte
 * words above the stack pointer. If that is not 0, the word below it is the caller's frame pointer,
 * which otherwise is in its register. Unused elements have the start 0xffffffff.
 */
struct go_frame_table {
	__u32 start[GO_ASSEMBLY_RANGES]; /* relative to the first function; ascending from 0 on */
	__u16 words[GO_ASSEMBLY_RANGES];
};
_Static_assert(sizeof(struct go_frame_table) == 6144, "go_frame_table layout");

/* A process that runs such a program; the key is its id. Removed when it executes another one. */
struct go_frame_process {
	__u64 text_start; /* address of the first function */
	__u64 text_bytes; /* up to the end of the last one: all callers are in there */
	__u32 table;      /* index */
	__u32 pad;
};
_Static_assert(sizeof(struct go_frame_process) == 24, "go_frame_process layout");

#endif /* BPF_GO_ASSEMBLY_H */
