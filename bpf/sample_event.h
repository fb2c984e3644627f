/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Contract between sampler.bpf.c and node-agent/sample: what a record of the
 * ring buffer looks like, and the counters.
 *
 * Compiled by clang for bpf and by the host compiler: only fixed-width __uNN
 * types, explicit padding, and a size assertion per struct. The includer
 * provides the types (linux/types.h).
 */
#ifndef BPF_SAMPLE_EVENT_H
#define BPF_SAMPLE_EVENT_H

#define SAMPLER_KERNEL_FRAMES 127 /* what bpf_get_stack() gives by default settings */
#define SAMPLER_USER_FRAMES 512
/* Of a deeper stack, the last of these are its root; before them, frames are left out. */
#define SAMPLER_ROOT_FRAMES 128 /* a power of two */
#define SAMPLER_ROOT_AT (SAMPLER_USER_FRAMES - SAMPLER_ROOT_FRAMES)
#define SAMPLER_COMM_BYTES 16
/* Go runs parts of its runtime on the thread's own stack, and signal handlers on a third one. */
#define SAMPLER_STACK_SWITCHES 2
/* Room for addresses: a power of two, so that an index can be masked. */
#define SAMPLER_MAX_ADDRS 1024
_Static_assert(SAMPLER_KERNEL_FRAMES + SAMPLER_USER_FRAMES < SAMPLER_MAX_ADDRS, "room for a stack");

/* The hierarchy that cgroup ids are of: one that has a cgroup for each container. */
enum sampler_cgroups {
	SAMPLER_CGROUPS_V2,
	SAMPLER_CGROUPS_V1_MEMORY,
	SAMPLER_CGROUPS_V1_CPU,
};

/* Whose samples are not taken; a map whose bit is not set is not consulted. */
enum sampler_exclude {
	SAMPLER_EXCLUDE_CGROUPS = 1, /* cgroup ids in the map excl_cgroups */
	/* struct sampler_process in the map excl_processes, until it executes another program */
	SAMPLER_EXCLUDE_PROCESSES = 2,
};
#define SAMPLER_EXCLUDE_MAX 4096 /* entries of each map */

struct sampler_process {
	__u32 tgid;
	__u32 pad;
	__u64 start_boottime_ns;
};
_Static_assert(sizeof(struct sampler_process) == 16, "sampler_process layout");

enum event_type {
	EVENT_SAMPLE = 1,
	EVENT_EXEC = 2, /* a process executes another program */
	EVENT_EXIT = 3, /* the last thread of a process exited */
	EVENT_FORK = 4, /* a process was made by another one */
	EVENT_MAP = 5,  /* a process has a file mapped */
	EVENT_CODE = 6, /* a code object of an interpreter: struct code_event in frame_chain.h */
};

/* Starts every record, and is all of EVENT_EXIT. */
struct event_header {
	__u32 type; /* enum event_type */
	__u32 size; /* of the whole record */
	__u32 tgid; /* process, in the initial PID namespace */
	__u32 tid;
	__u64 start_boottime_ns; /* of the thread-group leader; with tgid it names the process */
	__u64 ktime_ns;          /* CLOCK_MONOTONIC */
};
_Static_assert(sizeof(struct event_header) == 32, "event_header layout");

/* Why a walk over the user stack ended. */
enum walk_end {
	WALK_END_BOTTOM,        /* the outermost frame was reached */
	WALK_END_NO_USER_STACK, /* kernel thread or a worker inside the process */
	WALK_END_DEPTH_LIMIT,
	WALK_END_UNREADABLE,    /* a frame lies in memory that is not mapped or not resident */
	WALK_END_NOT_ASCENDING, /* too many callers' frames are below their callees' */
	WALK_END_BAD_ADDRESS,   /* a return address outside user space */
	WALK_END_COMPAT,        /* 32-bit code: only the leaf is recorded */
	WALK_END_GONE,          /* the process is exiting, or executing: its memory is given up */
	/* Of the last address, as to which no frame pointer led to code either: */
	WALK_END_NO_UNWIND_INFO, /* its file has a table, without a rule for it that applies */
	WALK_END_NO_TABLE,       /* its file has no table: not built yet, or there is no room */
	WALK_END_NO_MAPPING,     /* it is in no mapping that user space has reported */
	WALK_END_JIT,            /* it is in memory without a file: generated code */
	WALK_END_MAX,
};

enum sample_flag {
	SAMPLE_IN_KERNEL = 1,          /* the tick hit kernel mode */
	SAMPLE_KERNEL_THREAD = 2,      /* no user space at all */
	SAMPLE_KERNEL_STACK_CUT = 4,   /* deeper than SAMPLER_KERNEL_FRAMES */
	SAMPLE_KERNEL_STACK_ERROR = 8, /* bpf_get_stack() failed */
	SAMPLE_BY_TABLES = 16,         /* user space had reported the mappings of the process */
	/*
	 * A step went by frame pointer in code that may not keep it, and led to code: callers may
	 * be missing. A step in generated code is not counted. Also set if the walk ended in such
	 * code, generated or not, because the frame pointer was 0.
	 */
	SAMPLE_GUESSED = 32,
	SAMPLE_CHAIN_CUT =
		64, /* there are more frames of an interpreter than a record has room for */
};

/*
 * Followed by n_chain frames of an interpreter (struct chain_entry in frame_chain.h), then n_kernel
 * + n_user addresses, leaf first: kernel, then user.
 */
struct sample_event {
	struct event_header header;
	/*
	 * The inode number of the task's cgroup in the hierarchy of enum sampler_cgroups; 0 for
	 * its root, and where it is unknown.
	 */
	__u64 cgroup_id;
	char comm[SAMPLER_COMM_BYTES]; /* of the thread-group leader */
	__u32 cost_ns;                 /* that the CPU spent on this sample until it was sent */
	__u16 n_kernel;
	__u16 n_user;
	__u8 end;   /* enum walk_end */
	__u8 flags; /* enum sample_flag */
	/*
	 * SAMPLER_ROOT_AT if frames are left out before the user address with this index, because
	 * the stack is deeper than SAMPLER_USER_FRAMES; else 0.
	 */
	__u16 root_at;
	/*
	 * Indexes among the user addresses, 0 for none: the caller of this frame is on another
	 * stack at lower addresses. Believed only if the function there is known to switch
	 * stacks.
	 */
	__u16 stack_switch[SAMPLER_STACK_SWITCHES];
	__u16 n_chain;
	__u16 n_walked;    /* user frames that were found, n_user of which are in the record */
	__u32 chain_state; /* chain_state_of() in frame_chain.h */
};
_Static_assert(sizeof(struct sample_event) == 80, "sample_event layout");

/* What the kernel's inode says about a file. */
struct event_file {
	__u64 dev; /* of the super block, as the kernel encodes it: major << 20 | minor */
	__u64 ino;
	__u64 size_bytes;
	__u64 mtime_ns; /* since the Unix epoch */
	__u64 ctime_ns;
};
_Static_assert(sizeof(struct event_file) == 40, "event_file layout");

#define SAMPLER_PATH_BYTES 256 /* a power of two */

/*
 * EVENT_EXEC: the program that the process executes from here on. The record ends at a multiple
 * of 8 bytes behind the path's NUL.
 */
struct exec_event {
	struct event_header header;
	__u64 cgroup_id;        /* as in struct sample_event */
	struct event_file file; /* the executable; of a script, its interpreter */
	/*
	 * Where its code is: end_code is the largest end (p_vaddr + p_filesz) of an executable
	 * segment, plus the load bias. start_code is the lowest address of such a segment, or on
	 * some kernels of any segment.
	 */
	__u64 start_code;
	__u64 end_code;
	__u64 vdso; /* address; 0: none */
	/*
	 * As given to execve(2) or written in the script's first line, so it may be relative.
	 * Empty if it is too long.
	 */
	char path[SAMPLER_PATH_BYTES];
};
_Static_assert(sizeof(struct exec_event) == 104 + SAMPLER_PATH_BYTES, "exec_event layout");

/* EVENT_FORK: header names the child, which has the mappings of its parent until it executes. */
struct fork_event {
	struct event_header header;
	__u64 cgroup_id; /* of the parent, as in struct sample_event */
	__u64 parent_start_boottime_ns;
	__u32 parent_tgid;
	__u8 pad[4];
};
_Static_assert(sizeof(struct fork_event) == 56, "fork_event layout");

/*
 * EVENT_MAP, sent before the first samples of a process: where addresses of the next sample lie.
 * From Linux 6.1 on those of all frames that the walk had to look up, from 5.17 on one that is not
 * in the executable.
 */
struct map_event {
	struct event_header header;
	struct event_file file;
	__u64 start;
	__u64 end;         /* exclusive */
	__u64 page_offset; /* of start in the file, in pages */
};
_Static_assert(sizeof(struct map_event) == 96, "map_event layout");

/*
 * One set per CPU, only ever growing:
 * ticks == idle + excluded + sent + lost_ring_full + lost_no_task.
 */
struct sampler_counters {
	__u64 ticks;          /* how often the program ran */
	__u64 idle;           /* pid 0: not a sample */
	__u64 excluded;       /* not taken: enum sampler_exclude */
	__u64 sent;           /* samples in the ring buffer */
	__u64 lost_ring_full; /* samples dropped because the ring was full */
	__u64 lost_no_task;   /* samples whose process could not be read */
	__u64 events_sent;    /* exec, fork, exit, map, code */
	__u64 events_lost;    /* likewise, dropped because the ring was too full */
	__u64 kernel_stack_errors;
	__u64 wakeups; /* of user space */
};
_Static_assert(sizeof(struct sampler_counters) == 80, "sampler_counters layout");

#endif /* BPF_SAMPLE_EVENT_H */
