#include <errno.h>

#include "node-agent/go/record/go_bucket_scan.h"
#include "test/lib/heap_image.h"
#include "test/lib/unit.h"

#define RECORD 0x12000u /* above what no program has: the first 64 KiB */
#define OTHER 0x13000u
#define BSS 0x20000u
#define BSS_END 0x24000u
#define NOPTRBSS 0x30000u
#define NOPTRBSS_END 0x31000u

struct fixture {
	struct heap_image image;
	struct go_module module;
	struct memory_windows *windows;
	uint64_t max_bytes;
	uint64_t found;
};

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	heap_image_init(&f->image, true);
	heap_image_record(&f->image, RECORD, 0, 16, 3, 1);
	heap_image_record(&f->image, OTHER, RECORD, 16, 3, 2);
	f->module.data[1] = (struct go_range){0x10, 0x10000};
	f->module.data[2] = (struct go_range){BSS, BSS_END};
	f->module.data[3] = (struct go_range){NOPTRBSS, NOPTRBSS_END};
	f->max_bytes = UINT64_MAX;
	assert_int_equal(memory_windows_new(&f->windows), 0);
}

static void end(struct fixture *f)
{
	memory_windows_free(f->windows);
}

static int scan(struct fixture *f)
{
	memory_windows_begin(f->windows, &f->image.source, f->max_bytes);
	return go_bucket_scan(f->windows, &f->module, &f->image.format, &f->found);
}

TEST(test_the_one_variable_that_points_to_a_record_is_found)
{
	static const uint64_t places[] = {BSS,         BSS + 0xff8, BSS + 0x1000,
					  BSS_END - 8, NOPTRBSS,    NOPTRBSS_END - 8};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct fixture f;

		begin(&f);
		heap_image_put(&f.image, places[i], RECORD);
		assert_int_equal(scan(&f), 0);
		assert_int_equal(f.found, places[i]);
		end(&f);
	}
}

TEST(test_only_zeroed_data_is_searched)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(scan(&f), -ENOENT);
	heap_image_put(&f.image, 0x8000, RECORD);       /* initialised data */
	heap_image_put(&f.image, BSS - 8, RECORD);      /* outside the ranges */
	heap_image_put(&f.image, BSS_END, RECORD);      /* … */
	heap_image_put(&f.image, NOPTRBSS_END, RECORD); /* … */
	assert_int_equal(scan(&f), -ENOENT);
	end(&f);
}

TEST(test_two_such_variables_are_ambiguous)
{
	struct fixture f;

	begin(&f);
	heap_image_put(&f.image, BSS, RECORD);
	heap_image_put(&f.image, BSS + 64, OTHER);
	assert_int_equal(scan(&f), -ENOENT);
	heap_image_put(&f.image, BSS + 64, 0);
	heap_image_put(&f.image, NOPTRBSS, OTHER); /* in both ranges together */
	assert_int_equal(scan(&f), -ENOENT);
	heap_image_put(&f.image, BSS, 0);
	assert_int_equal(scan(&f), 0);
	assert_int_equal(f.found, NOPTRBSS);
	end(&f);
}

TEST(test_words_that_point_to_no_record_are_skipped)
{
	struct fixture f;
	uint64_t at = BSS;

	begin(&f);
	for (uint64_t v = 1; v != 0; v <<= 1) {
		heap_image_put(&f.image, at, v);
		heap_image_put(&f.image, at + 8, v - 1);
		heap_image_put(&f.image, at + 16, RECORD + v % 8);
		heap_image_put(&f.image, at + 24, ~v);
		at += 32;
	}
	for (uint64_t v = 8; v < 0x100; v += 8) {
		heap_image_put(&f.image, at, RECORD + v); /* within a record */
		at += 8;
	}
	/* three are the record's own address plus a multiple of 8 */
	for (uint64_t clear = BSS; clear < at; clear += 8) {
		uint64_t v;

		memcpy(&v, f.image.data + clear, sizeof(v));
		if (v == RECORD || v == OTHER)
			heap_image_put(&f.image, clear, 0);
	}
	heap_image_put(&f.image, BSS + 0x3000, RECORD);
	assert_int_equal(scan(&f), 0);
	assert_int_equal(f.found, BSS + 0x3000);
	end(&f);
}

TEST(test_records_of_another_profiler_do_not_count)
{
	struct fixture f;

	begin(&f);
	heap_image_put(&f.image, BSS, RECORD);
	heap_image_put(&f.image, RECORD + 16, GO_BUCKET_BLOCK);
	assert_int_equal(scan(&f), -ENOENT);
	end(&f);
}

TEST(test_a_range_is_searched_up_to_a_limit)
{
	static uint8_t large[BSS + GO_BUCKET_SCAN_MAX_BYTES + 4096];
	const uint64_t record = RECORD;
	struct fixture f;

	begin(&f);
	memcpy(large, f.image.data, sizeof(f.image.data));
	byte_source_from_memory(&f.image.source, large, sizeof(large));
	f.module.data[2].end = sizeof(large);
	f.module.data[3] = (struct go_range){0, 0};
	memcpy(large + BSS + GO_BUCKET_SCAN_MAX_BYTES, &record, sizeof(record));
	assert_int_equal(scan(&f), -ENOENT);
	memcpy(large + BSS + GO_BUCKET_SCAN_MAX_BYTES - 8, &record, sizeof(record));
	assert_int_equal(scan(&f), 0);
	/* and no more is read than the round may */
	f.max_bytes = GO_BUCKET_SCAN_MAX_BYTES - 1;
	assert_int_equal(scan(&f), -EFBIG);
	end(&f);
}

TEST(test_unreadable_data_is_an_error)
{
	struct fixture f;

	begin(&f);
	heap_image_put(&f.image, BSS, RECORD);
	byte_source_from_memory(&f.image.source, f.image.data, NOPTRBSS + 8);
	assert_int_equal(scan(&f), -ENODATA);
	/* a word that points to unreadable memory is just not a record */
	f.module.data[3] = (struct go_range){0, 0};
	heap_image_put(&f.image, BSS + 8, NOPTRBSS_END);
	assert_int_equal(scan(&f), 0);
	end(&f);
}

TEST(test_invalid_ranges_are_treated_as_empty)
{
	static const struct go_range ranges[] = {{UINT64_MAX - 3, UINT64_MAX},
						 {UINT64_MAX, UINT64_MAX},
						 {BSS_END, BSS},
						 {BSS + 1, BSS + 7}};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct fixture f;

		begin(&f);
		heap_image_put(&f.image, 0, RECORD);
		heap_image_put(&f.image, BSS, RECORD);
		f.module.data[2] = ranges[i];
		assert_int_equal(scan(&f), -ENOENT);
		end(&f);
	}
}

static int make(void *arg)
{
	struct fixture *f = arg;

	return scan(f);
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f);
	heap_image_put(&f.image, BSS, RECORD);
	check_oom(make, &f);
	end(&f);
}
