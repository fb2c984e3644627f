#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/scrape/scraped_profile.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define NOW (INT64_C(1800000000) * S)
#define HEAP "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"
#define LOCK "contentions/count delay/nanoseconds"

/* An endpoint that is scraped every minute. */
struct fixture {
	struct arena arena;
	struct profile_baseline baseline;
	struct scraped_profile_info info;
	struct profile p; /* the last one */
	bool restarted;
	struct err err;
};

static void setup(struct fixture *f, enum profile_kind kind)
{
	*f = (struct fixture){.info = {.kind = kind, .scraped_at_ns = NOW, .interval_ns = 60 * S}};
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
}

static void teardown(struct fixture *f)
{
	profile_baseline_fini(&f->baseline);
	arena_fini(&f->arena);
}

static int convert(struct fixture *f)
{
	f->restarted = false;
	f->err.msg[0] = '\0';
	return scraped_profile_convert(&f->p, &f->baseline, &f->info, &f->restarted, &f->err);
}

static int scrape(struct fixture *f, const char *types, const struct made_sample *samples,
		  uint32_t n)
{
	arena_clear(&f->arena);
	f->p = made_profile(&f->arena, types, samples, n);
	return convert(f);
}

static void assert_types(const struct profile *p, const char *expected)
{
	char text[512] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < p->n_types; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
				       p->types[i].type.data);
	assert_string_equal(text, expected);
}

static void load(struct fixture *f, const char *path)
{
	CLEANUP(buf_fini) struct buf in;

	buf_init(&in, MIB);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &in), 0);
	arena_clear(&f->arena);
	assert_int_equal(pprof_decode(&f->p, &f->arena, in.data, in.len, NULL), 0);
}

/* ---- what Go serves ---- */

TEST(a_heap_of_go_keeps_every_value_of_stacks_that_it_repeats)
{
	CLEANUP(teardown) struct fixture f;
	int64_t objects, space;
	uint32_t n;

	setup(&f, PROFILE_KIND_HEAP);
	load(&f, "test/data/go_heap.pb.gz");
	n = f.p.n_samples;
	objects = made_profile_sum(&f.p, 2);
	space = made_profile_sum(&f.p, 3);
	assert_int_equal(convert(&f), 0);
	assert_types(&f.p, "go:heap_inuse_objects:count go:heap_inuse_space:bytes");
	assert_true(f.p.n_samples > 0 && f.p.n_samples < n);
	assert_int_equal(made_profile_sum(&f.p, 0), objects);
	assert_int_equal(made_profile_sum(&f.p, 1), space);
	assert_string_equal(f.p.types[1].unit.data, "bytes");
	assert_false(f.restarted);
}

TEST(a_heap_that_did_not_change_has_nothing_added)
{
	CLEANUP(teardown) struct fixture f;
	int64_t space;

	setup(&f, PROFILE_KIND_HEAP);
	load(&f, "test/data/go_heap.pb.gz");
	assert_int_equal(convert(&f), 0);
	load(&f, "test/data/go_heap.pb.gz");
	space = made_profile_sum(&f.p, 3);
	assert_int_equal(convert(&f), 0);
	assert_types(&f.p, "go:heap_alloc_objects:count go:heap_alloc_space:bytes "
			   "go:heap_inuse_objects:count go:heap_inuse_space:bytes");
	assert_int_equal(made_profile_sum(&f.p, 0), 0);
	assert_int_equal(made_profile_sum(&f.p, 1), 0);
	assert_int_equal(made_profile_sum(&f.p, 3), space);
}

TEST(a_cpu_profile_of_go_loses_its_samples_and_keeps_its_period)
{
	CLEANUP(teardown) struct fixture f;
	int64_t cpu, duration;

	setup(&f, PROFILE_KIND_CPU);
	load(&f, "test/data/go_cpu.pb.gz");
	cpu = made_profile_sum(&f.p, 1);
	duration = f.p.duration_ns;
	assert_int_equal(convert(&f), 0);
	assert_types(&f.p, "go:profile_cpu:nanoseconds");
	assert_string_equal(f.p.types[0].unit.data, "nanoseconds");
	assert_int_equal(made_profile_sum(&f.p, 0), cpu);
	assert_int_equal(f.p.period, 10000000);
	assert_string_equal(f.p.period_type.unit.data, "nanoseconds");
	assert_true(f.p.time_ns == NOW && f.p.duration_ns == duration);
	assert_false(f.baseline.valid);
}

/* ---- differences ---- */

TEST(the_first_profile_of_a_lock_gives_nothing)
{
	static const struct made_sample samples[] = {{{1}, 1, {5, 500}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	assert_int_equal(scrape(&f, LOCK, samples, 1), 0);
	assert_int_equal(f.p.n_types, 0);
	assert_int_equal(f.p.n_samples, 0);
	assert_true(f.baseline.valid);
	assert_int_equal(f.baseline.n_entries, 1);
}

TEST(later_ones_give_what_was_added_to_each_stack)
{
	static const struct made_sample first[] = {{{1}, 1, {5, 500}}, {{2}, 1, {1, 10}}};
	static const struct made_sample second[] = {
		{{2}, 1, {1, 10}}, {{3}, 1, {4, 40}}, {{1}, 1, {6, 300}}, {{1}, 1, {1, 400}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_BLOCK);
	assert_int_equal(scrape(&f, LOCK, first, ARRAY_SIZE(first)), 0);
	assert_int_equal(scrape(&f, LOCK, second, ARRAY_SIZE(second)), 0);
	assert_types(&f.p, "go:block_contentions:count go:block_delay:nanoseconds");
	assert_false(f.restarted);
	assert_int_equal(f.p.n_samples, 2);
	assert_int_equal(f.p.samples[0].values[0], 4);
	assert_int_equal(f.p.samples[0].values[1], 40);
	assert_int_equal(f.p.samples[1].values[0], 2);
	assert_int_equal(f.p.samples[1].values[1], 200);
	assert_int_equal(f.p.n_functions, 2);
	/* nothing happened after that */
	assert_int_equal(scrape(&f, LOCK, second, ARRAY_SIZE(second)), 0);
	assert_int_equal(f.p.n_samples, 0);
}

TEST(a_stack_that_is_new_in_a_type_is_not_a_restart)
{
	static const struct made_sample first[] = {{{1}, 1, {0, 0, 1, 10}},
						   {{2}, 1, {3, 30, 0, 0}}};
	static const struct made_sample second[] = {{{1}, 1, {2, 20, 0, 0}},
						    {{2}, 1, {3, 30, 0, 0}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_HEAP);
	assert_int_equal(scrape(&f, HEAP, first, 2), 0);
	assert_int_equal(f.baseline.n_entries, 1);
	assert_int_equal(scrape(&f, HEAP, second, 2), 0);
	assert_false(f.restarted);
	assert_int_equal(f.p.n_samples, 1);
	assert_int_equal(f.p.samples[0].values[1], 20);
}

TEST(after_a_restart_everything_was_added)
{
	static const struct made_sample before[] = {{{1}, 1, {5, 500}}, {{2}, 1, {1, 10}}};
	static const struct made_sample fell[] = {{{1}, 1, {9, 499}}, {{2}, 1, {1, 10}}};
	static const struct made_sample gone[] = {{{1}, 1, {9, 900}}};
	static const struct made_sample other[] = {{{3}, 1, {2, 20}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	assert_int_equal(scrape(&f, LOCK, before, 2), 0);
	assert_int_equal(scrape(&f, LOCK, fell, 2), 0);
	assert_true(f.restarted);
	assert_int_equal(made_profile_sum(&f.p, 0), 10);
	assert_int_equal(made_profile_sum(&f.p, 1), 509);
	assert_int_equal(scrape(&f, LOCK, gone, 1), 0);
	assert_true(f.restarted);
	assert_int_equal(made_profile_sum(&f.p, 1), 900);
	assert_int_equal(scrape(&f, LOCK, other, 1), 0);
	assert_true(f.restarted);
	assert_int_equal(made_profile_sum(&f.p, 1), 20);
	assert_int_equal(scrape(&f, LOCK, NULL, 0), 0);
	assert_true(f.restarted);
	assert_int_equal(f.p.n_samples, 0);
	assert_int_equal(profile_baseline_bytes(&f.baseline), 0);
	assert_int_equal(scrape(&f, LOCK, other, 1), 0);
	assert_false(f.restarted);
	assert_int_equal(made_profile_sum(&f.p, 1), 20);
}

/* Kubernetes may report a new container after its process has been scraped. */
TEST(a_restart_that_is_reported_late_is_not_counted_twice)
{
	static const struct made_sample old[] = {{{1}, 1, {50, 500}}};
	static const struct made_sample fresh[] = {{{1}, 1, {3, 30}}};
	static const struct made_sample later[] = {{{1}, 1, {5, 50}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	assert_int_equal(scrape(&f, LOCK, old, 1), 0);
	assert_int_equal(scrape(&f, LOCK, fresh, 1), 0);
	assert_true(f.restarted);
	f.info.restarted = true;
	assert_int_equal(scrape(&f, LOCK, later, 1), 0);
	assert_false(f.restarted);
	assert_int_equal(made_profile_sum(&f.p, 1), 20);
}

TEST(other_types_are_a_new_beginning)
{
	static const struct made_sample samples[] = {{{1}, 1, {5, 500}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	assert_int_equal(scrape(&f, LOCK, samples, 1), 0);
	assert_int_equal(scrape(&f, "contentions/count delay/seconds", samples, 1), 0);
	assert_int_equal(f.p.n_types, 0);
	assert_false(f.restarted);
	/* the containers have changed, and so has the program */
	f.info.restarted = true;
	assert_int_equal(scrape(&f, LOCK, samples, 1), 0);
	assert_true(f.restarted);
	assert_types(&f.p, "go:mutex_contentions:count go:mutex_delay:nanoseconds");
	assert_int_equal(made_profile_sum(&f.p, 0), 5);
}

/* ---- any sequence ---- */

#define N_STACKS 24u
#define MAX_SAMPLES 96u

/* A model of a process: its values so far, per stack. */
struct model {
	uint64_t random;
	uint32_t life; /* number of restarts */
	int64_t did[N_STACKS][4];
};

static uint32_t pick(struct model *m, uint32_t n)
{
	m->random = m->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(m->random >> 33) % n;
}

static void work(struct model *m)
{
	for (uint32_t n = pick(m, 40); n > 0; n--) {
		int64_t *did = m->did[pick(m, N_STACKS - 2)];
		int64_t objects = 1 + pick(m, 5), bytes = objects * (1 + pick(m, 1000));

		did[0] += objects;
		did[1] += bytes;
		/* memory in use grows and shrinks */
		did[2] = pick(m, 3);
		did[3] = did[2] * 100;
	}
}

static void begin_anew(struct model *m)
{
	memset(m->did, 0, sizeof(m->did));
	/* each life has a first allocation of its own, so that any restart is visible */
	m->life++;
	m->did[N_STACKS - 1 - m->life % 2][0] = 1;
	m->did[N_STACKS - 1 - m->life % 2][1] = 64;
}

static struct made_sample sample_of(uint32_t stack)
{
	return (struct made_sample){{stack, stack / 4, 31}, 3, {0}};
}

/*
 * Makes the profile of the process: stacks in any order, each with its values spread over up to
 * four samples.
 */
static uint32_t profile_of(struct model *m, struct made_sample *samples)
{
	uint32_t n = 0, offset = pick(m, N_STACKS);

	for (uint32_t i = 0; i < N_STACKS; i++) {
		uint32_t stack = (i + offset) % N_STACKS;
		uint32_t parts = 1 + pick(m, 4);
		int64_t rest[4];

		memcpy(rest, m->did[stack], sizeof(rest));
		if (rest[0] == 0 && pick(m, 2))
			continue;
		for (uint32_t part = 1; part <= parts; part++) {
			samples[n] = sample_of(stack);
			for (uint32_t t = 0; t < 4; t++) {
				int64_t v =
					part == parts ? rest[t] : pick(m, (uint32_t)rest[t] + 1);

				samples[n].values[t] = v;
				rest[t] -= v;
			}
			n++;
		}
	}
	assert_true(n <= MAX_SAMPLES);
	return n;
}

static void add_to(int64_t sums[N_STACKS][4], const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_line *leaf = p->locations[s->locations[0]].lines;
		uint32_t stack = (uint32_t)leaf->line - 10;

		assert_true(stack < N_STACKS);
		for (uint32_t t = 0; t < p->n_types; t++)
			sums[stack][t] += s->values[t];
	}
}

static void assert_in_use(const struct fixture *f, const struct model *m)
{
	int64_t now[N_STACKS][4] = {0};

	add_to(now, &f->p);
	for (uint32_t s = 0; s < N_STACKS; s++) {
		assert_int_equal(now[s][2], m->did[s][2]);
		assert_int_equal(now[s][3], m->did[s][3]);
	}
}

/*
 * Scrapes a process that restarts now and then, right before a scrape, so that the model knows
 * what a profile cannot show. The sums of everything passed on must equal what the process did.
 */
static void run_sequence(uint64_t seed, bool restarts)
{
	struct made_sample samples[MAX_SAMPLES];
	int64_t passed_on[N_STACKS][4] = {0}, expected[N_STACKS][4] = {0};
	CLEANUP(teardown) struct fixture f;
	struct model m = {.random = seed};

	setup(&f, PROFILE_KIND_HEAP);
	begin_anew(&m);
	work(&m);
	assert_int_equal(scrape(&f, HEAP, samples, profile_of(&m, samples)), 0);
	for (int i = 0; i < 30; i++) {
		int64_t before[N_STACKS][4];
		bool begins = restarts && pick(&m, 5) == 0;

		memcpy(before, m.did, sizeof(before));
		if (begins) {
			begin_anew(&m);
			memset(before, 0, sizeof(before));
		}
		work(&m);
		/* late, early, or about another container */
		f.info.restarted = pick(&m, 3) == 0;
		assert_int_equal(scrape(&f, HEAP, samples, profile_of(&m, samples)), 0);
		assert_int_equal(f.restarted, begins);
		assert_in_use(&f, &m);
		add_to(passed_on, &f.p);
		for (uint32_t s = 0; s < N_STACKS; s++)
			for (uint32_t t = 0; t < 2; t++)
				expected[s][t] += m.did[s][t] - before[s][t];
	}
	for (uint32_t s = 0; s < N_STACKS; s++)
		for (uint32_t t = 0; t < 2; t++)
			assert_int_equal(passed_on[s][t], expected[s][t]);
}

TEST(differences_add_up_to_what_the_process_did)
{
	for (uint64_t seed = 1; seed <= 300; seed++)
		run_sequence(seed, false);
}

TEST(differences_add_up_over_restarts)
{
	for (uint64_t seed = 1; seed <= 300; seed++)
		run_sequence(seed * 7919, true);
}

/* ---- what others than Go serve ---- */

/* As made_profile(), but with files of another language. */
static int scrape_of(struct fixture *f, const char *types, const struct made_sample *samples,
		     uint32_t n, const char *file)
{
	arena_clear(&f->arena);
	f->p = made_profile(&f->arena, types, samples, n);
	for (uint32_t i = 0; i < f->p.n_functions; i++)
		f->p.functions[i].file = (struct profile_string){file, strlen(file)};
	return convert(f);
}

TEST(a_profile_says_itself_what_it_is)
{
	static const struct {
		enum profile_kind kind;
		const char *served, *file, *types;
	} cases[] = {
		/* Node.js: @datadog/pprof, pprof */
		{PROFILE_KIND_CPU, "sample/count wall/nanoseconds", "server.js",
		 "nodejs:wall:nanoseconds"},
		{PROFILE_KIND_CPU, "sample/count wall/nanoseconds cpu/nanoseconds", "app.mjs",
		 "nodejs:wall:nanoseconds nodejs:cpu:nanoseconds"},
		{PROFILE_KIND_HEAP, "objects/count space/bytes", "node:internal/fs",
		 "nodejs:heap_inuse_objects:count nodejs:heap_inuse_space:bytes"},
		/* Python: pypprof */
		{PROFILE_KIND_CPU, "sample/count CPU/nanoseconds", "app.py",
		 "python:cpu:nanoseconds"},
		{PROFILE_KIND_WALL, "sample/count WALL/nanoseconds", "app.py",
		 "python:wall:nanoseconds"},
		{PROFILE_KIND_HEAP, "sample/count HEAP/bytes", "app.py",
		 "python:heap_inuse_objects:count python:heap_inuse_space:bytes"},
		{PROFILE_KIND_GOROUTINE, "sample/count THREADS/count", "app.py",
		 "python:sample:count python:threads:count"},
		/* Rust: pprof-rs, jemalloc_pprof with and without names */
		{PROFILE_KIND_CPU, "samples/count cpu/nanoseconds", "src/main.rs",
		 "rust:cpu:nanoseconds"},
		{PROFILE_KIND_HEAP, "inuse_space/bytes", "src/main.rs",
		 "rust:heap_inuse_space:bytes"},
		{PROFILE_KIND_HEAP, "inuse_space/bytes", "[server]",
		 "pprof:heap_inuse_space:bytes"},
		/* Go: fgprof */
		{PROFILE_KIND_FGPROF, "samples/count time/nanoseconds", "main.go",
		 "go:wall:nanoseconds"},
	};
	static const struct made_sample samples[] = {{{1}, 1, {5, 500, 50, 5000}}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(teardown) struct fixture f;

		setup(&f, cases[i].kind);
		assert_int_equal(scrape_of(&f, cases[i].served, samples, 1, cases[i].file), 0);
		assert_types(&f.p, cases[i].types);
		assert_int_equal(f.p.n_samples, 1);
	}
}

TEST(levels_of_others_stay_levels_and_allocations_become_differences)
{
	static const struct made_sample node[] = {{{1}, 1, {5, 500}}};
	static const struct made_sample first[] = {{{1}, 1, {5, 500, 2, 200}}};
	static const struct made_sample second[] = {{{1}, 1, {7, 900, 1, 100}}};
	CLEANUP(teardown) struct fixture f;
	CLEANUP(teardown) struct fixture g;

	setup(&f, PROFILE_KIND_HEAP);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(scrape_of(&f, "objects/count space/bytes", node, 1, "a.js"), 0);
		assert_int_equal(made_profile_sum(&f.p, 1), 500);
	}
	setup(&g, PROFILE_KIND_HEAP);
	assert_int_equal(scrape_of(&g, HEAP, first, 1, "a.cc"), 0);
	assert_types(&g.p, "pprof:heap_inuse_objects:count pprof:heap_inuse_space:bytes");
	assert_int_equal(scrape_of(&g, HEAP, second, 1, "a.cc"), 0);
	assert_int_equal(made_profile_sum(&g.p, 1), 400);
	assert_int_equal(made_profile_sum(&g.p, 3), 100);
}

/* A mutex profile is empty for hours, and then nothing in it says that it is Go's. */
TEST(the_first_stack_after_none_is_a_difference)
{
	static const struct made_sample samples[] = {{{1}, 1, {5, 500}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	assert_int_equal(scrape_of(&f, LOCK, NULL, 0, ""), 0);
	assert_int_equal(scrape(&f, LOCK, samples, 1), 0);
	assert_types(&f.p, "go:mutex_contentions:count go:mutex_delay:nanoseconds");
	assert_int_equal(made_profile_sum(&f.p, 1), 500);
}

TEST(values_of_godeltaprof_are_not_subtracted)
{
	static const struct made_sample samples[] = {{{1}, 1, {5, 500, 2, 200}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_DELTA_HEAP);
	/* the first has everything since the process began */
	assert_int_equal(scrape(&f, HEAP, samples, 1), 0);
	assert_types(&f.p, "go:heap_inuse_objects:count go:heap_inuse_space:bytes");
	f.info.previous_at_ns = NOW - 30 * S;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(scrape(&f, HEAP, samples, 1), 0);
		assert_types(&f.p, "go:heap_alloc_objects:count go:heap_alloc_space:bytes "
				   "go:heap_inuse_objects:count go:heap_inuse_space:bytes");
		assert_int_equal(made_profile_sum(&f.p, 1), 500);
		assert_int_equal(made_profile_sum(&f.p, 3), 200);
		assert_true(f.p.duration_ns == 30 * S);
	}
	assert_false(f.baseline.valid);
}

/* ---- what is refused ---- */

TEST(unknown_types_are_passed_on_and_unusable_ones_refused)
{
	static const struct made_sample samples[] = {{{1}, 1, {5, 500, 1}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_HEAP);
	assert_int_equal(scrape(&f, "Rss_4/pages", samples, 1), 0);
	assert_types(&f.p, "go:Rss_4:pages");
	assert_int_equal(scrape(&f, "a b/count \xc3\xa4/c-d", samples, 1), 0);
	assert_types(&f.p, "go:a_b:count go:__:c-d");
	assert_int_equal(scrape(&f, "a/count b/count a/count", samples, 1), 0);
	assert_types(&f.p, "go:a:count go:b:count");
	assert_int_equal(made_profile_sum(&f.p, 0), 6);
	assert_int_equal(scrape(&f, "/count", samples, 1), -EBADMSG);
	assert_string_equal(f.err.msg, "the types of the profile have no names");
}

TEST(a_refused_profile_leaves_the_baseline_as_it_was)
{
	static const struct made_sample first[] = {{{1}, 1, {5, 500}}};
	static const struct made_sample last[] = {{{1}, 1, {9, 900}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	assert_int_equal(scrape(&f, LOCK, first, 1), 0);
	assert_int_equal(scrape(&f, "/count", first, 1), -EBADMSG);
	assert_int_equal(scrape(&f, LOCK, last, 1), 0);
	assert_int_equal(made_profile_sum(&f.p, 0), 4);
	assert_int_equal(made_profile_sum(&f.p, 1), 400);
}

TEST(a_negative_value_is_0_and_no_restart)
{
	static const struct made_sample first[] = {{{1}, 1, {5, 500}}, {{2}, 1, {1, 10}}};
	static const struct made_sample negative[] = {{{1}, 1, {7, -1}}, {{2}, 1, {2, 20}}};
	static const struct made_sample last[] = {{{1}, 1, {9, 900}}, {{2}, 1, {3, 30}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	assert_int_equal(scrape(&f, LOCK, first, 2), 0);
	assert_int_equal(scrape(&f, LOCK, negative, 2), 0);
	assert_int_equal(f.p.n_types, 0);
	assert_false(f.restarted);
	assert_int_equal(f.p.losses.n[PROFILE_LOSS_NEGATIVE_VALUES], 1);
	assert_int_equal(scrape(&f, LOCK, last, 2), 0);
	assert_int_equal(made_profile_sum(&f.p, 0), 6);
	assert_int_equal(made_profile_sum(&f.p, 1), 420);
	/* values that do not grow are kept */
	f.info.kind = PROFILE_KIND_GOROUTINE;
	assert_int_equal(scrape(&f, "goroutine/count b/bytes", negative, 2), 0);
	assert_int_equal(made_profile_sum(&f.p, 0), 9);
	assert_int_equal(made_profile_sum(&f.p, 1), 20);
}

TEST(a_profile_that_takes_too_much_memory_is_refused)
{
	static const struct made_sample samples[] = {{{1}, 1, {5, 500}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_MUTEX);
	f.p = made_profile(&f.arena, LOCK, samples, 1);
	f.arena.limit_bytes = f.arena.used_bytes;
	f.p.n_locations = 1 << 20; /* never read */
	assert_int_equal(convert(&f), -EFBIG);
	assert_true(strncmp(f.err.msg, "the profile takes more than ", 28) == 0);
	assert_false(f.baseline.valid);
}

/* ---- windows ---- */

TEST(a_profile_covers_the_time_since_the_one_before)
{
	static const struct made_sample samples[] = {{{1}, 1, {5}}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_GOROUTINE);
	assert_int_equal(scrape(&f, "goroutine/count", samples, 1), 0);
	assert_types(&f.p, "go:goroutine_goroutine:count");
	assert_true(f.p.time_ns == NOW && f.p.duration_ns == 60 * S);
	f.info.previous_at_ns = NOW - 61 * S;
	assert_int_equal(scrape(&f, "goroutine/count", samples, 1), 0);
	assert_true(f.p.duration_ns == 61 * S);
	/* our clock was set back */
	f.info.previous_at_ns = NOW + S;
	assert_int_equal(scrape(&f, "goroutine/count", samples, 1), 0);
	assert_true(f.p.duration_ns == 60 * S);
}

TEST(a_cpu_profile_covers_its_own_duration_if_it_has_one)
{
	static const struct made_sample samples[] = {{{1}, 1, {5}}};
	static const struct {
		int64_t says, is;
	} cases[] = {{9 * S, 9 * S}, {0, 10 * S}, {-S, 10 * S}, {INT64_MAX, 10 * S}};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_CPU);
	f.info.interval_ns = 10 * S;
	f.info.previous_at_ns = NOW - 61 * S;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		f.p = made_profile(&f.arena, "cpu/nanoseconds", samples, 1);
		f.p.time_ns = 12345;
		f.p.duration_ns = cases[i].says;
		assert_int_equal(convert(&f), 0);
		assert_true(f.p.time_ns == NOW && f.p.duration_ns == cases[i].is);
	}
}

TEST(comments_of_the_server_are_not_ours)
{
	struct profile_string comment = {"lost:everything=1", 17};
	CLEANUP(teardown) struct fixture f;

	setup(&f, PROFILE_KIND_GOROUTINE);
	f.p = made_profile(&f.arena, "goroutine/count", NULL, 0);
	f.p.comments = &comment;
	f.p.n_comments = 1;
	assert_int_equal(convert(&f), 0);
	assert_int_equal(f.p.n_comments, 0);
	assert_int_equal(f.p.n_samples, 0);
}

/* ---- memory ---- */

/* 300 stacks of a pod that allocated a terabyte. */
TEST(baselines_of_5000_pods_fit_in_40_mib)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(profile_baseline_fini) struct profile_baseline b = {0};
	static const uint32_t columns[] = {0, 1};
	const struct cumulative_columns c = {columns, 2, 1};
	struct merged_stack stacks[300];
	int64_t values[300][2];
	struct merged_stacks m = {stacks, values[0], 300, 2};
	struct profile_baseline next;
	enum baseline_outcome outcome;
	uint64_t random = 1;

	arena_init(&arena, MIB);
	for (uint32_t i = 0; i < 300; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		stacks[i] = (struct merged_stack){random, i};
		values[i][0] = (int64_t)(random >> 40);
		values[i][1] = values[i][0] * 400;
	}
	assert_int_equal(profile_baseline_subtract(&b, &m, &c, &arena, &next, &outcome), 0);
	assert_int_equal(profile_baseline_commit(&b, &next), 0);
	assert_int_equal(b.n_entries, 300);
	assert_true(5000 * (sizeof(b) * 3 + profile_baseline_bytes(&b)) < 30 * MIB);
}

static int convert_with_little_memory(void *ctx)
{
	static const struct made_sample samples[] = {
		{{1}, 1, {9, 900}}, {{2}, 1, {1, 10}}, {{3}, 1, {1, 1}}};
	struct fixture *f = ctx;
	struct profile_baseline b = {.valid = false};
	struct profile p = made_profile(&f->arena, LOCK, samples, ARRAY_SIZE(samples));
	CLEANUP(arena_fini) struct arena arena;
	bool restarted;
	int r;

	arena_init(&arena, MIB);
	p.arena = &arena;
	r = scraped_profile_convert(&p, &b, &f->info, &restarted, NULL);
	assert_true(b.valid == (r == 0));
	profile_baseline_fini(&b);
	return r;
}

TEST(no_memory_is_an_error)
{
	CLEANUP(teardown) struct fixture f;
	void *room;

	setup(&f, PROFILE_KIND_MUTEX);
	/* so that making the profiles allocates nothing */
	room = arena_alloc(&f.arena, 900000);
	assert_non_null(room);
	arena_clear(&f.arena);
	check_oom(convert_with_little_memory, &f);
}
