/*
 * A profile that is too large for one upload: what the node agent makes of it is taken, part by
 * part, by the code with which the cluster agent turns uploads into rows.
 */
#include <errno.h>

#include "cluster-agent/ingest/upload_rows.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "node-agent/profile/stack_profile.h"
#include "test/lib/unit.h"

#define N_FUNCTIONS 5000u
#define NAME_BYTES 900u
#define N_TYPES 4u

struct fixture {
	char (*names)[NAME_BYTES];
	struct buf out;
	struct stack_profile_parts more;
	int64_t sums[N_TYPES];
	size_t n_samples;
	int64_t end_ns;
};

/* Address i is in function i. */
static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	const struct fixture *f = ctx;

	(void)all;
	ret->frames[0] = (struct frame){.function = f->names[address], .file = "f.go"};
	ret->n = 1;
	return 0;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	f->names = calloc(N_FUNCTIONS, sizeof(*f->names));
	assert_non_null(f->names);
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		memset(f->names[i], 'a' + (int)(i % 26), NAME_BYTES - 1);
		snprintf(f->names[i], 12, "%010u", i);
		f->names[i][10] = '.';
	}
	buf_init(&f->out, LIMIT_UPLOAD_BYTES);
	f->end_ns = (int64_t)clock_realtime_ns();
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	stack_profile_parts_fini(&f->more);
	buf_fini(&f->out);
	free(f->names);
	free(f);
	return 0;
}

/* Different stacks of the given depth. */
static void make(struct fixture *f, const struct stack_profile_config *limits, unsigned n_stacks,
		 unsigned depth, bool may_split)
{
	const struct stack_profile_config cfg = {
		.resolver = {.resolve = resolve, .ctx = f},
		.types = {"go_runtime:heap_alloc_objects:count",
			  "go_runtime:heap_alloc_space:bytes",
			  "go_runtime:heap_inuse_objects:count",
			  "go_runtime:heap_inuse_space:bytes"},
		.units = {"count", "bytes", "count", "bytes"},
		.n_types = N_TYPES,
		.period_type = "space",
		.period_unit = "bytes",
		.max_bytes = 128 * MIB,
		.out = &f->out,
		.more = may_split ? &f->more : NULL,
		.part_samples = limits->part_samples,
		.part_text_bytes = limits->part_text_bytes,
	};
	const struct stack_profile_times times = {f->end_ns, 60 * (int64_t)NS_PER_S, 524288};
	CLEANUP(stack_profile_freep) struct stack_profile *p = NULL;
	AUTO_FREE uint64_t *addresses = calloc(depth, sizeof(*addresses));

	assert_non_null(addresses);
	assert_int_equal(stack_profile_new(&p, &cfg), 0);
	for (unsigned i = 0; i < n_stacks; i++) {
		const struct stack_profile_stack s = {.addresses = addresses, .n = depth};
		struct stack_values values;

		for (unsigned d = 0; d < depth; d++)
			addresses[d] = (i * 7919u + d * 31u) % N_FUNCTIONS;
		addresses[0] = i % N_FUNCTIONS;
		addresses[1] = i / N_FUNCTIONS;
		for (unsigned t = 0; t < N_TYPES; t++) {
			values.v[t] = (int64_t)(i % 1000 + t + 1);
			f->sums[t] += values.v[t];
		}
		assert_int_equal(stack_profile_add(p, &s, &values), 0);
	}
	assert_int_equal(stack_profile_finish(p, &times, &f->n_samples), 0);
}

/* Adds the values of a part to sums. */
static void add_values(const struct fixture *f, const struct buf *part, int64_t *sums, size_t *n)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile profile;
	struct err err = {""};

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	if (pprof_decode(&profile, &arena, part->data, part->len, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(profile.time_ns == f->end_ns);
	assert_true(profile.duration_ns == 60 * (int64_t)NS_PER_S);
	assert_int_equal(profile.n_types, N_TYPES);
	for (uint32_t i = 0; i < profile.n_samples; i++) {
		for (unsigned t = 0; t < N_TYPES; t++)
			sums[t] += profile.samples[i].values[t];
	}
	*n += profile.n_samples;
}

/* As the receiver does. */
static int receive(const struct fixture *f, const struct buf *part, struct err *err)
{
	static const char service[] = "/k8s/shop/cart";
	const struct upload u = {
		.body = part->data,
		.len = part->len,
		.service = {.data = service, .len = sizeof(service) - 1},
		.host = {.data = "n", .len = 1},
	};
	const struct upload_rows_config cfg = {
		.now_ns = f->end_ns,
		.max_age_ns = INT64_C(7) * 86400 * (int64_t)NS_PER_S,
	};
	struct upload_rows rows = {0};
	struct row_batch batch;
	struct arena arena;
	int r;

	row_batch_init(&batch, LIMIT_PROFILE_PACKED_BYTES, LIMIT_PROFILE_ROWS_BYTES);
	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	r = part->len > LIMIT_UPLOAD_BYTES ? -EFBIG
					   : upload_rows_make(&rows, &batch, &u, &cfg, &arena, err);
	free(rows.stacks);
	arena_fini(&arena);
	row_batch_fini(&batch);
	return r;
}

static void assert_all_received(struct fixture *f)
{
	int64_t sums[N_TYPES] = {0};
	size_t n = 0;

	for (size_t i = 0; i <= f->more.n; i++) {
		const struct buf *part = i == 0 ? &f->out : &f->more.bufs[i - 1];
		struct err err = {""};

		if (receive(f, part, &err) < 0)
			fail_msg("part %zu of %zu: %s", i, f->more.n + 1, err.msg);
		add_values(f, part, sums, &n);
	}
	assert_int_equal(n, f->n_samples);
	assert_memory_equal(sums, f->sums, sizeof(sums));
}

TEST_FIXTURE(a_profile_below_the_limits_is_one_pprof, set_up, tear_down)
{
	struct fixture *f = *state;

	make(f, &(struct stack_profile_config){0}, 1000, 30, true);
	assert_int_equal(f->more.n, 0);
	assert_all_received(f);
}

TEST_FIXTURE(a_profile_of_too_much_text_is_taken_in_parts, set_up, tear_down)
{
	struct fixture *f = *state;
	struct err err = {""};

	/* the receiver refuses it as one */
	make(f, &(struct stack_profile_config){0}, 10000, 128, false);
	assert_int_equal(receive(f, &f->out, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "text"));

	buf_fini(&f->out);
	memset(f->sums, 0, sizeof(f->sums));
	make(f, &(struct stack_profile_config){0}, 10000, 128, true);
	assert_in_range(f->more.n, 2, 20);
	assert_int_equal(f->n_samples, 10000);
	assert_all_received(f);
}

TEST_FIXTURE(a_profile_of_too_many_samples_is_taken_in_parts, set_up, tear_down)
{
	struct fixture *f = *state;

	make(f, &(struct stack_profile_config){.part_samples = 3000}, 20000, 10, true);
	assert_int_equal(f->more.n, 6);
	assert_all_received(f);
}

TEST_FIXTURE(more_parts_than_can_be_are_an_error, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct stack_profile_config cfg = {
		.resolver = {.resolve = resolve, .ctx = f},
		.types = {"t:t:t"},
		.units = {"t"},
		.n_types = 1,
		.period_type = "t",
		.period_unit = "t",
		.max_bytes = 64 * MIB,
		.out = &f->out,
		.more = &f->more,
		.part_samples = 10,
	};
	const struct stack_profile_times times = {f->end_ns, 1, 1};
	CLEANUP(stack_profile_freep) struct stack_profile *p = NULL;

	assert_int_equal(stack_profile_new(&p, &cfg), 0);
	for (uint64_t i = 0; i < 10 * STACK_PROFILE_MAX_PARTS + 1; i++) {
		const uint64_t address = i;
		const struct stack_profile_stack s = {.addresses = &address, .n = 1};

		assert_int_equal(stack_profile_add(p, &s, &(struct stack_values){{1}}), 0);
	}
	assert_int_equal(stack_profile_finish(p, &times, &f->n_samples), -ENOBUFS);
	stack_profile_free(TAKE_PTR(p));
	assert_int_equal(f->out.len, 0);
}

static int make_parts(void *arg)
{
	struct fixture *f = arg;
	const struct stack_profile_config cfg = {
		.resolver = {.resolve = resolve, .ctx = f},
		.types = {"t:t:t"},
		.units = {"t"},
		.n_types = 1,
		.period_type = "t",
		.period_unit = "t",
		.max_bytes = 64 * MIB,
		.out = &f->out,
		.more = &f->more,
		.part_samples = 2,
	};
	const struct stack_profile_times times = {f->end_ns, 1, 1};
	CLEANUP(stack_profile_freep) struct stack_profile *p = NULL;
	int r;

	stack_profile_parts_fini(&f->more);
	buf_fini(&f->out);
	r = stack_profile_new(&p, &cfg);
	for (uint64_t i = 0; r == 0 && i < 5; i++) {
		const struct stack_profile_stack s = {.addresses = &i, .n = 1};

		r = stack_profile_add(p, &s, &(struct stack_values){{1}});
	}
	if (r == 0)
		r = stack_profile_finish(p, &times, &f->n_samples);
	assert_true(r < 0 || f->more.n == 2);
	return r;
}

TEST_FIXTURE(survives_every_failed_allocation, set_up, tear_down)
{
	check_oom(make_parts, *state);
}
