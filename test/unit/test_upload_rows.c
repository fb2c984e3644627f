/* What decoders leave out of an upload, on its way to the answer. */
#include "cluster-agent/ingest/upload_rows.h"

#include <errno.h>

#include "cluster-agent/ingest/profile_rows.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

struct fixture {
	struct arena arena;
	struct row_batch batch;
	struct upload_rows rows;
	/* of the upload that decode() returns */
	struct profile_losses of_part[2];
	struct profile_losses of_upload;
	const char *note;
	struct row_text service; /* of the first part */
	struct profile profile;  /* of the first part, if it has types */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	row_batch_init(&f->batch, LIMIT_PROFILE_PACKED_BYTES, LIMIT_PROFILE_ROWS_BYTES);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	free(f->rows.stacks);
	row_batch_fini(&f->batch);
	arena_fini(&f->arena);
	free(f);
	return 0;
}

static int decode(struct upload_parts *ret, struct arena *arena, const void *ctx, const void *body,
		  size_t len, struct err *err)
{
	static struct profile_value_type type = {{"pprof:cpu:nanoseconds", 21},
						 {"nanoseconds", 11}};
	const struct fixture *f = ctx;

	(void)body;
	(void)len;
	(void)err;
	*ret = (struct upload_parts){
		.items = arena_calloc(arena, 2, sizeof(*ret->items)),
		.n = 2,
		.losses = f->of_upload,
		.note = f->note,
	};
	for (size_t i = 0; i < ret->n; i++) {
		ret->items[i].service = (struct row_text){"shop", 4};
		ret->items[i].profile = (struct profile){
			.arena = arena, .types = &type, .n_types = 1, .losses = f->of_part[i]};
	}
	if (f->service.len > 0)
		ret->items[0].service = f->service;
	if (f->profile.n_types > 0) {
		ret->items[0].profile = f->profile;
		ret->items[0].profile.arena = arena;
	}
	return 0;
}

static void make(struct fixture *f)
{
	const struct upload upload = {.decode = decode, .decode_ctx = f};
	const struct upload_rows_config cfg = {
		.now_ns = (int64_t)clock_realtime_ns(),
		.max_age_ns = (int64_t)(86400 * NS_PER_S),
	};
	struct err err = {""};

	assert_int_equal(upload_rows_make(&f->rows, &f->batch, &upload, &cfg, &f->arena, &err), 0);
}

TEST_FIXTURE(test_an_upload_without_losses_has_an_empty_line, set_up, tear_down)
{
	struct fixture *f = *state;

	make(f);
	assert_string_equal(f->rows.left_out, "");
	assert_false(profile_losses_any(&f->rows.losses));
}

TEST_FIXTURE(test_losses_of_all_parts_and_of_the_upload_are_added, set_up, tear_down)
{
	struct fixture *f = *state;

	f->of_part[0].n[PROFILE_LOSS_CUT_STACKS] = 2;
	f->of_part[1].n[PROFILE_LOSS_CUT_STACKS] = 3;
	f->of_upload.n[PROFILE_LOSS_OTHER_EVENTS] = 1;
	f->note = "jdk.\nFileRead";
	make(f);
	assert_int_equal(f->rows.losses.n[PROFILE_LOSS_CUT_STACKS], 5);
	assert_int_equal(f->rows.losses.n[PROFILE_LOSS_OTHER_EVENTS], 1);
	assert_string_equal(f->rows.left_out,
			    "5 stacks cut: too many frames; 1 event left out: events of its kind "
			    "become no profile: jdk.?FileRead");
}

TEST_FIXTURE(test_a_long_note_is_cut_to_the_line, set_up, tear_down)
{
	struct fixture *f = *state;
	char note[2 * UPLOAD_LEFT_OUT_BYTES];

	for (size_t i = 0; i < sizeof(note); i += 2)
		memcpy(note + i, "é", 2);
	note[sizeof(note) - 1] = '\0';
	f->note = note;
	make(f);
	assert_in_range(strlen(f->rows.left_out), UPLOAD_LEFT_OUT_BYTES - 3,
			UPLOAD_LEFT_OUT_BYTES - 1);
	assert_string_equal(f->rows.left_out + strlen(f->rows.left_out) - 2, "é");
}

/* ---- limits ---- */

static struct profile_string type_name(char *text, size_t size, unsigned n)
{
	int len = snprintf(text, size, "a:%u:b", n);

	return (struct profile_string){text, (size_t)len};
}

TEST_FIXTURE(test_a_type_with_a_long_name_is_left_out_and_named, set_up, tear_down)
{
	struct fixture *f = *state;
	struct profile_value_type types[2] = {{{"pprof:cpu:nanoseconds", 21}}};
	char name[PROFILE_ROWS_TYPE_BYTES + 2];

	memset(name, 'a', sizeof(name));
	memcpy(name, "a:b:", 4);
	types[1].type = (struct profile_string){name, PROFILE_ROWS_TYPE_BYTES + 1};
	f->profile = (struct profile){.types = types, .n_types = 2};
	make(f);
	assert_string_equal(f->rows.left_out, "1 sample type left out");
	/* a stack, a sample and a row of quality of both parts */
	assert_int_equal(row_batch_rows(&f->batch), 6);
}

static int make_with(struct fixture *f, struct service_types *t, struct err *err)
{
	const struct upload upload = {.decode = decode, .decode_ctx = f};
	const struct upload_rows_config cfg = {
		.now_ns = (int64_t)clock_realtime_ns(),
		.max_age_ns = (int64_t)(86400 * NS_PER_S),
		.types = t,
	};

	free(f->rows.stacks);
	f->rows = (struct upload_rows){0};
	row_batch_clear(&f->batch);
	return upload_rows_make(&f->rows, &f->batch, &upload, &cfg, &f->arena, err);
}

TEST_FIXTURE(test_types_beyond_the_limit_of_a_service_are_left_out, set_up, tear_down)
{
	CLEANUP(service_types_freep) struct service_types *t = NULL;
	struct profile_value_type types[LIMIT_PPROF_TYPES];
	char names[LIMIT_PPROF_TYPES][16];
	struct fixture *f = *state;
	struct err err = {""};

	assert_int_equal(service_types_new(&t, 1000), 0);
	f->profile = (struct profile){.types = types, .n_types = LIMIT_PPROF_TYPES};
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < LIMIT_PPROF_TYPES; i++)
			types[i] = (struct profile_value_type){
				type_name(names[i], sizeof(names[i]), 40 * round + i)};
		assert_int_equal(make_with(f, t, &err), 0);
	}
	/* 24 of the second upload were in the first; the other part has its own */
	assert_string_equal(f->rows.left_out, "41 sample types left out");
}

TEST_FIXTURE(test_an_upload_of_which_nothing_is_left_is_refused, set_up, tear_down)
{
	CLEANUP(service_types_freep) struct service_types *t = NULL;
	struct fixture *f = *state;
	struct err err = {""};

	assert_int_equal(service_types_new(&t, UINT32_MAX), 0);
	for (unsigned i = 0; i < SERVICE_TYPES_MAX; i++) {
		char name[16];
		struct profile_string s = type_name(name, sizeof(name), i);

		assert_int_equal(service_types_admit(t, (struct row_text){"shop", 4},
						     (struct row_text){s.data, s.len}, 1),
				 0);
	}
	assert_int_equal(make_with(f, t, &err), -EBADMSG);
	assert_string_equal(err.msg, "service shop has 64 other sample types already");
}

TEST_FIXTURE(test_the_end_of_a_long_service_name_becomes_a_hash, set_up, tear_down)
{
	struct fixture *f = *state;
	char name[5000];

	memset(name, 'a', sizeof(name));
	f->service = (struct row_text){name, sizeof(name)};
	make(f);
	assert_string_equal(f->rows.left_out, "1 string cut: too long");
	assert_int_equal(row_batch_rows(&f->batch), 6);
}

TEST_FIXTURE(test_a_stack_with_more_text_than_a_row_may_have_is_cut, set_up, tear_down)
{
	enum { N = 300, BYTES = 60000 };
	struct profile_value_type type = {{"pprof:cpu:nanoseconds", 21}};
	struct fixture *f = *state;
	char *name = malloc(BYTES);
	struct profile_function function = {.name = {name, BYTES}};
	const struct profile_line line = {0, 1};
	struct profile_location location = {.lines = &line, .n_lines = 1};
	uint32_t locations[N] = {0};
	const int64_t value = 1;
	struct profile_sample sample = {locations, N, &value, false};

	assert_non_null(name);
	memset(name, 'a', BYTES);
	f->profile = (struct profile){
		.types = &type,
		.n_types = 1,
		.functions = &function,
		.n_functions = 1,
		.locations = &location,
		.n_locations = 1,
		.samples = &sample,
		.n_samples = 1,
	};
	make(f);
	assert_string_equal(f->rows.left_out, "1 stack cut: too many frames");
	free(name);
}
