/* Goroutine profiles, read by the worker from a child that looks like a Go program. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "node-agent/go/goroutine/goroutine_layout.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/runtime/runtime_worker.h"
#include "test/lib/go_lookalike.h"
#include "test/lib/runtime_fixture.h"
#include "test/lib/unit.h"

#define INTERVAL_NS (100 * NS_PER_MS)
#define ENOUGH_PROFILES 10u

/* Within its data: the list, its array, and two goroutines. */
#define LIST 0x6040u
#define ARRAY 0x6060u
#define FIRST 0x6100u
#define SECOND 0x6300u
#define STACK 0x6800u
#define STACK_BYTES 0x200u

/* clang-format off */
__asm__(".set \"runtime.allgs\", go_lookalike + 0x6040\n");
/* clang-format on */

struct fixture {
	struct runtime_fixture base;
	struct runtime_worker *worker;
	pid_t child;
	unsigned n_profiles;
	int64_t n_goroutines; /* of the last */
	bool running;         /* it shows one that runs, where it was started */
	bool waiting;         /* and one that waits */
};

static void add_profile(struct fixture *f, const struct profile *p)
{
	f->n_goroutines = 0;
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const char *names[2] = {"", ""};

		f->n_goroutines += s->values[0];
		for (uint32_t k = 0; k < s->n_locations && k < 2; k++)
			names[k] = p->functions[p->locations[s->locations[k]].lines[0].function]
					   .name.data;
		f->running |= strcmp(names[0], "[running]") == 0 && strcmp(names[1], "main.c") == 0;
		f->waiting |= strcmp(names[0], "[waiting]") == 0 && strcmp(names[1], "main.b") == 0;
	}
}

static void on_profile(void *ctx, const struct runtime_upload *u)
{
	CLEANUP(arena_fini) struct arena arena;
	struct fixture *f = ctx;
	struct err err = {""};
	struct profile p;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(pprof_decode(&p, &arena, u->pprof->data, u->pprof->len, &err), 0);
	if (p.n_types == 1)
		add_profile(f, &p);
	f->n_profiles++;
}

static bool has_enough(void *ctx)
{
	const struct fixture *f = ctx;

	return f->n_profiles >= ENOUGH_PROFILES;
}

static void put_goroutine(size_t at, const struct goroutine_layout *l, enum goroutine_status status,
			  uint64_t pc)
{
	go_lookalike_put(at, go_lookalike_address(STACK));
	go_lookalike_put(at + 8, go_lookalike_address(STACK + STACK_BYTES));
	go_lookalike_put(at + 56, go_lookalike_address(STACK + STACK_BYTES - 0x40));
	go_lookalike_put(at + 64, pc);
	go_lookalike_put(at + l->status, status);
	go_lookalike_put(at + l->id, at == FIRST ? 1 : 2);
	go_lookalike_put(at + l->start_pc, go_lookalike_address(GO_IMAGE_TEXT + 0x180));
}

static void make_child(struct fixture *f, uint64_t n_goroutines)
{
	const struct goroutine_layout *l;

	assert_int_equal(goroutine_layout_find(24, &l), 0);
	assert_true(go_lookalike_build(1, 1));
	put_goroutine(FIRST, l, GOROUTINE_WAITING, go_lookalike_address(GO_IMAGE_TEXT + 0x110));
	put_goroutine(SECOND, l, GOROUTINE_RUNNING, 0);
	go_lookalike_put(ARRAY, go_lookalike_address(FIRST));
	go_lookalike_put(ARRAY + 8, go_lookalike_address(SECOND));
	go_lookalike_put(LIST, go_lookalike_address(ARRAY));
	go_lookalike_put(LIST + 8, n_goroutines);
	go_lookalike_put(LIST + 16, n_goroutines);
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	runtime_fixture_begin(&f->base);
	runtime_fixture_show(&f->base, f->child);
}

static void work(struct fixture *f, bool heap)
{
	const struct go_profiler_config profiler = {
		.heap = heap,
		.goroutines = true,
		.goroutine_reader = {.wait_reasons = true, .duration_ns = INTERVAL_NS},
	};
	const struct runtime_worker_config cfg = {
		.ops = &go_runtime_ops,
		.config = &profiler,
		.proc_root = f->base.root,
		.processes = f->base.processes,
		.interval_ns = INTERVAL_NS,
		.history_max_bytes = 1u << 20,
		.on_profile = on_profile,
		.ctx = f,
	};
	struct err err = {""};

	assert_int_equal(runtime_fixture_start(&f->base), 0);
	assert_int_equal(runtime_worker_new(&f->worker, f->base.loop, f->base.ms, &cfg, &err), 0);
	assert_true(runtime_fixture_work(&f->base, has_enough, f));
}

static void end(struct fixture *f)
{
	runtime_worker_free(f->worker);
	runtime_fixture_stop(&f->base);
	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	runtime_fixture_end(&f->base);
}

static uint64_t metric(struct fixture *f, const char *beginning)
{
	return runtime_fixture_metric(&f->base, beginning);
}

#define GO "coroot_node_agent_go_"

TEST(test_goroutines_alone_are_read_and_counted)
{
	struct fixture f = {0};
	uint64_t n;

	make_child(&f, 2);
	work(&f, false);
	assert_int_equal(f.n_goroutines, 2);
	assert_true(f.running && f.waiting);
	/* the thread continues meanwhile: numbers that are read later are not less */
	n = metric(&f, GO "profiles_total{profile=\"goroutine\"} ");
	assert_in_range(n, ENOUGH_PROFILES, 10000);
	assert_in_range(metric(&f, GO "goroutines_read_total "), 2 * n, 20000);
	assert_in_range(metric(&f, GO "goroutines_without_stack_total{reason=\"running\"} "), n,
			10000);
	/* its functions have no table of sizes */
	assert_in_range(metric(&f, GO "goroutines_incomplete_stack_total{reason=\"broken\"} "), n,
			10000);
	assert_int_equal(metric(&f, GO "profiles_total{profile=\"heap\"} "), 0);
	end(&f);
}

/*
 * Each reading of the goroutines fails. If that delayed the next turn, as failures do, this
 * would time out.
 */
TEST(test_a_broken_list_of_goroutines_does_not_cost_the_other_profiles)
{
	struct fixture f = {0};

	make_child(&f, 0);
	work(&f, true);
	assert_int_equal(f.n_goroutines, 0);
	assert_in_range(metric(&f, GO "profiles_total{profile=\"heap\"} "), ENOUGH_PROFILES, 10000);
	assert_in_range(metric(&f, GO "readings_failed_total{reason=\"corrupt_list\"} "),
			ENOUGH_PROFILES - 1, 10000);
	end(&f);
}
