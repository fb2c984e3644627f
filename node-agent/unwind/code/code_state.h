/*
 * What is known of a frame before an instruction: where the registers and saved registers are that
 * its caller is found by; and how an instruction changes that. Pure.
 *
 * All is relative to the canonical frame address (CFA), the caller's stack pointer: a function
 * begins with the stack pointer 8 bytes below it, at the return address. Where a function aligns
 * its stack or allocates from it, the distance is lost; from then on the stack pointer is relative
 * to a place that is not known, and the CFA has to be found by another register, or by a word of
 * the stack, that has kept it.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_STATE_H
#define NODE_AGENT_UNWIND_CODE_CODE_STATE_H

#include <linux/types.h>

#include "common/base.h"
#include "common/elf/x86_decode.h"

#include "bpf/unwind_table.h"

enum code_base {
	CODE_NONE,      /* not known; of a place: there is none */
	CODE_CFA,       /* CFA + offset */
	CODE_ELSEWHERE, /* a place in the frame that is not known + offset */
	CODE_CALLERS,   /* the caller's value of this register */
};

struct code_value {
	int32_t offset; /* in bytes */
	uint32_t base;  /* enum code_base */
};

enum code_frame {
	CODE_FRAME,     /* of a function that was called */
	CODE_OUTERMOST, /* of a function without a caller */
	CODE_SIGNAL,    /* where handlers of signals return to; only the kernel's frame is there */
	CODE_STRANGE,   /* the return address is not where the call put it: nothing is known */
};

/* Compared and hashed as bytes. */
struct code_state {
	struct code_value sp;
	struct code_value bp;
	struct code_value
		bp_at; /* place of the caller's rbp, while the register has another value */
	/* A place that holds the address of CFA + its offset. */
	struct code_value cfa_at;
	int32_t cfa_at_offset;
	/* A third register that has CFA + offset; CODE_NONE: none is needed. */
	uint32_t other_register;
	struct code_value other;
	uint32_t kind; /* enum code_frame */
};
_Static_assert(sizeof(struct code_state) == 52, "no padding");

/* At the first instruction of a function. */
extern const struct code_state code_state_entry;
/* That of a function which nothing has called. */
extern const struct code_state code_state_outermost;
extern const struct code_state code_state_signal;
extern const struct code_state code_state_strange;

/* The state after the instruction; of a jump or branch, that at its target, too. */
void code_state_step(struct code_state *s, const struct x86_instruction *i);

/*
 * What is known where several states meet: what is the same in all. Returns whether *s has
 * changed.
 */
bool code_state_meet(struct code_state *s, const struct code_state *other);

/* Whether both have their callers at the same places: whether one may be what the other one is. */
bool code_state_agrees(const struct code_state *s, const struct code_state *other);

/* Whether a return may be executed in this state, as far as is known. */
bool code_state_may_return(const struct code_state *s);

/* Whether stack and frame pointer are as at the first instruction: at returns and tail calls. */
bool code_state_is_callers(const struct code_state *s);

/*
 * After a comparison whose operands were equal: a loop that probes the stack ends when the stack
 * pointer is where a register is. Returns whether *s has changed.
 */
bool code_state_equal(struct code_state *s, const struct x86_instruction *compare);

/* The rule for an instruction before which this is known; "unknown" if that is not enough. */
struct unwind_rule code_state_rule(const struct code_state *s);

/* ---- the different states of a piece of code, numbered: instructions share most of them ---- */

#define CODE_STATES_MAX 8192u

/* Numbers that are always there. */
enum {
	CODE_UNREACHED, /* no state: nothing leads there */
	CODE_UNKNOWN,   /* code_state_strange */
	CODE_ENTRY,     /* code_state_entry */
	CODE_END,       /* code_state_outermost */
	CODE_HANDLED,   /* code_state_signal */
	CODE_STATES_FIXED,
};

struct code_states {
	uint32_t n;
	struct code_state states[CODE_STATES_MAX];
	uint16_t bucket_of[CODE_STATES_MAX];
	uint16_t buckets[2 * CODE_STATES_MAX]; /* numbers of states; 0: free */
};

/* Forgets all others. */
void code_states_reset(struct code_states *d);

/* The number of this state; CODE_UNKNOWN if there are too many. */
uint16_t code_states_number(struct code_states *d, const struct code_state *s);

#endif /* NODE_AGENT_UNWIND_CODE_CODE_STATE_H */
