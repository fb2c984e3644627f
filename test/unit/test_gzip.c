#include <errno.h>

#include "common/data/gzip.h"
#include "test/lib/unit.h"

/* "hello\n" by gzip(1), without a name */
static const uint8_t hello[] = {
	0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd,
	0xc9, 0xc9, 0xe7, 0x02, 0x00, 0x20, 0x30, 0x3a, 0x36, 0x06, 0x00, 0x00, 0x00,
};

TEST(knows_gzip_by_its_magic)
{
	assert_true(gzip_detect(hello, sizeof(hello)));
	assert_true(gzip_detect("\x1f\x8b", 2));
	assert_false(gzip_detect("\x1f", 1));
	assert_false(gzip_detect("\x0a\x8b", 2));
	assert_false(gzip_detect(NULL, 0));
}

TEST(inflates_what_gzip_wrote)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 100);
	assert_int_equal(buf_add(&out, "> ", 2), 0);
	assert_int_equal(gzip_inflate(hello, sizeof(hello), &out), 0);
	assert_int_equal(out.len, 8);
	assert_string_equal(out.data, "> hello\n");
}

TEST(inflates_every_member)
{
	CLEANUP(buf_fini) struct buf in, out;

	buf_init(&in, 100000);
	buf_init(&out, 60000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_add(&in, hello, sizeof(hello)), 0);
	assert_int_equal(gzip_inflate(in.data, in.len, &out), 0);
	assert_int_equal(out.len, 6000);
	assert_memory_equal(out.data + 5994, "hello\n", 7);
}

TEST(refuses_every_cut_and_every_changed_byte_but_the_idle_ones)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 100);
	for (size_t len = 0; len < sizeof(hello); len++)
		assert_int_equal(gzip_inflate(hello, len, &out), -EBADMSG);
	for (size_t i = 0; i < sizeof(hello); i++) {
		uint8_t copy[sizeof(hello)];

		/*
		 * Flags announce optional parts; time, extra flags and system are
		 * free; so are the bits behind the last code.
		 */
		if ((i >= 3 && i <= 9) || i == 17)
			continue;
		memcpy(copy, hello, sizeof(hello));
		copy[i] ^= 0x40;
		assert_true(gzip_inflate(copy, sizeof(copy), &out) < 0);
		assert_int_equal(out.len, 0);
	}
}

TEST(refuses_what_follows_the_last_member)
{
	CLEANUP(buf_fini) struct buf in, out;

	buf_init(&in, 1000);
	buf_init(&out, 1000);
	assert_int_equal(buf_add(&in, hello, sizeof(hello)), 0);
	assert_int_equal(buf_add(&in, "x", 1), 0);
	assert_int_equal(gzip_inflate(in.data, in.len, &out), -EBADMSG);
	assert_int_equal(out.len, 0);
}

TEST(a_bomb_ends_at_the_limit)
{
	CLEANUP(buf_fini) struct buf plain, bomb, out;
	static const char zeros[65536];

	buf_init(&plain, 16 * 1024 * 1024);
	buf_init(&bomb, 1024 * 1024);
	for (int i = 0; i < 256; i++)
		assert_int_equal(buf_add(&plain, zeros, sizeof(zeros)), 0);
	assert_int_equal(gzip_deflate(plain.data, plain.len, 6, &bomb), 0);
	assert_true(bomb.len < plain.len / 500);

	buf_init(&out, 1024 * 1024);
	assert_int_equal(gzip_inflate(bomb.data, bomb.len, &out), -EFBIG);
	assert_int_equal(out.len, 0);
	assert_true(out.cap <= 2 * 1024 * 1024 + 64);

	/* exactly as large as allowed is allowed */
	buf_fini(&out);
	buf_init(&out, plain.len);
	assert_int_equal(gzip_inflate(bomb.data, bomb.len, &out), 0);
	assert_int_equal(out.len, plain.len);
}

TEST(a_wrong_size_in_the_trailer_costs_no_memory)
{
	CLEANUP(buf_fini) struct buf out;
	uint8_t copy[sizeof(hello)];

	memcpy(copy, hello, sizeof(hello));
	memset(copy + sizeof(copy) - 4, 0xff, 4);
	buf_init(&out, SIZE_MAX / 2);
	assert_int_equal(gzip_inflate(copy, sizeof(copy), &out), -EBADMSG);
	assert_true(out.cap < 256 * 1024);
}

TEST(deflates_at_every_level_what_inflates_again)
{
	CLEANUP(buf_fini) struct buf plain;

	buf_init(&plain, 1000000);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(buf_addf(&plain, "%d,", i * i), 0);
	for (int level = 1; level <= 12; level++) {
		CLEANUP(buf_fini) struct buf zipped, out;

		buf_init(&zipped, 1000000);
		buf_init(&out, 1000000);
		assert_int_equal(gzip_deflate(plain.data, plain.len, level, &zipped), 0);
		assert_true(zipped.len < plain.len / 2);
		assert_int_equal(gzip_inflate(zipped.data, zipped.len, &out), 0);
		assert_int_equal(out.len, plain.len);
		assert_memory_equal(out.data, plain.data, plain.len);
	}
}

TEST(deflate_keeps_to_the_limit)
{
	CLEANUP(buf_fini) struct buf out;
	size_t len;

	buf_init(&out, 1000);
	assert_int_equal(gzip_deflate("hello\n", 6, 6, &out), 0);
	len = out.len;
	buf_fini(&out);

	/* less than the worst case is enough when the result fits */
	buf_init(&out, len);
	assert_int_equal(gzip_deflate("hello\n", 6, 6, &out), 0);
	assert_int_equal(out.len, len);
	buf_fini(&out);

	buf_init(&out, len - 1);
	assert_int_equal(gzip_deflate("hello\n", 6, 6, &out), -EFBIG);
	assert_int_equal(out.len, 0);
}

static int there_and_back(void *arg)
{
	CLEANUP(buf_fini) struct buf zipped, out;
	int r;

	(void)arg;
	buf_init(&zipped, 1000);
	buf_init(&out, 1000);
	r = gzip_deflate("hello\n", 6, 1, &zipped);
	if (r == 0)
		r = gzip_inflate(zipped.data, zipped.len, &out);
	return r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(there_and_back, NULL);
}
