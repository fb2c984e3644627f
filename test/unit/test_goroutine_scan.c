#include <errno.h>

#include "node-agent/go/goroutine/goroutine_scan.h"
#include "test/lib/goroutine_image.h"
#include "test/lib/unit.h"

#define GROUPS_BYTES ((size_t)1 << 20)

static struct goroutine_image im;

struct fixture {
	struct goroutine_scan_config cfg;
	struct goroutine_code *code;
	struct goroutine_groups *groups;
	struct goroutine_tally tally;
	const struct goroutine_group **sorted;
	size_t n;
};

static const enum image_function parked[] = {IMAGE_PARK, IMAGE_CALLEE, IMAGE_WORKER, IMAGE_GOEXIT};

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->cfg = (struct goroutine_scan_config){
		.memory = &im.memory,
		.layout = im.layout,
		.has_lr = im.is_arm,
		.addresses = im.addresses,
		.n_addresses = im.n,
		.deadline_ns = UINT64_MAX,
		.max_stack_bytes = 1u << 20,
	};
	assert_int_equal(goroutine_code_new(&f->code, &im.module, 1, UINT64_MAX), 0);
	assert_int_equal(goroutine_groups_new(&f->groups, GROUPS_BYTES), 0);
}

static void scan(struct fixture *f)
{
	assert_int_equal(goroutine_scan(&f->cfg, f->code, f->groups, &f->tally), 0);
	assert_int_equal(goroutine_groups_sorted(f->groups, &f->sorted, &f->n), 0);
}

static void end(struct fixture *f)
{
	free(f->sorted);
	goroutine_groups_free(f->groups);
	goroutine_code_free(f->code);
}

static uint64_t add_parked(void)
{
	uint64_t g = image_add(&im, GOROUTINE_WAITING, IMAGE_WORKER);

	image_calls(&im, g, parked, ARRAY_SIZE(parked));
	return g;
}

static void put(uint64_t g, uint16_t field, uint64_t v, size_t len)
{
	image_put(&im, g + field, v, len);
}

static void equal_stacks_are_one_group(bool is_arm)
{
	struct fixture f;

	goroutine_image_init(&im, is_arm);
	for (int i = 0; i < 5; i++)
		add_parked();
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n, 5);
	assert_int_equal(f.tally.n_broken + f.tally.n_moved + f.tally.n_unreadable, 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.sorted[0]->n, 5);
	assert_int_equal(f.sorted[0]->place.n_pcs, ARRAY_SIZE(parked));
	for (size_t i = 0; i < ARRAY_SIZE(parked); i++)
		assert_int_equal(f.sorted[0]->place.pcs[i], image_pc(parked[i]));
	end(&f);
}

TEST(test_equal_stacks_are_one_group_on_both_machines)
{
	equal_stacks_are_one_group(false);
	equal_stacks_are_one_group(true);
}

TEST(test_other_reasons_are_other_groups_with_the_longest_wait_of_each)
{
	static const uint64_t since[] = {0, 700, 500, 600};
	struct fixture f;

	goroutine_image_init(&im, false);
	for (size_t i = 0; i < ARRAY_SIZE(since); i++) {
		uint64_t g = add_parked();

		put(g, im.layout->wait_reason, i == 0 ? 7 : 9, 1);
		put(g, im.layout->wait_since, since[i], 8);
	}
	begin(&f);
	scan(&f);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.sorted[0]->n, 3);
	assert_int_equal(f.sorted[0]->place.wait_reason, 9);
	assert_int_equal(f.sorted[0]->wait_since_ns, 500);
	assert_int_equal(f.sorted[0]->id, 3);
	assert_int_equal(f.sorted[1]->place.wait_reason, 7);
	assert_int_equal(f.sorted[1]->wait_since_ns, 0);
	end(&f);
}

TEST(test_running_ones_are_counted_without_a_stack)
{
	struct fixture f;
	uint64_t g;

	goroutine_image_init(&im, false);
	g = add_parked();
	put(g, im.layout->status, GOROUTINE_RUNNING, 4);
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n, 1);
	assert_int_equal(f.tally.n_running, 1);
	assert_int_equal(f.n, 1);
	assert_true(f.sorted[0]->place.no_stack);
	assert_int_equal(f.sorted[0]->place.n_pcs, 1);
	assert_int_equal(f.sorted[0]->place.pcs[0], image_start(IMAGE_WORKER) + 1);
	end(&f);
}

/*
 * runtime.main is the program's, as pprof sees it; the scan bit of the collector changes
 * nothing.
 */
TEST(test_goroutines_of_the_runtime_and_dead_ones_are_not_counted)
{
	static const enum image_function main_calls[] = {IMAGE_PARK, IMAGE_MAIN, IMAGE_GOEXIT},
					 sweeper_calls[] = {IMAGE_PARK, IMAGE_SWEEPER,
							    IMAGE_GOEXIT};
	struct fixture f;
	uint64_t g, count = 0;

	goroutine_image_init(&im, false);
	g = image_add(&im, GOROUTINE_WAITING, IMAGE_MAIN);
	image_calls(&im, g, main_calls, ARRAY_SIZE(main_calls));
	put(g, im.layout->status, GOROUTINE_WAITING | 0x1000, 4);
	g = image_add(&im, GOROUTINE_WAITING, IMAGE_SWEEPER);
	image_calls(&im, g, sweeper_calls, ARRAY_SIZE(sweeper_calls));
	(void)image_add(&im, GOROUTINE_DEAD, IMAGE_WORKER);
	(void)image_add(&im, GOROUTINE_DEAD_EXTRA, IMAGE_WORKER);
	(void)image_add(&im, GOROUTINE_IDLE, IMAGE_WORKER);
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n, 1);
	assert_int_equal(f.tally.n_bad, 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.sorted[0]->place.pcs[1], image_pc(IMAGE_MAIN));
	assert_int_equal(goroutine_scan_count(&f.cfg, f.code, &count), 0);
	assert_int_equal(count, 1);
	end(&f);
}

TEST(test_a_finalizer_goroutine_counts_while_it_calls_the_program)
{
	static const enum image_function idle[] = {IMAGE_PARK, IMAGE_FINALIZERS, IMAGE_GOEXIT},
					 calling[] = {IMAGE_PARK, IMAGE_CALLEE, IMAGE_FINALIZERS,
						      IMAGE_GOEXIT};
	struct fixture f;
	uint64_t g, count = 0;

	goroutine_image_init(&im, false);
	g = image_add(&im, GOROUTINE_WAITING, IMAGE_FINALIZERS);
	image_calls(&im, g, idle, ARRAY_SIZE(idle));
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n, 0);
	assert_int_equal(f.n, 0);
	end(&f);

	image_calls(&im, g, calling, ARRAY_SIZE(calling));
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n, 1);
	assert_int_equal(f.n, 1);
	assert_int_equal(goroutine_scan_count(&f.cfg, f.code, &count), 0);
	assert_int_equal(count, 0); /* as runtime.NumGoroutine() returns */
	end(&f);
}

TEST(test_interrupted_functions_are_unwound_too)
{
	static const enum image_function calls[] = {IMAGE_PREEMPT, IMAGE_WORKER, IMAGE_GOEXIT};
	struct fixture f;
	uint64_t g;

	goroutine_image_init(&im, false);
	g = image_add(&im, GOROUTINE_PREEMPTED, IMAGE_WORKER);
	image_calls(&im, g, calls, ARRAY_SIZE(calls));
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n_broken, 0);
	assert_int_equal(f.sorted[0]->place.n_pcs, 3);
	assert_int_equal(f.sorted[0]->place.pcs[1], image_pc(IMAGE_WORKER) + 1);
	end(&f);
}

TEST(test_in_a_system_call_the_registers_of_its_entry_count)
{
	struct fixture f;
	uint64_t g, sp;

	goroutine_image_init(&im, false);
	g = add_parked();
	memcpy(&sp, im.data + g + 56, sizeof(sp));
	put(g, im.layout->status, GOROUTINE_SYSCALL, 4);
	put(g, im.layout->syscall_sp, sp, 8);
	put(g, im.layout->syscall_sp + 8, image_pc(IMAGE_PARK), 8);
	put(g, 56, 1, 8); /* stale */
	put(g, 64, 1, 8);
	begin(&f);
	scan(&f);
	assert_int_equal(f.sorted[0]->place.n_pcs, ARRAY_SIZE(parked));
	end(&f);
}

/* Whatever is wrong with it, a goroutine is counted once. */
TEST(test_broken_and_moving_goroutines_are_counted)
{
	struct fixture f;
	uint64_t g, sp;

	goroutine_image_init(&im, false);
	g = add_parked(); /* garbage on the stack */
	memcpy(&sp, im.data + g + 56, sizeof(sp));
	memset(im.data + sp, 0x5a, 128);
	g = add_parked(); /* a stack pointer that is not in the stack */
	put(g, 56, 0x7000, 8);
	g = add_parked(); /* a stack that is not mapped */
	put(g, 0, 0x7fff0000, 8);
	put(g, 8, 0x7fff8000, 8);
	put(g, 56, 0x7fff7000, 8);
	g = add_parked(); /* the runtime moves its stack */
	put(g, im.layout->status, GOROUTINE_COPYSTACK, 4);
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n, 4);
	assert_int_equal(f.tally.n_broken, 1);
	assert_int_equal(f.tally.n_unreadable, 2);
	assert_int_equal(f.tally.n_moved, 1);
	assert_int_equal(f.tally.n_bad, 0);
	end(&f);
}

TEST(test_invalid_goroutines_are_not_counted)
{
	struct fixture f;
	uint64_t g;

	goroutine_image_init(&im, false);
	g = add_parked(); /* no such status */
	put(g, im.layout->status, 77, 4);
	g = add_parked(); /* a stack that ends before it begins */
	put(g, 0, 0x9000, 8);
	put(g, 8, 0x8000, 8);
	g = add_parked(); /* a stack of 4 GiB */
	put(g, 8, UINT64_C(1) << 32, 8);
	add_parked();
	im.addresses[3] = GOROUTINE_IMAGE_BYTES - 8; /* half of it is there */
	begin(&f);
	scan(&f);
	assert_int_equal(f.tally.n, 0);
	assert_int_equal(f.tally.n_bad, 4);
	assert_int_equal(f.n, 0);
	end(&f);
}

TEST(test_limits_are_kept_and_reported)
{
	struct fixture f;

	goroutine_image_init(&im, false);
	for (int i = 0; i < 4; i++)
		add_parked();
	begin(&f);
	f.cfg.max_stack_bytes = 600; /* two of them */
	scan(&f);
	assert_int_equal(f.tally.n, 4);
	assert_in_range(f.tally.n_limited, 1, 3);
	end(&f);

	begin(&f);
	f.cfg.deadline_ns = 0;
	assert_int_equal(goroutine_scan(&f.cfg, f.code, f.groups, &f.tally), -ETIME);
	end(&f);

	begin(&f);
	goroutine_groups_free(f.groups);
	assert_int_equal(goroutine_groups_new(&f.groups, 64), 0);
	assert_int_equal(goroutine_scan(&f.cfg, f.code, f.groups, &f.tally), -ENOBUFS);
	end(&f);
}

TEST(test_layouts_of_unknown_releases_are_not_guessed)
{
	const struct goroutine_layout *l = NULL;

	assert_int_equal(goroutine_layout_find(12, &l), -ENOTSUP);
	assert_int_equal(goroutine_layout_find(28, &l), -ENOTSUP);
	for (unsigned minor = 13; minor <= 27; minor++) {
		assert_int_equal(goroutine_layout_find(minor, &l), 0);
		assert_true(l->size_bytes <= GOROUTINE_MAX_BYTES &&
			    l->start_pc + 8 <= l->size_bytes);
	}
}

static int scan_once(void *arg)
{
	CLEANUP(goroutine_code_freep) struct goroutine_code *code = NULL;
	CLEANUP(goroutine_groups_freep) struct goroutine_groups *groups = NULL;
	const struct goroutine_group **sorted = NULL;
	struct goroutine_tally tally;
	size_t n;
	int r = goroutine_code_new(&code, &im.module, 1, UINT64_MAX);

	if (r == 0)
		r = goroutine_groups_new(&groups, GROUPS_BYTES);
	if (r == 0)
		r = goroutine_scan(arg, code, groups, &tally);
	if (r == 0)
		r = goroutine_groups_sorted(groups, &sorted, &n);
	free(sorted);
	return r;
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	goroutine_image_init(&im, false);
	add_parked();
	begin(&f);
	check_oom(scan_once, &f.cfg);
	end(&f);
}

/* Counts goroutines with the shared notes of the file, or with none if notes is NULL. */
static uint64_t count_with(struct file_notes *notes, uint64_t bias)
{
	struct fixture f;
	uint64_t n = 0;

	begin(&f);
	if (notes)
		goroutine_code_share(f.code, notes, bias);
	assert_int_equal(goroutine_scan_count(&f.cfg, f.code, &n), 0);
	end(&f);
	return n;
}

TEST(test_owners_of_goroutines_are_shared_with_the_next_process)
{
	struct file_notes notes = {0};

	goroutine_image_init(&im, false);
	add_parked();
	image_add(&im, GOROUTINE_WAITING, IMAGE_SWEEPER); /* the runtime's */
	im.module.in_file = true;
	assert_int_equal(count_with(&notes, 0), 1);

	/* without its name it is taken for the program's */
	memset(im.data + GOROUTINE_IMAGE_TABLE + im.module.table.names_offset, 0, 0x200);
	assert_int_equal(count_with(NULL, 0), 2);
	assert_int_equal(count_with(&notes, 0), 1);
	assert_int_equal(count_with(&notes, 0x1000), 2); /* other functions of the file */
	im.module.table.names_offset++;
	assert_int_equal(count_with(&notes, 0), 2); /* other tables */
	im.module.table.names_offset--;
	im.module.in_file = false;
	assert_int_equal(count_with(&notes, 0), 2); /* tables of its own */
	file_notes_clear(&notes);
}
