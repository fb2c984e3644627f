#include <errno.h>

#include "node-agent/interpreter/python/python_offsets.h"
#include "test/lib/unit.h"

#define WORDS (PYTHON_DESCRIPTION_BYTES / sizeof(uint64_t))

/* The first words of _PyRuntime in these files, behind the cookie. */
static const uint64_t descriptions[][WORDS - 1] = {
	/* 3.13.5 of Debian */ {
		0x30d05f0, 0,   283376, 608, 632,  194976, 7272, 7264, 7344, 7400, 7656, 7640,
		7648,      16,  7752,   0,   7768, 7760,   304,  0,    8,    16,   72,   152,
		160,       232, 32,     80,  8,    0,      56,   72,   70,   208,  112,  120,
		128,       136, 68,     52,  96,   104,    200,  16,   8,    416,  24,   88,
		168,       32,  24,     16,  40,   24,     16,   48,   32,   40,   24,   16,
		32,        16,  24,     40,  16,   32,     64,   32,   16,   40,   240,  200},
	/* 3.13.5, free-threaded */ {0x30d05f0, 1,    328320, 608,  632, 215616, 7272, 7264, 7344,
				     7400,      7664, 7648,   7656, 16,  7760,   0,    7784, 7776,
				     304,       0,    8,      16,   72,  152,    160,  232,  32,
				     80,        8,    0,      56,   72,  70,     224,  128,  136,
				     144,       152,  84,     68,   112, 120,    216,  32,   24,
				     432,       40,   104,    184,  48,  40,     32,   56,   40,
				     32,        64,   48,     56,   40,  32,     48,   32,   40,
				     56,        32,   48,     80,   48,  32,     56,   248,  200},
	/* 3.14.10 of Debian */ {0x30e0af0, 0,    316616, 784,  808, 225864, 7280, 7272, 7344, 7360,
				 7408,      7688, 7672,   7680, 16,  7784,   0,    7800, 7792, 7992,
				 0,         832,  0,      8,    16,  72,     152,  160,  232,  32,
				 88,        8,    0,      56,   80,  74,     64,   0,    216,  112,
				 120,       128,  136,    68,   52,  96,     104,  208,  0,    16,
				 8,         416,  24,     88,   168, 40,     32,   16,   40,   24,
				 16,        200,  24,     40,   32,  48,     32,   40,   24,   16,
				 32,        16,   24,     40,   16,  32,     64,   32,   16,   40,
				 264,       192,  160,    24,   72,  67,     0,    8,    24,   304,
				 8076},
	/* 3.15.2 of Debian */ {0x30f02f0, 0,    346568, 912,  936, 226240, 7272, 7264, 7336, 7352,
				7400,      7592, 7576,   7584, 16,  7736,   0,    7752, 7744, 7944,
				0,         888,  0,      8,    16,  72,     80,   88,   96,   176,
				184,       256,  32,     36,   40,  136,    288,  0,    88,   8,
				0,         56,   80,     74,   64,  0,      216,  112,  120,  128,
				136,       68,   52,     96,   104, 208,    0,    16,   8,    424,
				24,        88,   168,    32,   288, 944,    888,  40,   32,   16,
				40,        24,   16,     200,  24,  40,     32,   48,   32,   40,
				24,        16,   32,     16,   24,  40,     16,   32,   64,   32,
				16,        40,   56,     176,  112, 120,    1120, 104,  160,  24,
				72,        67},
};

/* What gdb says of the same. */
static const struct python_layout layouts[] = {
	{.minor = 13,
	 .object_type = 8,
	 .code_qualname = 128,
	 .code_filename = 112,
	 .code_firstlineno = 68,
	 .code_lines = 136,
	 .code_bytecode = 200,
	 .code_check = 88,
	 .str_ascii = 40,
	 .str_compact = 56,
	 .str_kind_shift = 2,
	 .bytes_data = 32},
	{.minor = 13,
	 .object_type = 24,
	 .code_qualname = 144,
	 .code_filename = 128,
	 .code_firstlineno = 84,
	 .code_lines = 152,
	 .code_bytecode = 216,
	 .code_check = 104,
	 .str_ascii = 56,
	 .str_compact = 72,
	 .str_kind_shift = 2,
	 .bytes_data = 48},
	{.minor = 14,
	 .object_type = 8,
	 .code_qualname = 128,
	 .code_filename = 112,
	 .code_firstlineno = 68,
	 .code_lines = 136,
	 .code_bytecode = 208,
	 .code_check = 88,
	 .str_ascii = 40,
	 .str_compact = 56,
	 .str_kind_shift = 2,
	 .bytes_data = 32},
	{.minor = 15,
	 .object_type = 8,
	 .code_qualname = 128,
	 .code_filename = 112,
	 .code_firstlineno = 68,
	 .code_lines = 136,
	 .code_bytecode = 208,
	 .code_check = 88,
	 .str_ascii = 40,
	 .str_compact = 56,
	 .str_kind_shift = 2,
	 .bytes_data = 32},
};

static const uint32_t collecting[] = {7600, 7600, 7600, 7512};

static uint64_t words[WORDS];

static int described(struct python_offsets *ret)
{
	return python_offsets_described((const uint8_t *)words, (uint32_t)words[1], ret);
}

static void fill(size_t i)
{
	memcpy(words, "xdebugpy", 8);
	memcpy(words + 1, descriptions[i], sizeof(descriptions[i]));
}

TEST(a_release_is_read_as_it_describes_itself)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		const struct python_layout *want = &layouts[i];
		struct python_offsets o;

		fill(i);
		assert_int_equal(described(&o), 0);
		assert_int_equal(o.objects.minor, want->minor);
		assert_int_equal(o.objects.object_type, want->object_type);
		assert_int_equal(o.objects.code_qualname, want->code_qualname);
		assert_int_equal(o.objects.code_filename, want->code_filename);
		assert_int_equal(o.objects.code_firstlineno, want->code_firstlineno);
		assert_int_equal(o.objects.code_lines, want->code_lines);
		assert_int_equal(o.objects.code_bytecode, want->code_bytecode);
		assert_int_equal(o.objects.code_check, want->code_check);
		assert_int_equal(o.objects.str_ascii, want->str_ascii);
		assert_int_equal(o.objects.str_compact, want->str_compact);
		assert_int_equal(o.objects.str_kind_shift, want->str_kind_shift);
		assert_int_equal(o.objects.bytes_data, want->bytes_data);
		assert_int_equal(o.thread.n_steps, 1);
		assert_int_equal(o.thread.steps[0], 72);
		assert_int_equal(o.thread.interpreter, 16);
		assert_int_equal(o.thread.collecting, collecting[i]);
		assert_int_equal(o.thread.has_gil, i != 1);
		assert_int_equal(o.frames.code, 0);
		assert_int_equal(o.frames.next, 8);
		assert_int_equal(o.frames.at, 56);
		assert_int_equal(o.frames.end + (unsigned)__builtin_ctzll(o.frames.end_mask) / 8,
				 want->minor == 13 ? 70 : 74);
	}
}

TEST(a_description_of_another_version_is_refused)
{
	struct python_offsets o;

	fill(2);
	assert_int_equal(python_offsets_described((const uint8_t *)words, 0x30d05f0, &o), -ENOTSUP);
	words[0]++;
	assert_int_equal(described(&o), -ENOTSUP);
	fill(3);
	words[1] = 0x31000f0; /* 3.16: its order is not known */
	assert_int_equal(described(&o), -ENOTSUP);
}

TEST(where_coroutines_have_their_frames_is_described_since_3_14)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		bool has_tasks = layouts[i].minor >= 14;
		struct python_offsets o;

		fill(i);
		assert_int_equal(described(&o), 0);
		assert_int_equal(o.tasks.frame, has_tasks ? 72 : 0);
		if (!has_tasks)
			continue;
		assert_int_equal(o.tasks.state, 67);
		assert_int_equal(o.tasks.top, 64);
		assert_int_equal(o.tasks.awaits, layouts[i].minor == 14 ? 8 : 16);
		assert_int_equal(o.tasks.awaits_state, layouts[i].minor == 14 ? 0xff : 2);
		assert_int_equal(o.tasks.set_used, 24);
		assert_int_equal(o.tasks.set_mask, 32);
		assert_int_equal(o.tasks.set_table, 40);
		assert_int_equal(o.tasks.text, 40);
		assert_int_equal(o.tasks.text_bytes, 16);
	}
}

/* Whatever a word says, the walk reads no more than the words of a frame, and names no far ones. */
TEST(offsets_that_cannot_be_are_refused)
{
	static const uint64_t values[] = {3, 4095, 4097, 65544, UINT64_C(1) << 40, UINT64_MAX};

	for (size_t w = 2; w < WORDS; w++) {
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			struct python_offsets o;

			fill(3);
			words[w] = values[i];
			if (described(&o) < 0)
				continue;
			assert_true(o.frames.n_bytes <= CHAIN_FRAME_WORDS * 8);
			assert_true(o.frames.n_bytes % 8 == 0);
			assert_true(o.frames.at < o.frames.n_bytes && o.frames.at % 8 == 0);
			assert_true(o.frames.code < o.frames.n_bytes && o.frames.code % 8 == 0);
			assert_true(o.frames.end < o.frames.n_bytes && o.frames.end % 8 == 0);
			assert_true(o.frames.next >= 0 && o.frames.next < o.frames.n_bytes);
			assert_true(o.objects.code_check < 4096);
			assert_true(o.tasks.frame % 8 == 0);
			if (o.tasks.frame > 0)
				assert_true(o.tasks.top + 8u <= o.frames.n_bytes);
		}
	}
}

TEST(older_releases_are_in_a_table)
{
	struct python_offsets o;

	for (unsigned minor = 0; minor < 20; minor++) {
		int r = python_offsets_of_release(minor, &o);

		assert_int_equal(r, minor >= 6 && minor <= 12 ? 0 : -ENOTSUP);
		if (r < 0)
			continue;
		assert_int_equal(o.objects.minor, minor);
		assert_int_equal(o.objects.code_check, o.frames.check);
		assert_true(o.thread.has_gil);
		assert_int_equal(o.thread.collecting == 0, minor == 6); /* a local variable */
		assert_int_equal(o.thread.key_to_current != 0, minor >= 7 && minor <= 11);
		assert_true((o.frames.at - o.frames.from) % 8 == 0);
		assert_true(o.frames.from + o.frames.n_bytes > o.frames.at);
	}
}
