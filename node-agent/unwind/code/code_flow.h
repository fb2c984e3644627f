/*
 * The states of all instructions of a piece of code, as far as control flow leads to them from
 * known starts of functions. Pure. What it assumes is said in code_flow.c, and in code_guess.c for
 * what nothing leads to.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_FLOW_H
#define NODE_AGENT_UNWIND_CODE_CODE_FLOW_H

#include "common/base.h"
#include "node-agent/unwind/code/code_state.h"

/* Code that is analysed at once. */
#define CODE_FLOW_MAX_BYTES (1u << 20)

/* Per byte of code: what is known of an instruction that begins there. */
enum code_flag {
	CODE_CALLED = 1,     /* a function begins: a call leads here, or other programs know it */
	CODE_LIKELY = 2,     /* a function begins, if nothing else is found out */
	CODE_NO_START = 4,   /* but something else was found out */
	CODE_BEHIND = 8,     /* its state is that behind a call, which may not return */
	CODE_NO_RETURN = 16, /* a call which does not */
	CODE_HANDLER = 32,   /* what handlers of signals return to begins here */
	CODE_TRIED = 64,     /* its state is that of a trial */
	CODE_NEVER = 128,    /* the function that begins here does not return */
};

enum code_way {
	CODE_BY_JUMP,
	CODE_BY_FALLING,
	CODE_BY_RETURNING, /* from a call */
};

struct code_edge {
	uint32_t to;
	uint16_t state;
};

/* Ends of ways that are still to be followed. */
struct code_edges {
	struct code_edge *items;
	size_t n, max;
};

struct code_arrival {
	uint32_t at;
	struct code_state state;
};

/* A hypothesis that is tried: what was written is undone if it does not fit. */
struct code_trial {
	bool is_on;
	bool is_entry;     /* its state is that of a function's start */
	uint32_t *written; /* places */
	size_t n, max;
	uint32_t n_fitting; /* ends that agree with what is known */
	uint32_t n_misfits;
	struct code_edges later; /* of the trial */
};

/*
 * Whether a function elsewhere never returns: the one at this address, or, if is_slot, the one
 * whose address the loader puts there.
 */
typedef bool code_never_fn(void *ctx, uint64_t address, bool is_slot);

struct code_flow {
	const uint8_t *code; /* borrowed */
	uint32_t len;
	uint64_t address;     /* of the code */
	code_never_fn *never; /* NULL: nothing is known */
	void *ctx;
	/* Whether a call that ends before `next` is likely to return there, in this state. */
	bool (*may_return)(struct code_flow *f, uint32_t next, uint16_t number);
	uint16_t *numbers;               /* of states; per byte of code */
	struct x86_instruction *decoded; /* likewise; len 0: not yet. NULL: none is kept */
	struct x86_instruction *room;    /* for them, of a small piece */
	uint8_t *flags;                  /* enum code_flag; likewise */
	uint8_t *taken;                  /* a bit per byte of code: something has its address */
	struct code_states states;
	struct code_arrival *arrivals; /* of jumps from elsewhere */
	size_t n_arrivals, max_arrivals;
	struct code_edges now, later; /* a stack; a heap by address, of CODE_BY_RETURNING */
	struct code_trial trial;
	unsigned max_rounds;
	uint64_t left_steps; /* instructions that may still be looked at */
	bool is_aligned;     /* functions begin at addresses that are multiples of 16 */
	bool learned;        /* something that makes another round worth while */
	bool failed;         /* for lack of memory */
};

/* Returns 0 or -ENOMEM. code_flow_free() frees it. */
int code_flow_new(struct code_flow **ret) MUST_CHECK;
void code_flow_free(struct code_flow *f);
DEFINE_CLEANUP(struct code_flow *, code_flow_free);

/* Another piece of code, at most CODE_FLOW_MAX_BYTES, of which nothing is known yet. */
void code_flow_begin(struct code_flow *f, const uint8_t *code, uint32_t len, uint64_t address);

/* A function begins here: of a called one this is certain. */
void code_flow_add_start(struct code_flow *f, uint32_t at, enum code_flag flag);

/* Something has the address of this code: of a function, mostly. */
void code_flow_add_taken(struct code_flow *f, uint32_t at);
bool code_flow_is_taken(const struct code_flow *f, uint32_t at);

/* A jump from elsewhere leads here, in this state. */
void code_flow_add_arrival(struct code_flow *f, uint32_t at, const struct code_state *s);

/* The first place from `at` on that something leads to, or that is no padding. */
uint32_t code_flow_skip_padding(const struct code_flow *f, uint32_t at);

/* ---- for those who follow it ---- */

/* As x86_decode() does, of the instruction that begins here. */
size_t code_flow_decode(const struct code_flow *f, uint32_t at, struct x86_instruction *ret);

/* Whether what this instruction calls, or jumps to from a function's end, never returns. */
bool code_flow_is_never(const struct code_flow *f, uint32_t next, const struct x86_instruction *i);
uint32_t code_flow_target(uint32_t next, const struct x86_instruction *i);

/* Counts instructions that were examined without executing them. */
void code_flow_count_steps(struct code_flow *f, uint32_t n);
/* Adds a path for code_flow_follow(). */
void code_flow_add_edge(struct code_flow *f, uint32_t to, uint16_t state);
/* Follows all ways from here on. */
void code_flow_follow(struct code_flow *f, uint32_t at, uint16_t number);
bool code_flow_is_start(const struct code_flow *f, uint32_t at);

#endif /* NODE_AGENT_UNWIND_CODE_CODE_FLOW_H */
