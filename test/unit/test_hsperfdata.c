#include <errno.h>
#include <fcntl.h>

#include "common/system/fs.h"
#include "node-agent/java/vm/hsperfdata.h"
#include "test/lib/unit.h"

#define DATA "test/data/hsperfdata/"
#define USED_AT 8u   /* in the header: length of the data */
#define FIRST_AT 24u /* offset of the first entry */
#define N_AT 28u     /* number of entries */

/* Performance data of JVMs that ran `Sleep 60000 --password=secret`, cut behind the last entry. */
static const struct {
	const char *file;
	struct hsperfdata want;
} real[] = {
	{DATA "jdk8_parallel",
	 {.java_version = "1.8.0_504",
	  .command = "Sleep",
	  .is_initialized = true,
	  .has_heap = true,
	  .has_safepoints = true,
	  .heap_size_bytes = 495976448,
	  .heap_used_bytes = 4221816,
	  .ticks_per_second = 1000000000,
	  .safepoint_ticks = 189610315,
	  .safepoint_sync_ticks = 107388,
	  .collectors = {{"PSScavenge", 183117310}, {"PSParallelCompact", 6085232}},
	  .n_collectors = 2}},
	{DATA "jdk17_g1",
	 {.java_version = "17.0.15",
	  .command = "Sleep",
	  .is_initialized = true,
	  .has_heap = true,
	  .has_safepoints = true,
	  .heap_size_bytes = 71303200,
	  .heap_used_bytes = 4209320,
	  .ticks_per_second = 1000000000,
	  .safepoint_ticks = 101291821,
	  .safepoint_sync_ticks = 27792,
	  .collectors = {{"G1 young collection pauses", 77047870},
			 {"G1 full collection pauses", 17115756},
			 {"G1 concurrent cycle pauses", 0}},
	  .n_collectors = 3}},
	{DATA "jdk21_zgc",
	 {.java_version = "21.0.8",
	  .command = "Sleep",
	  .is_initialized = true,
	  .has_heap = true,
	  .has_safepoints = true,
	  .heap_size_bytes = 396361728,
	  .heap_used_bytes = 2097152,
	  .ticks_per_second = 1000000000,
	  .safepoint_ticks = 201075,
	  .safepoint_sync_ticks = 135702,
	  .collectors = {{"ZGC minor collection pauses", 0},
			 {"ZGC major collection pauses", 90612}},
	  .n_collectors = 2}},
};

static void load(struct buf *b, const char *file)
{
	buf_init(b, HSPERFDATA_MAX_BYTES);
	assert_int_equal(fs_read_at(AT_FDCWD, file, b), 0);
}

static void check_equal(const struct hsperfdata *a, const struct hsperfdata *b)
{
	assert_string_equal(a->java_version, b->java_version);
	assert_string_equal(a->command, b->command);
	assert_int_equal(a->is_initialized, b->is_initialized);
	assert_int_equal(a->has_heap, b->has_heap);
	assert_int_equal(a->has_safepoints, b->has_safepoints);
	assert_int_equal(a->heap_size_bytes, b->heap_size_bytes);
	assert_int_equal(a->heap_used_bytes, b->heap_used_bytes);
	assert_int_equal(a->ticks_per_second, b->ticks_per_second);
	assert_int_equal(a->safepoint_ticks, b->safepoint_ticks);
	assert_int_equal(a->safepoint_sync_ticks, b->safepoint_sync_ticks);
	assert_int_equal(a->n_collectors, b->n_collectors);
	for (size_t i = 0; i < a->n_collectors; i++) {
		assert_string_equal(a->collectors[i].name, b->collectors[i].name);
		assert_int_equal(a->collectors[i].time_ticks, b->collectors[i].time_ticks);
	}
}

/* The arguments of the command, with its password, are in no value. */
TEST(reads_what_real_jvms_publish)
{
	for (size_t i = 0; i < ARRAY_SIZE(real); i++) {
		struct hsperfdata got;
		struct buf b;

		load(&b, real[i].file);
		assert_non_null(memmem(b.data, b.len, "secret", strlen("secret")));
		assert_int_equal(hsperfdata_parse(b.data, b.len, &got), 0);
		check_equal(&got, &real[i].want);
		assert_null(memmem(&got, sizeof(got), "secret", strlen("secret")));
		buf_fini(&b);
	}
}

TEST(reads_either_byte_order)
{
	struct hsperfdata little, big;
	struct buf a, b;

	load(&a, "test/fuzz/corpus/hsperfdata/jdk8_parallel");
	load(&b, "test/fuzz/corpus/hsperfdata/jdk8_parallel_big_endian");
	assert_int_equal(hsperfdata_parse(a.data, a.len, &little), 0);
	assert_int_equal(hsperfdata_parse(b.data, b.len, &big), 0);
	check_equal(&little, &big);
	check_equal(&little, &real[0].want);
	buf_fini(&a);
	buf_fini(&b);
}

static void put(struct buf *b, size_t at, uint32_t v)
{
	memcpy(b->data + at, &v, sizeof(v));
}

static int parse_with(const char *file, size_t at, uint32_t v)
{
	struct hsperfdata got;
	struct buf b;
	int r;

	load(&b, file);
	put(&b, at, v);
	r = hsperfdata_parse(b.data, b.len, &got);
	buf_fini(&b);
	return r;
}

TEST(refuses_wrong_headers)
{
	const char *file = real[0].file;

	assert_int_equal(parse_with(file, 0, 0), -EBADMSG);
	assert_int_equal(parse_with(file, 4, 0x01000202), -EBADMSG); /* a third byte order */
	assert_int_equal(parse_with(file, 4, 0x01000101), -ENOTSUP); /* version 1.0 */
	assert_int_equal(parse_with(file, 4, 0x00000201), -EAGAIN);  /* still being filled */
	assert_int_equal(parse_with(file, USED_AT, UINT32_MAX), -EBADMSG);
	assert_int_equal(parse_with(file, FIRST_AT, 8), -EBADMSG);
	assert_int_equal(parse_with(file, FIRST_AT, UINT32_MAX), -EBADMSG);
	assert_int_equal(parse_with(file, N_AT, HSPERFDATA_ENTRIES_MAX + 1), -EBADMSG);
	assert_int_equal(parse_with(file, N_AT, 1000), -EBADMSG); /* more than there are */
}

/* Length, name, number of elements and value of the first entry; each of them beyond its end. */
TEST(refuses_entries_that_lead_out_of_themselves)
{
	static const size_t fields[] = {0, 4, 16};
	static const uint32_t wrong[] = {0, 19, 1u << 20, INT32_MAX, UINT32_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(wrong); j++)
			assert_int_equal(parse_with(real[0].file, 32 + fields[i], wrong[j]),
					 -EBADMSG);
	}
}

/* ASan sees a read beyond the copy. */
TEST(refuses_every_shorter_text)
{
	struct hsperfdata got;
	struct buf b;

	load(&b, "test/fuzz/corpus/hsperfdata/jdk17_g1");
	for (size_t len = 0; len < b.len; len++) {
		AUTO_FREE uint8_t *copy = malloc(len + 1);

		assert_non_null(copy);
		memcpy(copy, b.data, len);
		assert_int_equal(hsperfdata_parse(copy, len, &got), -EBADMSG);
	}
	buf_fini(&b);
}
