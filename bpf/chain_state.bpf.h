/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What a walk over frames of an interpreter (chain_walk.bpf.h) keeps from one step to the next, and
 * how it adds a frame to the record.
 */
#ifndef BPF_CHAIN_STATE_BPF_H
#define BPF_CHAIN_STATE_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "frame_chain.h"
#include "sample_event.h"
#include "walk_state.bpf.h"

#define CHAIN_RECENT 256 /* sets of code objects that are remembered; a power of two */
#define CHAIN_WAYS 4     /* code objects of a set */
#define CHAIN_TAKES 2048 /* frames of a chain that are read for one record, at most */
#define CHAIN_FRESH 2    /* code objects that are sent with one record; a power of two */

/* Objects of which pieces are kept (chain_memory.bpf.h). */
enum chain_piece_of {
	CHAIN_FRAME,
	CHAIN_OBJECT, /* its code, or its environment */
	CHAIN_PIECES,
};

struct chain_piece {
	__u64 asked; /* what was wanted last */
	struct user_words words;
};

struct chain_scratch {
	struct chain_layout layout;     /* of the process; a copy */
	__u64 thread_pointer;           /* of the thread */
	__u64 found;                    /* what the path has led to so far */
	__u64 own;                      /* what the path to the first frame starts from */
	__u64 frame;                    /* to be taken next; 0: none */
	__u64 state;                    /* whose frame that is; CHAIN_NEXT_CALL, _SCAN */
	__u64 stack;                    /* whose element that is; CHAIN_NEXT_ELEMENT, as these */
	__u64 first;                    /* its first element; CHAIN_NEXT_SCAN: the end of it */
	__u64 at;                       /* where the frame that is taken next is */
	__u64 anchor;                   /* of the run that is taken next; 0: not known */
	__u64 low, high;                /* of the native frame whose run is taken; its stack */
	__u64 owner;                    /* of the frame in words; 0: none */
	__u64 run_frame;                /* where the run began, as the next */
	__u64 words_of;                 /* the frame that was read last */
	__u64 again_at, again;          /* a word that the next frame may need, too */
	__u64 below;                    /* CHAIN_NEXT_SLOT, as the next: the state's next C frame */
	__u64 trace;                    /* where generated code has begun, if it runs */
	__u64 c_frame[4];               /* words of the C frame of the loop */
	__u64 kept_at;                  /* where the run's first function is, if `at` is wrong */
	__u64 running, running_frame;   /* the task that runs, and its frame; 0: none */
	__u64 task;                     /* whose frames are taken, as the next ones; 0: none */
	__u64 task_read;                /* the one that was read last */
	__u64 coroutine;                /* to be taken next; 0: none */
	__u64 awaited_by;               /* the task is */
	__u64 task_name;                /* of the task; 0: none */
	__u64 words[CHAIN_FRAME_WORDS]; /* of a stack, or of code */
	__u32 turn_from, turn_to;       /* frames of a task that are to be turned round */
	__u32 n_task_steps;
	__u32 run_n;
	__u32 index; /* of the native frame */
	__u32 n_taken;
	__u32 n_states;      /* that were entered; CHAIN_NEXT_CALL, as the next ones */
	__u32 n_rest;        /* runs that no call of the loop was left for */
	__u32 n_compiled;    /* frames up to the last one that is no C function */
	__u32 n_left;        /* native frames in the loop that came after the end of the chain */
	__u32 left;          /* 1 + the index of one of them */
	bool broken;         /* a frame could not be read */
	bool ends;           /* the run does, unless the next frame joins it; CHAIN_NEXT_ELEMENT */
	bool leaving;        /* all frames of a state are taken, as another one is entered */
	bool rest;           /* run after run is taken, up to the end of the chain */
	bool cut;            /* there are more frames than entries */
	bool is_first;       /* of its run; CHAIN_NEXT_SLOT, as the next */
	bool generated;      /* the native frame is generated code */
	bool is_between;     /* the call of the loop has no function yet, or no more */
	bool is_loose;       /* `at` is the register that what says the caller is stored from */
	bool awaited_by_set; /* awaited_by is a set */
	bool fresh;          /* a code object was not among those that were seen lately */
	__u32 tgid;
	__u32 loop_table; /* of the file that has the loop; CHAIN_IN_NATIVE */
	__u32 n_fresh;    /* of those, how many are to be sent */
	__u32 n_saved;    /* words below the return address of the loop; CHAIN_IN_LOOPS_FRAME */
	struct chain_entry fresh_entries[CHAIN_FRESH];
	struct code_event code;
	struct chain_piece pieces[CHAIN_PIECES];
	__u32 recent[CHAIN_RECENT][CHAIN_WAYS];
	struct sample_event event;
	struct chain_entry
		entries[CHAIN_ENTRIES]; /* these two must follow: all is sent as one piece */
	__u64 addrs[SAMPLER_MAX_ADDRS];
};
_Static_assert(sizeof(struct chain_scratch) <= 32768, "the most that the kernel allocates");
_Static_assert(sizeof(struct sample_event) % sizeof(__u64) == 0, "no padding behind it");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct chain_scratch);
	__uint(max_entries, 1);
} chain_scratch SEC(".maps");

static __always_inline struct chain_scratch *get_chain_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&chain_scratch, &zero);
}

static __always_inline __u64 chain_word_at(__u64 address)
{
	__u64 word;

	return bpf_probe_read_user(&word, sizeof(word), (void *)address) ? 0 : word;
}

/* Without what the check has of the place in the code. */
static __always_inline __u32 chain_check_of_code(const struct chain_scratch *c,
						 const struct chain_entry *e)
{
	const struct chain_frames *f = &c->layout.frames;
	__u32 check = chain_entry_check(e);

	if (f->next_is == CHAIN_NEXT_ELEMENT)
		return check & CHAIN_CHECK_HALF;
	return check >> (f->owner.environment ? CHAIN_AT_BITS : 0);
}

/*
 * Notes a code object that was not seen lately. If there are too many, the next sample that has it
 * sends it. Some of the same hash have room beside each other: else two of a stack could make each
 * other new in every sample. Layouts without texts send none.
 */
static __always_inline void chain_note_code(struct chain_scratch *c, const struct chain_entry *e)
{
	__u64 word = chain_entry_code(e) ^ (__u64)chain_check_of_code(c, e) << 41;
	__u64 hash = (word ^ (__u64)c->tgid << 16) * 0x9e3779b97f4a7c15;
	__u32 *set = c->recent[unwind_masked(hash >> 56, CHAIN_RECENT)];
	__u32 tag = (__u32)(hash >> 16), n = c->n_fresh;

	if (set[0] == tag || set[1] == tag || set[2] == tag || set[3] == tag)
		return;
	c->fresh = true;
	if (c->layout.texts[0]) {
		if (n >= CHAIN_FRESH)
			return;
		c->fresh_entries[unwind_masked(n, CHAIN_FRESH)] = *e;
		c->n_fresh = n + 1;
	}
	set[3] = set[2];
	set[2] = set[1];
	set[1] = set[0];
	set[0] = tag;
}

static __always_inline void chain_push_entry(struct chain_scratch *c, __u64 code, __u64 at,
					     __u32 check)
{
	__u32 n = c->event.n_chain;
	struct chain_entry *e = &c->entries[unwind_masked(n, CHAIN_ENTRIES)];

	if (n >= CHAIN_ENTRIES - 1) {
		c->cut = true;
		c->frame = 0;
		return;
	}
	*e = chain_entry(code, at, c->index, check);
	c->event.n_chain = (__u16)(n + 1);
	chain_note_code(c, e);
}

int chain_add_entry(__u64 code, __u64 at, __u32 check);

/* The same as a global function, which is verified once, for what is done in several places. */
__noinline int chain_add_entry(__u64 code, __u64 at, __u32 check)
{
	struct chain_scratch *c = get_chain_scratch();

	if (c)
		chain_push_entry(c, code, at, check);
	return 0;
}

#endif /* BPF_CHAIN_STATE_BPF_H */
