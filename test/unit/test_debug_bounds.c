/* What .NET 8, 9 and 10 have written down for methods of test/dotnet/KnownChains.cs. */
#include "node-agent/dotnet/debug_bounds.h"

#include <errno.h>

#include "test/lib/unit.h"

#define BYTES_MAX 512u

static struct said {
	uint8_t bytes[BYTES_MAX];
	size_t n;
	struct byte_source src;
	struct debug_info info;
} said;

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void say(enum debug_bounds_form form, bool has_flags, const char *hex)
{
	said.n = strlen(hex) / 2;
	assert_true(said.n <= sizeof(said.bytes));
	for (size_t i = 0; i < said.n; i++)
		said.bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	byte_source_from_memory(&said.src, said.bytes, said.n);
	said.info = (struct debug_info){&said.src, 0, (uint8_t)form, has_flags};
}

static void expect(uint32_t native, uint32_t il)
{
	uint32_t found = UINT32_MAX;

	assert_int_equal(debug_bounds_find(&said.info, native, &found), 0);
	assert_int_equal(found, il);
}

static int error(uint32_t native)
{
	uint32_t il;

	return debug_bounds_find(&said.info, native, &il);
}

/* Known.Chains.Deep: a prolog, 0, 3, an epilog, f, an epilog. */
#define DEEP_9 "00490a06210a2366a201622a920302"
#define DEEP_10 "00390a460482201c1a63041ae902"
#define DEEP_10_OPTIMISED "00392936044290866454a0481500"
/* Round, which may be replaced while it runs: the sizes of its variables are in front. */
#define ROUND_9                                                                              \
	"0120000000000000000400000008010000ffffffffffffffffffffffffffffffffa8ffffff90ffffff" \
	"81ffffff70ffffffb9b1041c10f23562255b29b09507fac72489d6242c2e90f5217c8903599922"     \
	"7ba92769c9201e8a20198a270baa2329ba23b9a01d923b227eea249923a2b40992b17962ab25b6"     \
	"3b62cb215acb27009212a2a36fa2b618922a8b270102"
#define ROUND_10                                                                             \
	"012000000000000000006130c32156000003000000f8000000ffffffffffffffffffffffffffffffff" \
	"a8ffffff90ffffff80ffffff99a0067b7702049834a041011d0a743cf84b620f0b223236e47032"     \
	"6483921f573a80190368c2a14e956e097803ea92800eb426ec6a10acc1b106cd564c0b00a04280"     \
	"01aa5ab42a356b0000"

TEST(code_comes_from_what_the_entry_before_it_says)
{
	say(DEBUG_BOUNDS_NIBBLES, true, DEEP_9);
	expect(0x10, 0);
	expect(0x15, 0);
	expect(0x16, 3);
	expect(0x26, 3);
	expect(0x2d, 0xf);
	say(DEBUG_BOUNDS_PACKED, true, DEEP_10);
	expect(0x10, 0);
	expect(0x15, 0);
	expect(0x16, 3);
	expect(0x2d, 0xf);
	say(DEBUG_BOUNDS_PACKED, true, DEEP_10_OPTIMISED);
	expect(4, 0);
	expect(8, 3);
	expect(0x14, 0xf);
}

TEST(a_prolog_belongs_to_what_follows_and_an_epilog_to_what_is_before)
{
	say(DEBUG_BOUNDS_NIBBLES, true, DEEP_9);
	expect(0, 0);
	expect(0x27, 3);
	expect(0x2c, 3);
	expect(0x38, 0xf);
	expect(UINT32_MAX, 0xf);
	say(DEBUG_BOUNDS_NIBBLES, true, ROUND_9); /* 3f1: the prolog of a handler */
	expect(0x3ef, 0xe4);
	expect(0x3f1, 0xbb);
	expect(0x404, 0xbb);
}

TEST(a_method_of_which_no_statement_is_left_is_all_its_first_one)
{
	say(DEBUG_BOUNDS_NIBBLES, true, "00940102211a20"); /* a prolog and an epilog */
	expect(0, 0);
	expect(0xb, 0);
	say(DEBUG_BOUNDS_PACKED, true, "00940142008246");
	expect(0xb, 0);
}

TEST(what_a_method_needs_to_be_replaced_is_skipped)
{
	say(DEBUG_BOUNDS_NIBBLES, true, ROUND_9);
	expect(0x3d, 0);
	expect(0x13c, 0x21);
	expect(0x46c, 0xc4);
	say(DEBUG_BOUNDS_PACKED, true, ROUND_10);
	expect(0x49, 0);
	expect(0x148, 0x21);
	expect(0x42b, 0xb0);
}

TEST(code_that_was_compiled_ahead_of_time_has_no_flags)
{
	say(DEBUG_BOUNDS_NIBBLES, false, &DEEP_9[2]);
	expect(0x16, 3);
	say(DEBUG_BOUNDS_PACKED, false, &DEEP_10[2]);
	expect(0x16, 3);
}

/*
 * From .NET 11 on: three entries, each of 3 bits of flags, 3 of a difference and 3 of an offset (a
 * prolog; 0, at 4; 2, at 7), behind a header of two numbers, or of seven.
 */
#define WIDE "230242c46905"

TEST(later_releases_have_another_bit_and_more_parts)
{
	say(DEBUG_BOUNDS_PACKED_WIDE, false, "06" WIDE);
	expect(0, 0);
	expect(4, 0);
	expect(7, 2);
	say(DEBUG_BOUNDS_PACKED_WIDE, false, "60000000" WIDE);
	expect(4, 0);
	expect(7, 2);
}

TEST(damage_is_found)
{
	static const char *const all[] = {DEEP_9, ROUND_9, DEEP_10, ROUND_10};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		enum debug_bounds_form form = i < 2 ? DEBUG_BOUNDS_NIBBLES : DEBUG_BOUNDS_PACKED;

		say(form, true, all[i]);
		for (size_t n = said.n - 2; n-- > 0;) {
			byte_source_from_memory(&said.src, said.bytes, n);
			assert_int_equal(error(UINT32_MAX), -EBADMSG);
		}
	}
	say(DEBUG_BOUNDS_NIBBLES, true, "02490a06210a2366a201622a920302"); /* a richer form */
	assert_int_equal(error(0), -ENOTSUP);
	say(DEBUG_BOUNDS_NIBBLES, true, "04490a06210a2366a201622a920302");
	assert_int_equal(error(0), -EBADMSG);
	say(DEBUG_BOUNDS_NIBBLES, false, "00000000"); /* there are none */
	assert_int_equal(error(0), -ENOENT);
	say(DEBUG_BOUNDS_NIBBLES, false, "ffffffffffffffffffff");
	assert_int_equal(error(0), -EBADMSG);
	said.info.form = DEBUG_BOUNDS_UNKNOWN;
	assert_int_equal(error(0), -ENOTSUP);
	said.info.form = DEBUG_BOUNDS_PACKED_WIDE + 1;
	assert_int_equal(error(0), -ENOTSUP);
	said.info = (struct debug_info){&said.src, UINT64_MAX - 5, DEBUG_BOUNDS_NIBBLES, false};
	assert_int_equal(error(0), -EBADMSG);
}
