/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What a walk over a user stack keeps from one step to the next, in a map: it is too large for the
 * stack of a BPF program, and global functions, which the verifier checks by themselves, take no
 * pointers to it.
 */
#ifndef BPF_WALK_STATE_BPF_H
#define BPF_WALK_STATE_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "sample_event.h"
#include "unwind_table.h"

#define WALK_REGISTERS 32 /* by DWARF number; a power of two */

#if defined(__TARGET_ARCH_x86)
#define SAVED_REGISTERS 21 /* at the entry into the kernel: struct pt_regs */
#elif defined(__TARGET_ARCH_arm64)
#define SAVED_REGISTERS 34 /* struct user_pt_regs */
#else
#error "registers of this architecture are not known"
#endif

#define VMA_NODE_WORDS 32 /* of struct maple_node */

/* The mappings of the process, and the one that was found last. */
struct unwind_mappings {
	struct unwind_ref starts;
	struct unwind_ref mappings[2];
	struct unwind_ref chain;
	__u32 n;
	__u32 flags; /* enum unwind_process_flag */
	__u64 start; /* of the one found last */
	__u64 bytes; /* 0: none was found */
	__u64 bias;
	__u64 used_at; /* for unwind_used */
	__u32 table;
};

#define USER_WORDS 32 /* a power of two */

/* Memory of the process, from an address on (user_memory.bpf.h). */
struct user_words {
	__u64 at;
	__u64 bytes; /* 0: none was read */
	__u64 words[USER_WORDS];
};

#define UNWIND_RECENT 1024 /* a power of two */

/* A rule that was found lately, on this CPU (unwind_lookup.bpf.h). */
struct unwind_recent {
	__u64 key; /* 0: none */
	struct unwind_rule rule;
};
_Static_assert(sizeof(struct unwind_recent) == 16, "unwind_recent layout");

/* Values of walk.rbx_at that are no address. */
#define WALK_RBX_IN_REGISTER 0 /* it is that of registers */
#define WALK_RBX_LOST 1

struct walk {
	__u64 ip; /* of the current frame: the leaf's address, then return addresses */
	__u64 sp;
	__u64 fp;
	__u64 rbx_at;                    /* where a frame below has saved the current frame's rbx */
	__u64 registers[WALK_REGISTERS]; /* known if exact */
	__u64 saved[SAVED_REGISTERS];    /* room to read them */
	struct unwind_mappings mappings; /* if by_tables */
	struct user_words stack;
	__u64 jvm_low;    /* code that a JVM has made */
	__u64 jvm_bytes;  /* 0: it is no JVM */
	__u64 loop;       /* of an interpreter, if chained: where it may be */
	__u64 loop_bytes; /* 0: nowhere */
	bool sp_is_low;   /* sp may be below that of the current frame, which fp tells */
	bool exact;       /* ip is where the code was interrupted, not a return address */
	bool was_exact;   /* the frame below was exact */
	bool by_tables;   /* user space has reported the mappings of the process */
	bool guessed;     /* a step went by frame pointer, in code that may not keep it */
	bool descended;   /* the last step went to a lower address: another stack */
	bool told;        /* where that is, memory said, as the code's rule has it */
	bool descending;  /* the next one will, if it goes by frame pointer */
	bool compat;      /* 32-bit code */
	bool chained;     /* frames of an interpreter are taken, too */
};

#define WALK_VMAS 8 /* a power of two */

struct scratch {
	__u64 early_wakeup_ns; /* time of this CPU's last one */
	__u32 n_addrs;
	__u32 n_user;   /* frames that were found; more than were kept if there are very many */
	__u32 n_walked; /* frames that were found; n_user is how many are kept after the walk */
	__u32 n_switches;
	__u32 last_switch;
	__u32 n_told;  /* steps to lower addresses that rules said */
	__u64 told_sp; /* where one of these led */
	int end;       /* of the walk: an enum walk_end, or WALK_CONTINUES */
	struct walk walk;
	struct unwind_recent recent[UNWIND_RECENT]; /* kept from walk to walk */
	__u64 vma; /* while a mapping is looked up: an entry of the kernel's tree */
	__u64 node[VMA_NODE_WORDS]; /* room to read a node of that tree */
	struct event_file file;     /* of the mapping; all 0: the vDSO */
	__u64 vmas[WALK_VMAS];      /* different ones that the walk has found in that tree */
	__u32 n_vmas;
	__u64 root[SAMPLER_ROOT_FRAMES]; /* the last frames: a ring */
	struct sample_event event;       /* addrs must follow: they are sent as one piece */
	__u64 addrs[SAMPLER_MAX_ADDRS];
};
_Static_assert(sizeof(struct scratch) <= 32768, "the most that the kernel allocates for each CPU");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct scratch);
	__uint(max_entries, 1);
} scratch SEC(".maps");

static __always_inline struct scratch *get_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

/*
 * An index, masked where the verifier sees it: clang would leave out a mask that it can prove
 * unnecessary, while verifiers before 6.12 cannot.
 */
static __always_inline __u64 unwind_masked(__u64 index, __u64 n)
{
	barrier_var(index);
	return index & (n - 1);
}

/*
 * Asks the kernel for the mapping of an address, into the walk's struct unwind_mappings. Returns
 * whether there is one. In vma_lookup.bpf.h, which cannot be compiled for the host.
 */
int find_vma_of(__u64 address);

#endif /* BPF_WALK_STATE_BPF_H */
