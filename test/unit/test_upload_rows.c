/* What decoders leave out of an upload, on its way to the answer. */
#include "cluster-agent/ingest/upload_rows.h"
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

static void test_an_upload_without_losses_has_an_empty_line(void **state)
{
	struct fixture *f = *state;

	make(f);
	assert_string_equal(f->rows.left_out, "");
	assert_false(profile_losses_any(&f->rows.losses));
}

static void test_losses_of_all_parts_and_of_the_upload_are_added(void **state)
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

static void test_a_long_note_is_cut_to_the_line(void **state)
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_upload_without_losses_has_an_empty_line),
		TEST(test_losses_of_all_parts_and_of_the_upload_are_added),
		TEST(test_a_long_note_is_cut_to_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
