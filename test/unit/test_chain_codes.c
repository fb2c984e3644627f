/* What the walk over frames of an interpreter sends of code objects. */
#include "test/lib/chain_host.h"

/* A code object that is sent has the words behind its pointers. */
static void check_kept(unsigned number, unsigned code, uint64_t text)
{
	const struct code_event *e = &host.chain.code;

	assert_true(chain_keep(number));
	assert_int_equal(chain_entry_code(&e->entry), at(CODE + 2 * code));
	assert_int_equal(e->at[0], at(CODE + 2 * code));
	assert_int_equal(e->n_bytes[0], sizeof(e->words[0]));
	assert_int_equal(e->words[0][1], 0xabc000 + code);
	assert_int_equal(e->at[1], at(200));
	assert_int_equal(e->words[1][0], text);
	assert_int_equal(e->at[2], 0x77); /* where the frame is; nothing is there */
	assert_int_equal(e->n_bytes[2], 0);
	assert_int_equal(e->n_bytes[3], 0);
}

/* The same stack once more. */
static void walk_again(void)
{
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
}

TEST(code_objects_that_are_new_are_sent_two_with_each_sample)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.texts[0] = 8 * 20;
	l.texts[1] = CHAIN_TEXT_AT;
	l.texts[2] = sizeof(host.chain.code.words[0]) - 4; /* not inside */
	begin(&l);
	native(LOOP);
	native(START);
	for (unsigned i = 1; i <= 3; i++) {
		frame(i, 0x77, i == 3);
		host.stack[CODE + 2 * i + 20] = at(200);
	}
	host.stack[200] = 0x5555;
	walk_all(3);
	assert_true(host.chain.fresh);
	assert_int_equal(host.chain.n_fresh, 2);
	check_kept(0, 1, 0x5555);
	check_kept(1, 2, 0x5555);
	assert_false(chain_keep(CHAIN_FRESH));
	walk_again();
	assert_true(host.chain.fresh);
	assert_int_equal(host.chain.n_fresh, 1);
	check_kept(0, 3, 0x5555);
	walk_again();
	assert_false(host.chain.fresh);
	assert_int_equal(host.chain.n_fresh, 0);
	/* another object is at the same address */
	host.stack[CODE + 2 * 2 + 1]++;
	walk_again();
	assert_int_equal(host.chain.n_fresh, 1);
}

/* However many of their hashes are alike. */
TEST(what_is_sent_once_is_not_sent_with_every_sample)
{
	const unsigned n = 60;
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.texts[0] = 8;
	begin(&l);
	native(LOOP);
	native(START);
	for (unsigned i = 1; i <= n; i++)
		frame(i, 0x77, i == n);
	for (unsigned i = 0; i < n; i += 2) {
		walk_again();
		assert_int_equal(host.chain.n_fresh, 2);
	}
	walk_again();
	assert_int_equal(host.chain.n_fresh, 0);
	assert_false(host.chain.fresh);
}

TEST(code_objects_without_texts_are_not_sent)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	begin(&l);
	native(LOOP);
	native(START);
	frame(1, 0x77, 1);
	walk_again();
	assert_true(host.chain.fresh);
	assert_int_equal(host.chain.n_fresh, 0);
	walk_again();
	assert_false(host.chain.fresh);
}

TEST(of_a_code_object_in_front_of_what_is_not_mapped_its_page_is_sent)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.texts[0] = 8;
	begin(&l);
	native(LOOP);
	native(START);
	frame(1, 0x77, 1);
	host.stack[CHAINED + 1] = at(HOST_STACK_WORDS - 4);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.chain.n_fresh, 1);
	assert_true(chain_keep(0));
	assert_int_equal(host.chain.code.n_bytes[0], 32);
	host.stack[CHAINED + 1] = 0x5000;
	walk_again();
	assert_int_equal(host.chain.n_fresh, 1);
	assert_false(chain_keep(0));
}
