/* The walk of x86-64 over stacks and by tables that are written by hand. */
#include "test/lib/walk_program.h"

TEST(the_cfa_is_above_the_stack_pointer)
{
	const struct unwind_rule rule = {.base = UNWIND_CFA_SP, .cfa = 4};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	host.stack[13] = in_function(2);
	check_one_step(stack_at(14), 0x1234);
}

TEST(the_frame_pointer_is_restored_from_below_the_cfa)
{
	const struct unwind_rule beside = {UNWIND_CFA_SP, UNWIND_FP_AT_CFA, 4, -2, 0};
	const struct unwind_rule apart = {UNWIND_CFA_SP, UNWIND_FP_AT_CFA, 4, -4, 0};

	make_program((struct unwind_rule[]){unknown, beside, end}, 3);
	host.stack[12] = 0x5678;
	host.stack[13] = in_function(2);
	check_one_step(stack_at(14), 0x5678);
	make_program((struct unwind_rule[]){unknown, apart, end}, 3);
	host.stack[10] = 0x9abc;
	host.stack[13] = in_function(2);
	check_one_step(stack_at(14), 0x9abc);
}

TEST(the_cfa_is_above_the_frame_pointer)
{
	const struct unwind_rule rule = {UNWIND_CFA_FP, UNWIND_FP_AT_CFA, 2, -2, 0};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	w->fp = stack_at(20);
	host.stack[20] = 0x5678;
	host.stack[21] = in_function(2);
	check_one_step(stack_at(22), 0x5678);
}

TEST(a_frame_may_be_larger_than_half_a_megabyte)
{
	const uint32_t words = 70000;
	const struct unwind_rule rule = {UNWIND_CFA_SP, 0, words & 0xffff, 0, words >> 16};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	host.stack[100] = in_function(2);
	w->sp = stack_at(101) - words * 8;
	check_one_step(stack_at(101), 0x1234);
}

/* Stacks that a function has aligned: the CFA is in the frame. */
TEST(the_cfa_is_read_from_the_stack)
{
	const struct unwind_rule at_fp = {UNWIND_CFA_AT_FP, UNWIND_FP_AT_FP, (uint16_t)-1, 0, 0};
	const struct unwind_rule at_sp = {UNWIND_CFA_AT_SP, UNWIND_FP_AT_SP, 3, 1, 1};

	make_program((struct unwind_rule[]){unknown, at_fp, end}, 3);
	w->fp = stack_at(20);
	host.stack[19] = stack_at(30);
	host.stack[20] = 0x5678;
	host.stack[29] = in_function(2);
	check_one_step(stack_at(30), 0x5678);
	make_program((struct unwind_rule[]){unknown, at_sp, end}, 3);
	host.stack[13] = stack_at(40);
	host.stack[11] = 0x9abc;
	host.stack[40] = in_function(2);
	check_one_step(stack_at(41), 0x9abc);
}

TEST(the_plt_pushes_within_an_entry)
{
	const struct unwind_rule rule = {.base = UNWIND_CFA_PLT, .cfa = 11};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	host.stack[10] = host.stack[11] = in_function(2);
	w->ip = BIAS + TEXT_AT + FUNCTION_BYTES + 16 + 10;
	check_one_step(stack_at(11), 0x1234);
	w->ip = BIAS + TEXT_AT + FUNCTION_BYTES + 16 + 11;
	w->sp = stack_at(10);
	w->fp = 0x1234;
	check_one_step(stack_at(12), 0x1234);
}

TEST(registers_are_known_at_the_tick_only)
{
	const struct unwind_rule by_rbx = {.base = UNWIND_CFA_REGISTER + 3, .cfa = 2};
	const struct unwind_rule vfork = {
		.base = UNWIND_CFA_SP, .how = UNWIND_RA_REGISTER, .aux = 5};

	make_program((struct unwind_rule[]){unknown, by_rbx, end}, 3);
	w->registers[3] = stack_at(50);
	host.stack[51] = in_function(2);
	check_one_step(stack_at(52), 0x1234);

	make_program((struct unwind_rule[]){unknown, vfork, end}, 3);
	w->registers[5] = in_function(2);
	check_one_step(stack_at(10), 0x1234);

	make_program((struct unwind_rule[]){unknown, by_rbx, end}, 3);
	w->registers[3] = stack_at(50);
	host.stack[51] = in_function(1); /* where rbx is another one */
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 2);
}

/* The frame after that of the tick has its CFA in rax, which the leaf has left alone. */
TEST(registers_are_used_once_more_if_they_are_likely)
{
	const struct unwind_rule leaf = {.base = UNWIND_CFA_SP, .cfa = 1};
	const struct unwind_rule by_rax = {.base = UNWIND_CFA_REGISTER + 0, .cfa = 1};
	const struct unwind_rule rules[] = {unknown, leaf, end, by_rax, leaf};

	make_program(rules, 5);
	host.stack[10] = in_function(3);
	w->registers[0] = stack_at(20);
	host.stack[20] = in_function(2);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 3);

	host.stack[20] = 0x12345678; /* not code */
	w->ip = in_function(1);
	w->sp = stack_at(10);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	host.stack[20] = in_function(2);
	w->registers[0] = stack_at(20) + 4; /* not aligned */
	w->ip = in_function(1);
	w->sp = stack_at(10);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);

	w->registers[0] = stack_at(20); /* but not in the frame after the next one */
	w->ip = in_function(1);
	w->sp = stack_at(9);
	host.stack[9] = in_function(4);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 3);
}

/* Functions 3 and 5 have their CFA in rbx, and have saved the caller's; 1, 4 and 6 call others. */
static const struct unwind_rule rbx_rules[] = {
	{.base = UNWIND_CFA_UNKNOWN},
	{.base = UNWIND_CFA_SP, .how = UNWIND_RBX_SAME, .cfa = 2},
	{.base = UNWIND_CFA_END},
	{.base = UNWIND_CFA_REGISTER + UNWIND_RBX, .how = 3 * UNWIND_RBX_WORD, .cfa = 3},
	{.base = UNWIND_CFA_SP, .how = 15 * UNWIND_RBX_WORD, .cfa = 20},
	{.base = UNWIND_CFA_REGISTER + UNWIND_RBX, .how = UNWIND_RBX_SAME, .cfa = 1},
	{.base = UNWIND_CFA_SP, .how = UNWIND_RBX_LOST, .cfa = 1},
};

/*
 * 1, which leaves rbx alone, called by 4, which has saved that of 3, which has saved that of 5,
 * which has none of its own to save; that is called by 2.
 */
static void make_rbx_stack(void)
{
	make_program(rbx_rules, ARRAY_SIZE(rbx_rules));
	w->registers[UNWIND_RBX] = 0x1234;
	host.stack[11] = in_function(4);
	host.stack[17] = stack_at(50); /* rbx of 3 */
	host.stack[31] = in_function(3);
	host.stack[50] = stack_at(80); /* rbx of 5 */
	host.stack[52] = in_function(5);
	host.stack[80] = in_function(2);
}

TEST(rbx_is_known_as_long_as_callees_have_saved_it)
{
	make_rbx_stack();
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 5);
	assert_int_equal(host.scratch.addrs[4], in_function(2));
	assert_int_equal(w->sp, stack_at(81));

	/* nobody has saved it */
	make_rbx_stack();
	host.stack[11] = in_function(1);
	host.stack[13] = in_function(3);
	w->registers[UNWIND_RBX] = stack_at(50);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 5);

	make_rbx_stack();
	host.stack[17] = 64; /* not a stack */
	assert_int_equal(host_walk(), WALK_END_UNREADABLE);
	assert_int_equal(host.scratch.n_user, 3);

	make_rbx_stack();
	host.stack[52] = 0x12345678; /* not code */
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 3);
}

/* By a rule that does not say where it is, and by a step that has no rule. */
TEST(rbx_is_lost_where_nothing_says_where_it_is)
{
	make_rbx_stack();
	host.stack[31] = in_function(6); /* between 4 and 3 */
	host.stack[32] = in_function(3);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 4);

	make_rbx_stack();
	host.stack[31] = in_function(0);
	w->fp = stack_at(40);
	host.stack[41] = in_function(3);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 4);
}

TEST(the_cfa_is_read_from_an_indexed_place)
{
	const struct unwind_rule rule = {UNWIND_CFA_AT_INDEXED + 9, 0, (uint16_t)-1, 0, 2};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	w->registers[9] = 5;
	host.stack[14] = stack_at(30);
	host.stack[31] = in_function(2);
	check_one_step(stack_at(32), 0x1234);
}

/* The code that a signal has interrupted: at any address, with all its registers. */
TEST(a_signal_frame_has_all_registers)
{
	const struct unwind_rule handler = {.base = UNWIND_CFA_SP, .cfa = 1};
	const struct unwind_rule restorer = {.base = UNWIND_CFA_SIGNAL};
	const struct unwind_rule by_r10 = {.base = UNWIND_CFA_REGISTER + 10, .cfa = 1};
	uint64_t *saved;

	make_program((struct unwind_rule[]){unknown, handler, restorer, by_r10, end}, 5);
	host.stack[10] = in_function(2);
	saved = &host.stack[11] + SIGNAL_OFFSET / 8;
	saved[2] = stack_at(5);  /* r10: the stack of the interrupted code is below */
	saved[10] = 0x5678;      /* rbp */
	saved[15] = stack_at(3); /* rsp */
	saved[16] = BIAS + TEXT_AT + 3 * FUNCTION_BYTES; /* rip: the first instruction */
	host.stack[5] = in_function(4);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 4);
	assert_int_equal(host.scratch.addrs[3], in_function(4));
	assert_int_equal(w->fp, 0x5678);
	assert_int_equal(host.scratch.n_switches, 0);
}

/* A call that does not return may be the last instruction of its function. */
TEST(a_return_address_belongs_to_the_call_before_it)
{
	const struct unwind_rule rule = {.base = UNWIND_CFA_SP, .cfa = 1};

	make_program((struct unwind_rule[]){unknown, rule, end, unknown}, 4);
	host.stack[10] = BIAS + TEXT_AT + 3 * FUNCTION_BYTES;
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	w->ip = BIAS + TEXT_AT + 3 * FUNCTION_BYTES; /* as the address of the tick: function 3 */
	w->sp = stack_at(10);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
}

TEST(a_walk_says_why_it_ended)
{
	const struct unwind_rule rule = {.base = UNWIND_CFA_SP, .cfa = 1};

	make_program((struct unwind_rule[]){unknown, rule}, 2);
	assert_int_equal(host_walk(), WALK_END_BOTTOM); /* a return address of 0 */
	host.stack[10] = 5;
	assert_int_equal((w->sp = stack_at(10), host_walk()), WALK_END_BAD_ADDRESS);
	w->ip = in_function(1);
	w->sp = 64;
	assert_int_equal(host_walk(), WALK_END_UNREADABLE);
	w->sp = stack_at(10);
	host.stack[10] = 0x12345678;
	assert_int_equal(host_walk(), WALK_END_NO_MAPPING);
	assert_int_equal(host.scratch.n_user, 2);
	w->ip = in_function(1);
	w->sp = stack_at(10);
	host.tables[TABLE].n_pages = 0;
	assert_int_equal(host_walk(), WALK_END_NO_TABLE);
	host.process.block = 0;
	assert_int_equal(host_walk(), WALK_END_UNREADABLE); /* by frame pointer */
}

TEST(a_guess_must_lead_up_and_to_code)
{
	make_program((struct unwind_rule[]){unknown, unknown, end}, 3);
	w->fp = stack_at(20);
	host.stack[20] = 0x5678;
	host.stack[21] = in_function(2);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 2);
	assert_true(w->guessed);

	w->ip = in_function(1);
	w->sp = stack_at(10);
	w->fp = stack_at(9); /* below the stack pointer */
	host.stack[10] = in_function(2);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);

	w->fp = stack_at(20);
	host.stack[21] = 0x12345678; /* not executable */
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 1);
}

/*
 * Function 1 is called by generated code, the bytes of which are in the word 100 of the stack: the
 * only memory that there is.
 */
static void call_from_generated(uint64_t code)
{
	const struct unwind_rule rule = {.base = UNWIND_CFA_SP, .cfa = 4};
	const struct unwind_blocks_mapping m[] = {
		{BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE},
		{HOST_STACK_AT, HOST_STACK_AT + 0x1000, 0, UNWIND_TABLE_ANONYMOUS}};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, m, 2, 0);
	host.stack[13] = stack_at(100);
	host.stack[100] = code;
}

static void check_generated(uint64_t sp, uint64_t fp)
{
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 3);
	assert_int_equal(host.scratch.addrs[1], stack_at(100));
	assert_int_equal(host.scratch.addrs[2], in_function(2));
	assert_int_equal(w->sp, sp);
	assert_int_equal(w->fp, fp);
	assert_false(w->guessed);
}

TEST(generated_code_that_ends_behind_the_call_says_how_large_its_frame_is)
{
	/* add $8,%rsp; ret */
	call_from_generated(0xccccccc308c48348);
	host.stack[15] = in_function(2);
	check_generated(stack_at(16), 0x1234);
	/* add $0x18,%rsp; ret, without frame pointers on the way */
	call_from_generated(0xccccccc318c48348);
	w->fp = 0;
	host.stack[17] = in_function(2);
	check_generated(stack_at(18), 0);
	/* pop %rbp; ret */
	call_from_generated(0xccccccccccccc35d);
	host.stack[14] = 0x5678;
	host.stack[15] = in_function(2);
	check_generated(stack_at(16), 0x5678);
}

TEST(generated_code_may_be_interrupted_behind_its_call)
{
	call_from_generated(0xccccccc308c48348);
	w->ip = stack_at(100);
	w->sp = stack_at(14);
	w->fp = 0;
	host.stack[15] = in_function(2);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 2);
	assert_int_equal(host.scratch.addrs[1], in_function(2));
	assert_false(w->guessed);
}

TEST(other_generated_code_is_walked_by_frame_pointer)
{
	call_from_generated(0xccccc390c4834890);
	host.stack[15] = in_function(2); /* where the others had it */
	assert_int_equal(host_walk(), WALK_END_JIT);
	assert_int_equal(host.scratch.n_user, 2);
	call_from_generated(0xccccc390c4834890);
	w->fp = stack_at(30);
	host.stack[31] = in_function(2);
	check_generated(stack_at(32), 0);
	/* and where what should be the return address is none */
	call_from_generated(0xccccccc308c48348);
	host.stack[15] = 0x12345678;
	w->fp = stack_at(30);
	host.stack[31] = in_function(2);
	check_generated(stack_at(32), 0);
}

TEST(generated_code_with_frame_pointers_is_read_only_if_an_interpreter_runs)
{
	/* add $8,%rsp; ret, which a function of V8 may have as well */
	call_from_generated(0xccccccc308c48348);
	host.stack[15] = in_function(2);
	w->fp = stack_at(30);
	host.stack[31] = in_function(2);
	check_generated(stack_at(32), 0);

	call_from_generated(0xccccccc308c48348);
	host.stack[15] = in_function(2);
	w->chained = true;
	w->fp = stack_at(30);
	check_generated(stack_at(16), stack_at(30));
}

TEST(an_end_by_a_frame_pointer_of_0_is_a_guess)
{
	const struct unwind_rule rule = {.base = UNWIND_CFA_SP, .cfa = 4};

	make_program((struct unwind_rule[]){unknown, rule, unknown}, 3);
	host.stack[13] = in_function(2);
	w->fp = 0;
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 2);
	assert_true(w->guessed);
}

TEST(a_record_of_another_process_is_not_used)
{
	struct unwind_process *p;

	make_program((struct unwind_rule[]){unknown, end}, 2);
	p = host.slab[host.process.block].processes;
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	p->start_boottime_ns++;
	assert_int_equal(host_walk(), WALK_END_UNREADABLE);
	p->start_boottime_ns--;
	p->tgid++;
	assert_int_equal(host_walk(), WALK_END_UNREADABLE);
}

/* ---- depth ---- */

/* A recursion: function 1 calls itself; the outermost call is by function 2. */
static enum walk_end walk_recursion(unsigned depth)
{
	const struct unwind_rule rule = {.base = UNWIND_CFA_SP, .cfa = 2};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	for (unsigned i = 0; i + 1 < depth; i++)
		host.stack[11 + 2 * i] = in_function(1);
	host.stack[11 + 2 * (depth - 1)] = in_function(2);
	return host_walk();
}

TEST(a_deep_stack_keeps_its_leaf_and_its_root)
{
	struct scratch *s = &host.scratch;

	assert_int_equal(walk_recursion(SAMPLER_USER_FRAMES - 1), WALK_END_BOTTOM);
	assert_int_equal(s->n_user, SAMPLER_USER_FRAMES);
	assert_int_equal(s->event.root_at, 0);
	assert_int_equal(s->addrs[SAMPLER_USER_FRAMES - 1], in_function(2));

	for (unsigned depth = SAMPLER_USER_FRAMES; depth < WALK_MAX_FRAMES; depth += 511) {
		assert_int_equal(walk_recursion(depth), WALK_END_DEPTH_LIMIT);
		assert_int_equal(s->n_user, SAMPLER_USER_FRAMES);
		assert_int_equal(s->event.root_at, SAMPLER_ROOT_AT);
		for (unsigned i = 0; i < SAMPLER_USER_FRAMES - 1; i++)
			assert_int_equal(s->addrs[i], in_function(1));
		assert_int_equal(s->addrs[SAMPLER_USER_FRAMES - 1], in_function(2));
	}

	/* 1000 calls of Python, which are four frames each */
	assert_int_equal(walk_recursion(4000), WALK_END_DEPTH_LIMIT);
	assert_int_equal(s->event.root_at, SAMPLER_ROOT_AT);

	assert_int_equal(walk_recursion(WALK_MAX_FRAMES + 1), WALK_END_DEPTH_LIMIT);
	assert_int_equal(s->n_user, SAMPLER_USER_FRAMES);
	assert_int_equal(s->event.root_at, 0);
}

TEST(few_changes_of_the_stack_are_believed)
{
	const struct unwind_rule rule = {UNWIND_CFA_FP, UNWIND_FP_AT_CFA, 2, -2, 0};
	const unsigned frames[] = {500, 400, 410, 300, 310, 200};

	make_program((struct unwind_rule[]){unknown, rule, end}, 3);
	w->fp = stack_at(frames[0]);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		host.stack[frames[i]] = i + 1 < ARRAY_SIZE(frames) ? stack_at(frames[i + 1]) : 0;
		host.stack[frames[i] + 1] = in_function(1);
	}
	assert_int_equal(host_walk(), WALK_END_NOT_ASCENDING);
	assert_int_equal(host.scratch.event.stack_switch[0], 1);
	assert_int_equal(host.scratch.event.stack_switch[1], 3);
	assert_int_equal(host.scratch.n_user, 6);
}

/* ---- searches ---- */

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

TEST(every_row_is_found)
{
	static const unsigned sizes[] = {1, 2, 3, 5, 100, 1023, 1024, 1025, 4000, 4095, 4096};
	union unwind_block *b = &host.slab[1];
	uint64_t seed = 1;

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		unsigned n = sizes[k], first = (unsigned)next_random(&seed) % (4097 - n);
		unsigned address = 0, i = 0;

		for (i = 0; i < n; i++) {
			b->rows[first + i] = (struct unwind_row){(uint16_t)address, (uint16_t)i};
			address += 1 + (unsigned)next_random(&seed) % 7;
		}
		for (address = 0, i = 0; address < UNWIND_PAGE_BYTES; address++) {
			while (i + 1 < n && b->rows[first + i + 1].address <= address)
				i++;
			assert_int_equal(unwind_find_row(b, first, n, address), i);
		}
	}
}

/* Frames of any size, up to the end of readable memory. */
TEST(frames_are_read_to_the_end_of_the_stack)
{
	const unsigned depth = 6;

	for (uint16_t words = 2; words < 2 * USER_WORDS; words++) {
		const struct unwind_rule rules[] = {
			unknown,
			{.base = UNWIND_CFA_SP, .how = UNWIND_FP_AT_CFA, .cfa = words, .fp = -2},
			end,
		};

		make_program(rules, ARRAY_SIZE(rules));
		for (unsigned from_end = 0; from_end < 2 * USER_WORDS; from_end++) {
			const unsigned top = HOST_STACK_WORDS - from_end;

			memset(host.stack, 0, sizeof(host.stack));
			for (unsigned i = 0; i < depth; i++) {
				host.stack[top - i * words - 2] = 0xfade + i;
				host.stack[top - i * words - 1] = in_function(i > 0 ? 1 : 2);
			}
			w->ip = in_function(1);
			w->sp = stack_at(top - depth * words);
			assert_int_equal(host_walk(), WALK_END_BOTTOM);
			assert_int_equal(host.scratch.n_user, depth + 1);
			assert_int_equal(w->fp, 0xfade);
		}
	}
}

/* One word of a pair is on this page, the other one on the next. */
TEST(a_frame_may_cross_pages)
{
	const struct unwind_rule rules[] = {
		unknown,
		{.base = UNWIND_CFA_SP, .how = UNWIND_FP_AT_CFA, .cfa = 2, .fp = -2},
		end,
	};
	const unsigned last = USER_PAGE_BYTES / 8 - 1;

	make_program(rules, ARRAY_SIZE(rules));
	w->sp = stack_at(last);
	host.stack[last] = 0xfade;
	host.stack[last + 1] = in_function(2);
	check_one_step(stack_at(last + 2), 0xfade);
}

/* What a walk has read is not what the next one finds. */
TEST(memory_may_change_between_walks)
{
	const struct unwind_rule rules[] = {
		unknown,
		{.base = UNWIND_CFA_SP, .how = UNWIND_FP_AT_CFA, .cfa = 2, .fp = -2},
		end,
	};

	make_program(rules, ARRAY_SIZE(rules));
	for (uint64_t fp = 1; fp < 4; fp++) {
		w->ip = in_function(1);
		w->sp = stack_at(10);
		host.stack[10] = fp;
		host.stack[11] = in_function(2);
		check_one_step(stack_at(12), fp);
	}
}

/* Rules are remembered, but those of a table that had the same index before are not. */
TEST(a_table_may_follow_another_one)
{
	const struct unwind_blocks_row rows[] = {
		{TEXT_AT, 0}, {TEXT_AT + FUNCTION_BYTES, 1}, {TEXT_AT + 2 * FUNCTION_BYTES, 0}};
	struct unwind_rule rules[] = {
		unknown, {.base = UNWIND_CFA_SP, .how = UNWIND_FP_AT_CFA, .fp = -2}, end};

	make_program(rules, ARRAY_SIZE(rules));
	host.stack[HOST_STACK_WORDS - 1] = in_function(2);
	for (uint16_t words = 2; words < 10; words++) {
		host.stack[10 + words - 2] = words;
		host.stack[10 + words - 1] = in_function(2);
		rules[1].cfa = words;
		unwind_blocks_table(&blocks, TABLE, rules, 2, rows, ARRAY_SIZE(rows));
		for (unsigned i = 0; i < 3; i++) {
			w->ip = in_function(1);
			w->sp = stack_at(10);
			w->fp = 0;
			assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
			assert_int_equal(host.scratch.n_user, 2);
			assert_int_equal(w->sp, stack_at(10 + words));
			assert_int_equal(w->fp, words);
		}
	}
	host.tables[TABLE].n_pages = 0;
	w->ip = in_function(1);
	w->sp = stack_at(10);
	assert_int_equal(host_walk(), WALK_END_NO_TABLE);
}

/* What lies behind a table is not taken for an address in it whose rule is remembered. */
TEST(nothing_is_remembered_outside_a_table)
{
	const struct unwind_rule rules[] = {unknown, end};
	struct unwind_blocks_mapping m = {BIAS, BIAS + (UINT64_C(1) << 42), BIAS, TABLE};

	make_program(rules, ARRAY_SIZE(rules));
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, &m, 1, 0);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	for (unsigned bit = UNWIND_PAGE_SHIFT; bit < 42; bit++) {
		w->ip = in_function(1) + (UINT64_C(1) << bit);
		assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	}
}

TEST(every_mapping_is_found)
{
	static struct unwind_blocks_mapping m[UNWIND_MAPPINGS];
	struct scratch *s = &host.scratch;
	struct unwind_mappings *found = &s->walk.mappings;
	uint64_t at = 0x1000;

	memset(&host, 0, sizeof(host));
	unwind_blocks_init(&blocks, host.slab, host.tables);
	for (uint32_t i = 0; i < UNWIND_MAPPINGS; i++) {
		m[i] = (struct unwind_blocks_mapping){at, at + 0x1000 * (1 + i % 3), i, i};
		at = m[i].end + 0x1000 * (i % 2);
	}
	for (uint32_t n = 1; n <= UNWIND_MAPPINGS; n += 97) {
		blocks.n_used = 1;
		host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, m, n, 0);
		assert_true(unwind_find_process(found, HOST_TGID, HOST_START_TIME));
		assert_false(unwind_enter(s, 0xfff));
		for (uint32_t i = 0; i < n; i++) {
			assert_true(unwind_enter(s, m[i].start));
			assert_int_equal(found->table, i);
			assert_int_equal(found->bias, i);
			assert_true(unwind_enter(s, m[i].end - 1));
			assert_int_equal(found->table, i);
			if (i % 2)
				assert_false(unwind_enter(s, m[i].end));
		}
		assert_false(unwind_enter(s, m[n - 1].end));
	}
}

TEST(a_table_may_have_several_pieces)
{
	const uint32_t page = 2 * UNWIND_BLOCK_PAGES + 7;
	struct unwind_table *t = &host.tables[TABLE];
	const uint64_t address = (uint64_t)(5 + page) << UNWIND_PAGE_SHIFT;
	const struct unwind_rule *rule;

	memset(&host, 0, sizeof(host));
	*t = (struct unwind_table){.first_page = 5,
				   .n_pages = page + 1,
				   .rules = {{1, 0}, {2, 0}},
				   .pages[2] = {3, 9}};
	host.slab[3].pages[9 + 7] = (struct unwind_page){.rows = {4, 17}, .n = 2};
	host.slab[4].rows[18] = (struct unwind_row){100, UNWIND_BLOCK_RULES + 3};
	rule = unwind_find_rule(t, address + 99);
	assert_ptr_equal(rule, &host.slab[1].rules[0]);
	rule = unwind_find_rule(t, address + 100);
	assert_ptr_equal(rule, &host.slab[2].rules[3]);
	assert_null(unwind_find_rule(t, address - UNWIND_PAGE_BYTES)); /* a page without rows */
	assert_null(unwind_find_rule(t, address + UNWIND_PAGE_BYTES));
	assert_null(unwind_find_rule(t, 0));
}
