#include "node-agent/interpreter/python/python_lines.h"
#include "test/lib/unit.h"

static uint32_t line(enum python_line_format f, const uint8_t *table, size_t len, uint32_t offset)
{
	return python_line_of(f, table, len, 10, offset);
}

/* Objects/lnotab_notes.txt: six bytes of line 10, then 44 of line 11, then line 9. */
TEST(lnotab_gives_the_line_that_begins_before_an_instruction)
{
	static const uint8_t t[] = {6, 1, 44, (uint8_t)-2, 200, 100, 55, 100};

	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, sizeof(t), 0), 10);
	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, sizeof(t), 5), 10);
	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, sizeof(t), 6), 11);
	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, sizeof(t), 49), 11);
	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, sizeof(t), 50), 9);
	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, sizeof(t), 1000), 209);
	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, 0, 1000), 10);
	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, 1, 1000), 10);
}

TEST(ranges_of_3_10_may_have_no_line)
{
	static const uint8_t t[] = {6, 0, 4, 1, 2, (uint8_t)-128, 8, (uint8_t)-3};

	assert_int_equal(line(PYTHON_LINES_RANGES, t, sizeof(t), 0), 10);
	assert_int_equal(line(PYTHON_LINES_RANGES, t, sizeof(t), 6), 11);
	assert_int_equal(line(PYTHON_LINES_RANGES, t, sizeof(t), 10), 0);
	assert_int_equal(line(PYTHON_LINES_RANGES, t, sizeof(t), 12), 8);
	assert_int_equal(line(PYTHON_LINES_RANGES, t, sizeof(t), 20), 0); /* beyond its end */
}

/* InternalDocs/code_objects.md: 1kkkklll and what belongs to the kind. */
TEST(locations_have_entries_of_all_kinds)
{
	static const uint8_t t[] = {
		0x80 | 0 << 3 | 1,  0x21,                /* short form, two units: line 10 */
		0x80 | 11 << 3 | 0, 1,    2,             /* one line further */
		0x80 | 13 << 3 | 3, 0x06,                /* no columns, + 3 */
		0x80 | 14 << 3 | 0, 0x48, 0x01, 0, 1, 1, /* long form, + 36 */
		0x80 | 15 << 3 | 0,                      /* no line */
		0x80 | 13 << 3 | 0, 0x03,                /* - 1 */
		0x80 | 12 << 3 | 0, 1,    2,             /* + 2 */
	};

	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 0), 10);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 3), 10);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 4), 11);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 6), 14);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 13), 14);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 14), 50);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 16), 0);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 18), 49);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 20), 51);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 22), 0);
}

TEST(a_number_that_does_not_end_is_cut)
{
	uint8_t t[64];

	memset(t, 0x7f, sizeof(t));
	t[0] = 0x80 | 13 << 3;
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, sizeof(t), 0), 0);
	assert_int_equal(line(PYTHON_LINES_LOCATIONS, t, 1, 0), 10);
}

TEST(lines_that_cannot_be_are_none)
{
	static const uint8_t t[] = {0, (uint8_t)-100};

	assert_int_equal(line(PYTHON_LINES_LNOTAB, t, sizeof(t), 0), 0);
	assert_int_equal(python_line_of(PYTHON_LINES_LNOTAB, t, 0, UINT32_MAX, 0), 0);
}
