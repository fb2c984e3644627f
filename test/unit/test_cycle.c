#include <errno.h>
#include <fcntl.h>

#include "node-agent/sample/cycle.h"
#include "test/lib/unit.h"

#define DEPTH 30

struct record {
	struct sample_event e;
	uint64_t addrs[DEPTH];
};

/* Stack number n: one kernel frame, the others user frames. */
static struct record stack(uint64_t n)
{
	struct record r = {
		.e = {.header = {.type = EVENT_SAMPLE, .size = sizeof(r)},
		      .n_kernel = 1,
		      .n_user = DEPTH - 1,
		      .end = WALK_END_BOTTOM},
	};

	for (unsigned i = 0; i < DEPTH; i++)
		r.addrs[i] = n * 1000 + i;
	return r;
}

static struct process_snapshot *process(pid_t pid, const char *exe)
{
	struct process_snapshot *s = calloc(1, sizeof(*s));
	struct workload_facts facts = {0};

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	s->pid = pid;
	facts.exe = exe;
	if (workload_new(&s->workload, &facts) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

static struct cycle *new_cycle(uint32_t max_stacks, size_t max_bytes)
{
	struct cycle *c = NULL;
	struct cycle_config cfg = {.max_stacks = max_stacks, .max_bytes = max_bytes};

	assert_int_equal(cycle_new(&c, &cfg), 0);
	return c;
}

static int add(struct cycle *c, struct process_snapshot *p, uint64_t n)
{
	struct record r = stack(n);

	return cycle_add_sample(c, p, &r.e);
}

TEST(the_same_stack_is_counted_not_kept_twice)
{
	CLEANUP(cycle_freep) struct cycle *c = new_cycle(100, 1 << 20);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(7, "/a");
	struct cycle_process *const *all;
	AUTO_FREE struct cycle_stack_words *words = calloc(1, sizeof(*words));
	size_t n;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(add(c, p, i % 10 == 0), 0);
	assert_int_equal(cycle_n_samples(c), 1000);
	assert_int_equal(cycle_n_stacks(c), 2);
	all = cycle_processes(c, &n);
	assert_int_equal(n, 1);
	assert_ptr_equal(all[0]->snapshot, p);
	assert_int_equal(all[0]->n_stacks, 2);
	assert_int_equal(all[0]->n_samples, 1000);
	assert_int_equal(all[0]->stacks->n_samples + all[0]->stacks->next->n_samples, 1000);
	cycle_stack_unpack(all[0]->stacks, words);
	assert_int_equal(words->addrs[DEPTH - 1] % 1000, DEPTH - 1);
	assert_int_equal(all[0]->stacks->n_kernel, 1);
}

TEST(stacks_differ_by_all_that_is_shown)
{
	CLEANUP(cycle_freep) struct cycle *c = new_cycle(100, 1 << 20);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(7, "/a");
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *q = process(8, "/a");
	struct cycle_process *const *all;
	struct record r = stack(1);
	size_t n;

	assert_int_equal(cycle_add_sample(c, p, &r.e), 0);
	assert_int_equal(cycle_add_sample(c, q, &r.e), 0);
	r.e.end = WALK_END_UNREADABLE;
	assert_int_equal(cycle_add_sample(c, p, &r.e), 0);
	r.e.n_kernel = 2;
	r.e.n_user = DEPTH - 2;
	assert_int_equal(cycle_add_sample(c, p, &r.e), 0);
	r.e.n_user = DEPTH - 3;
	assert_int_equal(cycle_add_sample(c, p, &r.e), 0);
	r.e.stack_switch[1] = 3;
	assert_int_equal(cycle_add_sample(c, p, &r.e), 0);
	r.e.root_at = 4;
	assert_int_equal(cycle_add_sample(c, p, &r.e), 0);
	assert_int_equal(cycle_n_stacks(c), 7);
	all = cycle_processes(c, &n);
	assert_int_equal(n, 2);
	assert_int_equal(all[0]->n_stacks, 6);
	assert_int_equal(all[1]->n_stacks, 1);
}

TEST(many_stacks_are_all_found_again)
{
	CLEANUP(cycle_freep) struct cycle *c = new_cycle(20000, 64 << 20);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(7, "/a");
	struct cycle_process *const *all;
	size_t n_processes, n = 0;

	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 10000; i++)
			assert_int_equal(add(c, p, i), 0);
	}
	assert_int_equal(cycle_n_stacks(c), 10000);
	cycle_seal(c);
	all = cycle_processes(c, &n_processes);
	for (const struct cycle_stack *s = all[0]->stacks; s; s = s->next, n++)
		assert_int_equal(s->n_samples, 3);
	assert_int_equal(n, 10000);
}

TEST(what_is_over_a_limit_is_counted_and_the_rest_goes_on)
{
	CLEANUP(cycle_freep) struct cycle *few = new_cycle(3, 1 << 20);
	CLEANUP(cycle_freep) struct cycle *small = new_cycle(1000, 8192);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(7, "/a");
	int r = 0;

	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(add(few, p, i), i < 3 ? 0 : -EFBIG);
	assert_int_equal(add(few, p, 2), 0);
	assert_int_equal(cycle_lost(few, CYCLE_LOST_STACKS_FULL), 2);
	assert_int_equal(cycle_n_samples(few), 4);

	for (uint64_t i = 0; r == 0; i++)
		r = add(small, p, i);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(cycle_lost(small, CYCLE_LOST_BYTES_FULL), 1);
	assert_int_equal(add(small, p, 0), 0);
	assert_int_equal(cycle_n_samples(small), cycle_n_stacks(small) + 1);
}

TEST(losses_are_kept_by_reason_and_every_reason_has_a_name)
{
	CLEANUP(cycle_freep) struct cycle *c = new_cycle(3, 1 << 20);

	cycle_add_lost(c, CYCLE_LOST_RING_FULL, 5);
	cycle_add_lost(c, CYCLE_LOST_RING_FULL, 2);
	assert_int_equal(cycle_lost(c, CYCLE_LOST_RING_FULL), 7);
	assert_int_equal(cycle_lost(c, CYCLE_LOST_NO_TASK), 0);
	for (int why = 0; why < CYCLE_LOST_MAX; why++)
		assert_non_null(cycle_lost_name((enum cycle_lost)why));
	assert_string_equal(cycle_lost_name(CYCLE_LOST_RING_FULL), "ring_full");
}

TEST(a_cycle_that_is_given_up_is_a_loss_of_the_next)
{
	CLEANUP(cycle_freep) struct cycle *dropped = new_cycle(3, 1 << 20);
	CLEANUP(cycle_freep) struct cycle *next = new_cycle(3, 1 << 20);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(7, "/a");

	assert_int_equal(add(dropped, p, 0), 0);
	assert_int_equal(add(dropped, p, 0), 0);
	cycle_add_lost(dropped, CYCLE_LOST_RING_FULL, 5);
	cycle_add_lost(dropped, CYCLE_LOST_WORKER_BUSY, 10);
	cycle_add_dropped(next, dropped);
	assert_int_equal(cycle_lost(next, CYCLE_LOST_RING_FULL), 5);
	assert_int_equal(cycle_lost(next, CYCLE_LOST_WORKER_BUSY), 12);
	assert_int_equal(cycle_losses(next)->n[CYCLE_LOST_WORKER_BUSY], 12);
	assert_int_equal(cycle_n_samples(next), 0);
}

TEST(processes_come_by_workload)
{
	CLEANUP(cycle_freep) struct cycle *c = new_cycle(10, 1 << 20);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(9, "/b");
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *q = process(8, "/b");
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *r = process(10, "/a");
	struct cycle_process *const *all;
	size_t n;

	all = cycle_processes(c, &n);
	assert_int_equal(n, 0);
	assert_int_equal(add(c, p, 1), 0);
	assert_int_equal(add(c, q, 1), 0);
	assert_int_equal(add(c, r, 1), 0);
	all = cycle_processes(c, &n);
	assert_int_equal(n, 3);
	assert_ptr_equal(all[0]->snapshot, r);
	assert_ptr_equal(all[1]->snapshot, q);
	assert_ptr_equal(all[2]->snapshot, p);
}

TEST(all_snapshots_of_a_process_have_what_one_of_them_holds)
{
	CLEANUP(cycle_freep) struct cycle *c = new_cycle(100, 1 << 20);
	AUTO_CLOSE int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct process_snapshot *p[4];
	struct cycle_process *const *all;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = process(i < 3 ? 7 : 8, "/a");
		assert_non_null(p[i]);
		assert_int_equal(add(c, p[i], i), 0);
	}
	assert_int_equal(jit_files_find(&p[1]->jit_files, proc_fd), 0);
	all = cycle_processes(c, &n);
	assert_int_equal(n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_ptr_equal(all[i]->jit_files, i < 3 ? p[1]->jit_files : NULL);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		process_snapshot_unref(p[i]);
}

TEST(holds_its_processes)
{
	struct cycle *c = new_cycle(10, 1 << 20);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(9, "/b");

	assert_int_equal(add(c, p, 1), 0);
	assert_int_equal(add(c, p, 2), 0);
	assert_int_equal(atomic_load(&p->refs), 2);
	cycle_free(c);
	assert_int_equal(atomic_load(&p->refs), 1);
}

static int add_a_lot(void *arg)
{
	CLEANUP(cycle_freep) struct cycle *c = NULL;
	struct cycle_config cfg = {.max_stacks = 1000, .max_bytes = 1 << 20};
	int r = cycle_new(&c, &cfg);

	for (uint64_t i = 0; r == 0 && i < 600; i++)
		r = add(c, arg, i);
	if (r < 0 && c)
		assert_int_equal(cycle_lost(c, CYCLE_LOST_NO_MEMORY), 1);
	return r;
}

TEST(survives_every_failed_allocation)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *p = process(9, "/b");

	check_oom(add_a_lot, p);
	assert_int_equal(atomic_load(&p->refs), 1);
}
