/*
 * What the walk over one stack costs, by frame pointers and by tables, and with frames of an
 * interpreter: prints medians of what the sampler reports for each of its samples, in nanoseconds,
 * in this order. The stack has 33 frames of code that keeps frame pointers. The tables are as large
 * as those of a usual library, and the process has as many mappings as a usual one.
 *
 * With an interpreter, 20 of the 33 frames are its own and the outermost native one is its loop, as
 * since CPython 3.11; then there are 33 native frames, 20 of them calls of the loop that have one
 * frame each, as before that. The others are the former with the frames of other languages.
 *   walk_cost HZ SAMPLES
 */
#include <signal.h>
#include <sys/wait.h>

#include "test/bench/chained_frames.h"
#include "test/lib/unwind_maps.h"

#define FRAMES 33u
#define MAPPINGS 60u
#define ROWS 1000u /* of a page, in front of those of our functions */
#define TEXT_OFFSET 16384u
#define SPACING 0x100000u
#define MAX_SAMPLES 10000u

/*
 * The root calls the recursion, which calls itself so many times and at last the leaf. Each keeps a
 * frame.
 */
void walk_root(unsigned calls);
void walk_recursion(void);
void walk_leaf(void);
void walk_end(void);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl walk_root, walk_recursion, walk_leaf, walk_end\n"
	".hidden walk_root, walk_recursion, walk_leaf, walk_end\n"
	".p2align 4\n"
	"walk_root:\n"
	"	xorl %ebp, %ebp\n"
	"	call walk_recursion\n"
	"	ud2\n"
	"walk_recursion:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	subq $32, %rsp\n"
	"	decl %edi\n"
	"	jz 1f\n"
	"	call walk_recursion\n"
	"	ud2\n"
	"1:	call walk_leaf\n"
	"	ud2\n"
	"walk_leaf:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"2:	jmp 2b\n"
	"walk_end:\n"
	"	ud2\n");
static const struct unwind_rule rules[] = {
	{.base = UNWIND_CFA_UNKNOWN},
	{.base = UNWIND_CFA_END},
	{.base = UNWIND_CFA_SP, .how = UNWIND_FP_AT_CFA, .cfa = 6, .fp = -2},
	{.base = UNWIND_CFA_SP, .how = UNWIND_FP_AT_CFA, .cfa = 2, .fp = -2},
};
#else
__asm__(".text\n"
	".globl walk_root, walk_recursion, walk_leaf, walk_end\n"
	".hidden walk_root, walk_recursion, walk_leaf, walk_end\n"
	".p2align 4\n"
	"walk_root:\n"
	"	mov x29, #0\n"
	"	bl walk_recursion\n"
	"	udf #0\n"
	"walk_recursion:\n"
	"	stp x29, x30, [sp, #-48]!\n"
	"	mov x29, sp\n"
	"	subs w0, w0, #1\n"
	"	b.eq 1f\n"
	"	bl walk_recursion\n"
	"	udf #0\n"
	"1:	bl walk_leaf\n"
	"	udf #0\n"
	"walk_leaf:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	mov x29, sp\n"
	"2:	b 2b\n"
	"walk_end:\n"
	"	udf #0\n");
#define PAIR(words)                                                                              \
	{                                                                                        \
		UNWIND_CFA_SP, UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA, words, -(words), 1 - (words) \
	}
static const struct unwind_rule rules[] = {
	{.base = UNWIND_CFA_UNKNOWN}, {.base = UNWIND_CFA_END}, PAIR(6), PAIR(2)};
#endif

struct bench {
	struct sampler *sampler;
	struct unwind_blocks blocks;
	struct unwind_ref reported; /* the process */
	pid_t pid;
	unsigned n; /* samples */
	unsigned wanted;
	uint32_t cost_ns[MAX_SAMPLES];
	struct event_header process;
	uint8_t flags;                /* that samples must have */
	uint16_t n_frames, n_chained; /* likewise */
};

static uint64_t address_of(void (*f)(void))
{
	return (uint64_t)(uintptr_t)f;
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	struct bench *b = ctx;

	if ((pid_t)e->header.tgid != b->pid || e->n_kernel > 0)
		return;
	b->process = e->header;
	if (e->n_user == b->n_frames && e->end == WALK_END_BOTTOM &&
	    (e->flags & SAMPLE_BY_TABLES) == b->flags && e->n_chain == b->n_chained &&
	    b->n < b->wanted)
		b->cost_ns[b->n++] = e->cost_ns;
}

static void ignore_fork(void *ctx, const struct fork_event *e)
{
	(void)ctx;
	(void)e;
}

static void ignore_exec(void *ctx, const struct exec_event *e)
{
	(void)ctx;
	(void)e;
}

static void ignore_exit(void *ctx, const struct event_header *e)
{
	(void)ctx;
	(void)e;
}

static void ignore_map(void *ctx, const struct map_event *e)
{
	(void)ctx;
	(void)e;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t median_cost(struct bench *b, uint8_t flags)
{
	const struct sampler_handlers h = {
		on_sample, ignore_fork, ignore_exec, ignore_exit, ignore_map, NULL, b};

	b->n = 0;
	b->flags = flags;
	while (b->n < b->wanted) {
		usleep(50000);
		unwind_maps_require(sampler_drain(b->sampler, &h) >= 0, "sampler_drain");
	}
	qsort(b->cost_ns, b->n, sizeof(b->cost_ns[0]), compare);
	return b->cost_ns[b->n / 2];
}

/* Reports it with an interpreter whose loop is from one address to another. */
static void report_chain(struct bench *b, const struct chain_layout *of, uint16_t n_chained,
			 uint64_t from, uint64_t to)
{
	struct chain_layout l = *of;

	l.loop = from;
	l.loop_bytes = (uint32_t)(to - from);
	l.n_ranges = 1;
	l.ends[0] = l.loop_bytes;
	unwind_blocks_chain(&b->blocks, b->reported, &l);
	b->n_chained = n_chained;
}

static void report(struct bench *b)
{
	static struct unwind_blocks_row rows[ROWS + 4];
	static struct unwind_blocks_mapping m[MAPPINGS];
	const uint64_t text = (uint64_t)(uintptr_t)walk_root, bias = text - TEXT_OFFSET;
	const struct unwind_blocks_row last[] = {
		{TEXT_OFFSET, 1},
		{address_of(walk_recursion) - bias, 2},
		{address_of(walk_leaf) - bias, 3},
		{address_of(walk_end) - bias, 0},
	};

	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct unwind_blocks_row){i * 8, (uint16_t)(i % 4)};
	memcpy(&rows[ROWS], last, sizeof(last));
	unwind_blocks_table(&b->blocks, UNWIND_TABLE_FIRST, rules, sizeof(rules) / sizeof(rules[0]),
			    rows, ROWS + 4);
	for (uint32_t i = 0; i < MAPPINGS; i++) {
		uint64_t start = text / 4096 * 4096 + i * SPACING - MAPPINGS / 2 * SPACING;

		m[i] = (struct unwind_blocks_mapping){start, start + 8192, bias,
						      i == MAPPINGS / 2 ? UNWIND_TABLE_FIRST
									: UNWIND_TABLE_NONE};
	}
	b->reported = unwind_maps_report(b->sampler, &b->blocks, &b->process, m, MAPPINGS);
}

static void start(struct bench *b, uint16_t n_frames)
{
	b->n_frames = n_frames;
	b->n_chained = 0;
	b->pid = fork();
	if (b->pid == 0)
		walk_root(n_frames - 2U);
}

static void stop(const struct bench *b)
{
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
}

/* The outermost frame executes all those of the interpreter. */
static uint32_t one_run(struct bench *b, const struct chained_language *language)
{
	struct chain_layout l = {0};
	uint32_t cost;

	language->make(&l);
	start(b, FRAMES - CHAINED_FRAMES);
	(void)median_cost(b, 0); /* tells which process it is */
	report(b);
	report_chain(b, &l, language->n_entries, (uint64_t)(uintptr_t)walk_root,
		     address_of(walk_recursion));
	cost = median_cost(b, SAMPLE_BY_TABLES);
	stop(b);
	return cost;
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct chain_layout plain = {0};
	struct sampler_config cfg = {.ring_bytes = 1 << 22};
	struct err err = {0};

	if (argc != 3)
		return 2;
	cfg.hz = (unsigned)strtoul(argv[1], NULL, 10);
	b.wanted = (unsigned)strtoul(argv[2], NULL, 10);
	if (b.wanted > MAX_SAMPLES || sampler_new(&b.sampler, &cfg, &err) < 0) {
		fprintf(stderr, "walk_cost: %s\n", err.msg);
		return 1;
	}
	unwind_maps_make(b.sampler, &b.blocks);
	chained_plain.make(&plain);
	plain.frames.end_is = CHAIN_END_EACH;
	start(&b, FRAMES);
	printf("by_frame_pointer %u\n", median_cost(&b, 0));
	report(&b);
	printf("by_table %u\n", median_cost(&b, SAMPLE_BY_TABLES));
	report_chain(&b, &plain, chained_plain.n_entries, address_of(walk_recursion),
		     address_of(walk_leaf));
	printf("many_runs %u\n", median_cost(&b, SAMPLE_BY_TABLES));
	stop(&b);
	printf("one_run %u\n", one_run(&b, &chained_plain));
	for (const struct chained_language *const *l = chained_languages; *l; l++)
		printf("%s %u\n", (*l)->name, one_run(&b, *l));
	sampler_free(b.sampler);
	return 0;
}
