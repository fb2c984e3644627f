/* The walk over frames of an interpreter that are elements of stacks. */
#include "test/lib/chain_host.h"

#define STACKS 3072u /* word of the first stack; 4 words each */
#define ELEMENTS 3200u
#define ELEMENT_WORDS 4u
#define STACK_ELEMENTS_MAX 16u
#define PLACES 4500u /* what frames have as their place; 2 words each */

enum kind { KIND_BLOCK, KIND_LOOP, KIND_SUB, KIND_EVAL };

#define HIDDEN_EVAL (KIND_EVAL | 0x40u)
#define HIDDEN_SUB (KIND_SUB | 0x80u)
#define JOINED_SUB (KIND_SUB | 0x20u)

static unsigned n_stacks, n_elements;

static struct chain_layout layout_of_stacks(void)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.first_at = (struct chain_path){.origin = CHAIN_THREAD, .n_steps = 2, .steps = {0, 16}};
	l.frames = (struct chain_frames){.next_is = CHAIN_NEXT_ELEMENT,
					 .n_bytes = 32,
					 .at = 8,
					 .end = 16,
					 .code = 24,
					 .next = -(int)(ELEMENT_WORDS * 8)};
	l.stacks = (struct chain_stacks){
		.last = 8,
		.below = 16,
		.frames = 1 << KIND_BLOCK | 1 << KIND_SUB | 1 << KIND_EVAL,
		.coded = 1 << KIND_SUB,
		.mark = 24,
		.hidden_mask = 0x4f,
		.hidden = HIDDEN_EVAL,
		.hidden_mask_too = 0x8f,
		.hidden_too = HIDDEN_SUB,
		.joined = KIND_BLOCK,
		.joined_mask = 0x2f,
		.joined_too = JOINED_SUB,
		.name = 8,
		.flags = 12,
		.at_check_more = 8,
		.named = 0x8000,
	};
	return l;
}

/* Stacks and elements are added from the outermost on. */
static void stack(void)
{
	unsigned word = STACKS + 4 * n_stacks;

	host.stack[word] = at(ELEMENTS + n_stacks * STACK_ELEMENTS_MAX * ELEMENT_WORDS);
	host.stack[word + 1] = UINT32_MAX; /* none */
	host.stack[word + 2] = n_stacks > 0 ? at(word - 4) : 0;
	host.stack[2] = at(word);
	n_stacks++;
	n_elements = 0;
}

static uint64_t place(unsigned n)
{
	return at(PLACES + 2 * n);
}

/* code n: an object that has the name of one; 0: nothing. */
static void element(unsigned kind, unsigned code, unsigned caller_at, bool ends)
{
	unsigned number = (n_stacks - 1) * STACK_ELEMENTS_MAX + n_elements;
	unsigned word = ELEMENTS + number * ELEMENT_WORDS, body = CODE + 256 + 4 * code;

	host.stack[STACKS + 4 * (n_stacks - 1) + 1] = 0xabcdef00000000 + n_elements;
	n_elements++;
	host.stack[word] = 0x5500 | kind;
	host.stack[word + 1] = place(caller_at);
	host.stack[word + 2] = !ends;
	if (code == 0)
		return;
	host.stack[word + 3] = at(CODE + 128 + code);
	host.stack[CODE + 128 + code] = at(body);
	host.stack[body + 1] = at(CODE + code);
	host.stack[CODE + code] = 0x77000 + code;
}

static void begin_stacks(void)
{
	const struct chain_layout l = layout_of_stacks();

	begin(&l);
	n_stacks = 0;
	host.stack[3] = place(1);
	for (unsigned i = 1; i < 10; i++) {
		host.stack[PLACES + 2 * i] = (uint64_t)i << 32 | 0x100;
		host.stack[PLACES + 2 * i + 1] = 0x9000 + i;
	}
}

static void check_kind(unsigned i, uint64_t code, unsigned where, uint32_t index)
{
	const struct chain_entry *e = &host.chain.entries[i];
	uint64_t object = code >= CHAIN_CODES ? 0x77000 + (code - at(CODE)) / 8 : 0;
	uint32_t of_place = chain_check_place((uint64_t)where << 32 | 0x100, 0x9000 + where);

	assert_int_equal(chain_entry_code(e), code);
	assert_int_equal(chain_entry_at(e), place(where));
	assert_int_equal(chain_entry_index(e), index);
	assert_int_equal(chain_entry_check(e), chain_check_both(chain_check(object), of_place));
}

TEST(frames_may_be_elements_of_stacks)
{
	begin_stacks();
	native(HELPER);
	native(LOOP);
	native(HELPER);
	native(LOOP);
	native(START);
	stack();
	element(KIND_LOOP, 0, 9, true);
	element(KIND_SUB, 3, 5, false);
	element(KIND_EVAL, 0, 4, false);
	stack(); /* nothing has been called there yet */
	stack();
	element(KIND_SUB, 2, 3, true);
	element(KIND_LOOP, 0, 9, true);
	element(KIND_SUB, 1, 2, false);
	walk_all(5);
	check_kind(0, at(CODE + 1), 1, 1);
	check_kind(1, at(CODE + 2), 2, 1);
	check_kind(2, chain_code_of_kind(KIND_EVAL, 0), 3, 3);
	check_kind(3, at(CODE + 3), 4, 3);
	check_kind(4, 0, 5, 3);
}

TEST(a_call_from_outside_ends_a_run_within_a_stack)
{
	begin_stacks();
	native(LOOP);
	native(HELPER);
	native(LOOP);
	native(HELPER);
	native(LOOP);
	native(START);
	stack();
	element(KIND_SUB, 3, 4, true);
	element(HIDDEN_EVAL, 0, 9, true); /* begins with what ends the run above */
	element(KIND_SUB, 2, 3, true);
	element(KIND_SUB, 1, 2, false);
	walk_all(4);
	check_kind(0, at(CODE + 1), 1, 0);
	check_kind(1, at(CODE + 2), 2, 0);
	check_kind(2, at(CODE + 3), 3, 2);
	check_kind(3, 0, 4, 4);
}

TEST(a_block_that_is_run_by_itself_is_the_end_of_a_run)
{
	begin_stacks();
	native(LOOP);
	native(HELPER);
	native(LOOP);
	native(START);
	stack();
	element(KIND_SUB, 3, 5, false);
	stack();
	element(KIND_BLOCK, 0, 4, true);
	element(KIND_SUB, 1, 2, true); /* its last call has nothing to return to */
	walk_all(4);
	check_kind(0, at(CODE + 1), 1, 0);
	check_kind(1, chain_code_of_kind(KIND_BLOCK, 0), 2, 0);
	check_kind(2, at(CODE + 3), 4, 2);
	check_kind(3, 0, 5, 2);
	/* so is a sub of some kind, but for one that stands for another */
	host.stack[ELEMENTS + STACK_ELEMENTS_MAX * ELEMENT_WORDS] = JOINED_SUB;
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	walk_all(4);
	assert_int_equal(chain_entry_index(&host.chain.entries[1]), 0);
	host.stack[ELEMENTS + STACK_ELEMENTS_MAX * ELEMENT_WORDS] = HIDDEN_SUB;
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	walk_all(3);
	check_kind(0, at(CODE + 1), 1, 0);
	check_kind(1, at(CODE + 3), 2, 2);
}

/* What has its name is sent in place of a code object, unless that is named itself. */
TEST(a_code_object_may_be_named_itself)
{
	begin_stacks();
	native(LOOP);
	native(START);
	stack();
	element(KIND_SUB, 1, 2, false);
	host.stack[CODE + 256 + 4 + 1] = 0; /* it has no name any more */
	walk_all(2);
	assert_int_equal(chain_entry_code(&host.chain.entries[0]), at(CODE + 129));
	host.stack[CODE + 256 + 4 + 1] = at(CODE + 1);
	host.stack[CODE + 256 + 4] = 0;
	memcpy((uint8_t *)&host.stack[CODE + 256 + 4] + 12, &(uint32_t){0x18000}, 4);
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	walk_all(2);
	assert_int_equal(chain_entry_code(&host.chain.entries[0]), at(CODE + 129));
}

TEST(stacks_without_end_are_cut)
{
	begin_stacks();
	native(LOOP);
	native(START);
	stack();
	element(KIND_LOOP, 0, 2, false);
	host.stack[STACKS + 2] = at(STACKS); /* below itself */
	walk_all(0);
	assert_true(host.chain.cut);
	host.stack[STACKS + 2] = 0;
	host.stack[STACKS + 1] = INT32_MAX; /* elements that are not there */
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	walk_all(0);
	assert_true(host.chain.broken);
}
