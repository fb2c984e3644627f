/*
 * The walk by tables, on the running kernel: needs root and BTF. The sampled program is a child of
 * this one. Its tables are written by hand, for functions in assembly that use the frame pointer's
 * register for something else, so that a walk by frame pointers misses their callers.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "node-agent/sample/sampler.h"
#include "test/lib/sampling.h"
#include "test/lib/unit.h"
#include "test/lib/unwind_maps.h"

#define HZ 499
#define ENOUGH 20        /* samples */
#define MAX_POLLS 30000u /* of 10 ms */
#define PAGE_BYTES 4096u

/* Each calls the one below it; the last does not return. Frames are 2, 4, 12 and 0 words. */
void unwind_root(void);
void unwind_outer(void);
void unwind_middle(void);
void unwind_leaf(void);
void unwind_end(void);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl unwind_root, unwind_outer, unwind_middle, unwind_leaf, unwind_end\n"
	".hidden unwind_root, unwind_outer, unwind_middle, unwind_leaf, unwind_end\n"
	".p2align 4\n"
	"unwind_root:\n"
	"	pushq %rbp\n"
	"	call unwind_outer\n"
	"	ud2\n"
	".p2align 4\n"
	"unwind_outer:\n"
	"	pushq %rbp\n"
	"	subq $16, %rsp\n"
	"	movq $1234567, %rbp\n"
	"	call unwind_middle\n"
	"	ud2\n"
	".p2align 4\n"
	"unwind_middle:\n"
	"	subq $88, %rsp\n"
	"	leaq 40(%rsp), %rbp\n"
	"	call unwind_leaf\n"
	"	ud2\n"
	".p2align 4\n"
	"unwind_leaf:\n"
	"1:	jmp 1b\n"
	".p2align 4\n"
	"unwind_end:\n"
	"	ud2\n");
static const struct unwind_rule rules[] = {
	{.base = UNWIND_CFA_UNKNOWN},
	{.base = UNWIND_CFA_END},
	{.base = UNWIND_CFA_SP, .how = UNWIND_FP_AT_CFA, .cfa = 4, .fp = -2},
	{.base = UNWIND_CFA_SP, .cfa = 12},
	{.base = UNWIND_CFA_SP, .cfa = 1},
};
#else
__asm__(".text\n"
	".globl unwind_root, unwind_outer, unwind_middle, unwind_leaf, unwind_end\n"
	".hidden unwind_root, unwind_outer, unwind_middle, unwind_leaf, unwind_end\n"
	".p2align 4\n"
	"unwind_root:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	bl unwind_outer\n"
	"	udf #0\n"
	".p2align 4\n"
	"unwind_outer:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, #12345\n"
	"	bl unwind_middle\n"
	"	udf #0\n"
	".p2align 4\n"
	"unwind_middle:\n"
	"	sub sp, sp, #96\n"
	"	str x30, [sp, #8]\n"
	"	add x29, sp, #40\n"
	"	bl unwind_leaf\n"
	"	udf #0\n"
	".p2align 4\n"
	"unwind_leaf:\n"
	"1:	b 1b\n"
	".p2align 4\n"
	"unwind_end:\n"
	"	udf #0\n");
static const struct unwind_rule rules[] = {
	{.base = UNWIND_CFA_UNKNOWN},
	{.base = UNWIND_CFA_END},
	{.base = UNWIND_CFA_SP,
	 .how = UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA,
	 .cfa = 4,
	 .fp = -4,
	 .aux = -3},
	{.base = UNWIND_CFA_SP, .how = UNWIND_RA_AT_CFA, .cfa = 12, .aux = -11},
	{.base = UNWIND_CFA_SP, .how = UNWIND_RA_REGISTER, .aux = 30},
};
#endif

enum { RULE_NONE, RULE_END, RULE_OUTER, RULE_MIDDLE, RULE_LEAF };

static uint64_t address_of(void (*f)(void))
{
	return (uint64_t)(uintptr_t)f;
}

static uint64_t text_start(void)
{
	return address_of(unwind_root) / PAGE_BYTES * PAGE_BYTES;
}

static uint64_t text_end(void)
{
	return (address_of(unwind_end) / PAGE_BYTES + 1) * PAGE_BYTES;
}

/* ---- the program that is sampled ---- */

struct fixture {
	struct sampler *sampler;
	struct unwind_blocks blocks;
	uint64_t *used;
	pid_t pid;
	unsigned n_samples;
	unsigned n_whole;
	unsigned n_others; /* of functions that are not ours */
	uint64_t elsewhere;
	struct sample_event last;
};

static bool is_in(uint64_t address, void (*from)(void), void (*to)(void))
{
	return address >= address_of(from) && address <= address_of(to);
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	const uint64_t *user = sample_event_addrs(e) + e->n_kernel;
	struct fixture *f = ctx;

	if ((pid_t)e->header.tgid != f->pid)
		return;
	if (e->n_user == 0 || !is_in(user[0], unwind_leaf, unwind_end)) {
		f->elsewhere = e->n_user > 0 ? user[0] : 0;
		f->n_others++;
		return;
	}
	f->n_samples++;
	f->last = *e;
	f->n_whole += e->end == WALK_END_BOTTOM && e->n_user == 4 && e->flags & SAMPLE_BY_TABLES &&
		      !(e->flags & SAMPLE_GUESSED) && is_in(user[1], unwind_middle, unwind_leaf) &&
		      is_in(user[2], unwind_outer, unwind_middle) &&
		      is_in(user[3], unwind_root, unwind_outer);
}

static void drain(struct fixture *f)
{
	const struct sampler_handlers h = sampling_handlers(on_sample, f);

	assert_true(sampler_drain(f->sampler, &h) >= 0);
}

static void await_samples(struct fixture *f, unsigned n)
{
	f->n_samples = f->n_whole = f->n_others = 0;
	for (unsigned i = 0; f->n_samples < n; i++) {
		if (i == MAX_POLLS)
			fail_msg("%u samples, %u of them elsewhere, the last one at %#llx in %#llx",
				 f->n_samples + f->n_others, f->n_others,
				 (unsigned long long)f->elsewhere,
				 (unsigned long long)address_of(unwind_leaf));
		usleep(10000);
		drain(f);
	}
}

/*
 * Waits for some samples. Discards one before them: its walk may have begun before the tables were
 * changed, and the process, which has one thread, has no other one then.
 */
static void sample(struct fixture *f)
{
	drain(f);
	await_samples(f, 1);
	await_samples(f, ENOUGH);
}

/* ---- tables ---- */

static void make_table(struct fixture *f)
{
	const uint64_t bias = text_start();
	const struct unwind_blocks_row rows[] = {
		{address_of(unwind_root) - bias, RULE_END},
		{address_of(unwind_outer) - bias, RULE_OUTER},
		{address_of(unwind_middle) - bias, RULE_MIDDLE},
		{address_of(unwind_leaf) - bias, RULE_LEAF},
		{address_of(unwind_end) - bias, RULE_NONE},
	};

	unwind_blocks_table(&f->blocks, UNWIND_TABLE_FIRST, rules, ARRAY_SIZE(rules), rows,
			    ARRAY_SIZE(rows));
}

/* Reports the process, as one with one mapping. */
static void report(struct fixture *f, uint64_t end, uint32_t table)
{
	const struct unwind_blocks_mapping mapping = {text_start(), end, text_start(), table};

	unwind_maps_report(f->sampler, &f->blocks, &f->last.header, &mapping, 1);
}

/* One sampler for all tests (test_sampler.c says why), and a process for each. */
static struct fixture fixture;

static int start_group(void **state)
{
	const struct sampler_config cfg = {.hz = HZ, .ring_bytes = 1 << 20};
	struct err err = {0};

	(void)state;
	if (sampler_new(&fixture.sampler, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	unwind_maps_make(fixture.sampler, &fixture.blocks);
	fixture.used = unwind_maps_map(sampler_map_fd(fixture.sampler, "unwind_used"),
				       UNWIND_TABLES * sizeof(uint64_t));
	return 0;
}

static int stop_group(void **state)
{
	(void)state;
	sampler_free(fixture.sampler);
	munmap(fixture.blocks.slab, UNWIND_MAPS_SLAB_BYTES);
	return 0;
}

static int set_up(void **state)
{
	fixture.pid = fork();
	assert_true(fixture.pid >= 0);
	if (fixture.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		unwind_root();
	}
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	return 0;
}

/* ---- tests ---- */

TEST_FIXTURE(a_process_is_walked_by_the_tables_of_its_files, set_up, tear_down)
{
	struct fixture *f = *state;

	sample(f); /* not reported: by frame pointers, which are none */
	assert_int_equal(f->n_whole, 0);
	assert_int_equal(f->last.flags & SAMPLE_BY_TABLES, 0);

	report(f, text_end(), UNWIND_TABLE_FIRST);
	sample(f); /* its file has no table */
	assert_int_equal(f->n_whole, 0);
	assert_int_equal(f->last.end, WALK_END_NO_TABLE);
	assert_int_not_equal(f->used[UNWIND_TABLE_FIRST], 0); /* so it is known to be wanted */

	make_table(f);
	sample(f);
	assert_int_equal(f->n_whole, f->n_samples);

	f->blocks.tables[UNWIND_TABLE_FIRST].n_pages = 0;
	sample(f);
	assert_int_equal(f->last.end, WALK_END_NO_TABLE);
}

TEST_FIXTURE(what_is_not_known_is_named, set_up, tear_down)
{
	struct fixture *f = *state;

	sample(f);
	report(f, text_end(), UNWIND_TABLE_NONE);
	sample(f);
	assert_int_equal(f->last.end, WALK_END_NO_TABLE);
	report(f, text_start(), UNWIND_TABLE_FIRST);
	sample(f);
	assert_int_equal(f->last.end, WALK_END_NO_MAPPING);
	report(f, text_end(), UNWIND_TABLE_ANONYMOUS);
	sample(f);
	assert_int_equal(f->last.end, WALK_END_JIT);
}

TEST_FIXTURE(a_process_is_forgotten_when_it_exits, set_up, tear_down)
{
	struct fixture *f = *state;
	struct unwind_ref ref;
	uint32_t tgid;

	sample(f);
	report(f, text_end(), UNWIND_TABLE_NONE);
	tgid = f->last.header.tgid;
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	assert_true(bpf_map_lookup_elem(sampler_map_fd(f->sampler, "unwind_processes"), &tgid,
					&ref) < 0);
	assert_int_equal(errno, ENOENT);
}

GROUP_FIXTURE(start_group, stop_group)
