/* ClickHouse's frames, and their checksum. */
#include <errno.h>

#include "cluster-agent/sql/city_hash.h"
#include "cluster-agent/sql/clickhouse_frames.h"
#include "test/lib/unit.h"

#define MIB ((size_t)1 << 20)

static void fill(uint8_t *data, size_t len)
{
	uint32_t x = 12345;

	for (size_t i = 0; i < len; i++) {
		x = x * 1103515245 + 12345;
		data[i] = (uint8_t)(x >> 16);
	}
}

/* By the package github.com/go-faster/city 1.0.1, which clickhouse-go uses. */
TEST(hashes_as_the_clients_do)
{
	static const struct {
		size_t len;
		uint64_t low, high;
	} cases[] = {
		{0, 0x3df09dfc64c09a2b, 0x3cb540c392e51e29},
		{1, 0x7abd09da75facdc2, 0xdf00c830a3f29b13},
		{3, 0x2b9b365ad5d33691, 0x17f4fe3d9bbd3061},
		{4, 0x5a9b5d63bce540db, 0x50d6204404ab753b},
		{7, 0xaf20e910dec0637a, 0x22c052aa6310309e},
		{8, 0xdeda1fb722172632, 0x7596802bb3b5a01c},
		{9, 0x94c53d9d0e6c796d, 0x56a667aab602e0a4},
		{15, 0xb7f73af1b8c5d69d, 0x190c33c372a3cdce},
		{16, 0x856649974354b93f, 0x0d1cbf52559578eb},
		{17, 0xbba596bc64aafbfa, 0xb9f42b2b18c59fb6},
		{24, 0x05c8581c3bfb7315, 0xc98a44be2ba437b3},
		{31, 0x9af6b2b4b3234352, 0xc8d2ff6dbba1cb83},
		{32, 0xce21c6569dffb9a0, 0xcf7ccfd751d1541c},
		{33, 0x1501c2d246b3597d, 0xfb9b954a11e37869},
		{48, 0x7be4cd5bca70bb88, 0x9c6edf95506410a6},
		{49, 0xe7ac7fda89ca4057, 0x3db988b6665f4cc7},
		{64, 0x3df67e98192acc6f, 0x05799709a8f52bda},
		{100, 0x44587b24c997a7e0, 0x95189091d5013d87},
		{143, 0xd401b1f2623d9b13, 0x1fb430c84eb4746b},
		{144, 0xc46e8caa0f240d15, 0x8f83b7d838f644f5},
		{145, 0x9d679ef94fcf6b9f, 0xf7b88eb02af81f1b},
		{159, 0x6777de5e8abe8d1c, 0xedf7794e2b807ceb},
		{160, 0xa7c3cbde57fd7ea9, 0xb773fc764d12590f},
		{175, 0x8303edb962abb6fe, 0x12a7470630272450},
		{176, 0x99c931c5fbcc507b, 0x92fa0058cdedb7c6},
		{192, 0x2fcd16bf8da9717c, 0xf1e79bb4df0b1b01},
		{208, 0x1c5a4934aa3c1ad6, 0x527e8ecda75e3d63},
		{240, 0x91a22f21b9e6292a, 0xfb50051b2f7993db},
		{271, 0xf524b76a58425a2c, 0xcc71ab58f4671655},
		{272, 0x269a86f8862e3040, 0x8254b22ba845407f},
		{273, 0xbf7a7411e610a998, 0xcc83adde37455de2},
		{300, 0x7e8b62526cf1cb99, 0x9c7a4a51e37cafcb},
		{512, 0x3ba0473e7f900a93, 0x79074a5ea10e360e},
		{1000, 0xf044a9d0dafaba9c, 0xea770efffe31133d},
		{4096, 0x717493e6f3801e72, 0x6b92e5ba54f67d1a},
		{65537, 0x54c424dbae448c2e, 0x22acc1ec67ebdff7},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE uint8_t *data = malloc(cases[i].len + 1);
		struct city_hash h;

		assert_non_null(data);
		fill(data, cases[i].len);
		h = city_hash128(data, cases[i].len);
		assert_int_equal(h.low, cases[i].low);
		assert_int_equal(h.high, cases[i].high);
	}
}

static const enum clickhouse_method methods[] = {
	CLICKHOUSE_METHOD_NONE,
	CLICKHOUSE_METHOD_LZ4,
	CLICKHOUSE_METHOD_ZSTD,
};

/* Zeros in the first half, noise in the other. */
static uint8_t *make_data(size_t len)
{
	uint8_t *data = calloc(1, len + 1);

	assert_non_null(data);
	fill(data + len / 2, len - len / 2);
	return data;
}

TEST(what_is_encoded_is_decoded)
{
	static const size_t sizes[] = {0, 1, 100, MIB - 1, MIB, MIB + 1, 3 * MIB + 12345};

	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(methods); i++) {
		enum clickhouse_method method = methods[i % ARRAY_SIZE(methods)];
		size_t len = sizes[i / ARRAY_SIZE(methods)];
		AUTO_FREE uint8_t *data = make_data(len);
		CLEANUP(buf_fini) struct buf frames;
		CLEANUP(buf_fini) struct buf out;

		buf_init(&frames, 8 * MIB);
		buf_init(&out, len);
		assert_int_equal(clickhouse_frames_encode(data, len, method, &frames), 0);
		assert_int_equal(frames.len > 0, len > 0);
		if (len > 0)
			assert_int_equal((uint8_t)frames.data[16], method);
		if (len > 100 && method != CLICKHOUSE_METHOD_NONE)
			assert_true(frames.len < len);
		assert_int_equal(clickhouse_frames_decode(frames.data, frames.len, &out), 0);
		assert_int_equal(out.len, len);
		if (len > 0)
			assert_memory_equal(out.data, data, len);
	}
}

/* A frame by clickhouse-go 2.40.3 (ch-go 0.68.0), method LZ4. */
TEST(frames_of_a_client_are_decoded)
{
	static const uint8_t frame[] = {
		0x67, 0x2a, 0xfb, 0xf5, 0x48, 0x1f, 0x20, 0xe4, 0x5f, 0x01, 0xc8, 0x30,
		0xde, 0x99, 0xf7, 0x18, 0x82, 0x2a, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00,
		0x00, 0xca, 0x53, 0x45, 0x4c, 0x45, 0x43, 0x54, 0x20, 0x31, 0x2c, 0x20,
		0x27, 0x61, 0x01, 0x00, 0x00, 0x02, 0x00, 0xe0, 0x61, 0x61, 0x61, 0x61,
		0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x27,
	};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1000);
	assert_int_equal(clickhouse_frames_decode(frame, sizeof(frame), &out), 0);
	assert_string_equal(out.data, "SELECT 1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'");
}

TEST(damaged_frames_are_refused)
{
	for (size_t m = 0; m < ARRAY_SIZE(methods); m++) {
		AUTO_FREE uint8_t *data = make_data(200);
		CLEANUP(buf_fini) struct buf frames;

		buf_init(&frames, MIB);
		assert_int_equal(clickhouse_frames_encode(data, 200, methods[m], &frames), 0);
		for (size_t i = 0; i < frames.len; i++) {
			CLEANUP(buf_fini) struct buf out;

			buf_init(&out, MIB);
			assert_int_equal(buf_add(&out, "x", 1), 0);
			assert_int_equal(clickhouse_frames_decode(frames.data, i, &out),
					 i > 0 ? -EBADMSG : 0);
			frames.data[i] ^= 1;
			assert_int_equal(clickhouse_frames_decode(frames.data, frames.len, &out),
					 -EBADMSG);
			frames.data[i] ^= 1;
			assert_string_equal(out.data, "x");
		}
	}
}

TEST(limits_are_kept)
{
	AUTO_FREE uint8_t *data = make_data(1000);
	CLEANUP(buf_fini) struct buf frames;
	CLEANUP(buf_fini) struct buf out;

	buf_init(&frames, 100);
	assert_int_equal(clickhouse_frames_encode(data, 1000, CLICKHOUSE_METHOD_NONE, &frames),
			 -EFBIG);
	frames.limit = 10000;
	assert_int_equal(clickhouse_frames_encode(data, 1000, CLICKHOUSE_METHOD_LZ4, &frames), 0);
	buf_init(&out, 999);
	assert_int_equal(clickhouse_frames_decode(frames.data, frames.len, &out), -EFBIG);
	assert_int_equal(out.len, 0);
}
