#include "node-agent/lines/dwp_index.h"

#include <errno.h>

#include "test/lib/unit.h"

#define ID UINT64_C(0x1122334400000001)
#define OTHER_ID UINT64_C(0x5566778800000001) /* has the same first slot */

/* A package of two units with four slots; column ids are those of DWARF 5. */
struct package {
	uint32_t version, n_columns, n_units, n_slots;
	uint64_t ids[4];
	uint32_t rows[4];
	uint32_t columns[4];
	uint32_t offsets[2][4];
	uint32_t lengths[2][4];
} __attribute__((packed));

static const struct package package = {
	.version = 5,
	.n_columns = 4,
	.n_units = 2,
	.n_slots = 4,
	.ids = {[1] = ID, [2] = OTHER_ID},
	.rows = {[1] = 1, [2] = 2},
	.columns = {1, 3, 6, 8},
	.offsets = {{0, 0, 0, 0}, {100, 40, 16, 64}},
	.lengths = {{100, 40, 16, 64}, {200, 41, 17, 65}},
};

static int find(const struct package *p, size_t len, uint64_t id,
		struct dwp_part ret[static DWP_SECTIONS])
{
	return dwp_index_find((const uint8_t *)p, len, id, ret);
}

static void expect(struct dwp_part part, uint32_t offset, uint32_t bytes)
{
	assert_int_equal(part.offset, offset);
	assert_int_equal(part.bytes, bytes);
}

TEST(a_unit_has_its_parts)
{
	struct dwp_part parts[DWP_SECTIONS];

	assert_int_equal(find(&package, sizeof(package), ID, parts), 0);
	expect(parts[DWP_INFO], 0, 100);
	assert_int_equal(find(&package, sizeof(package), OTHER_ID, parts), 0);
	expect(parts[DWP_INFO], 100, 200);
	expect(parts[DWP_ABBREV], 40, 41);
	expect(parts[DWP_STR_OFFSETS], 16, 17);
	expect(parts[DWP_RNGLISTS], 64, 65);
	assert_int_equal(find(&package, sizeof(package), 3, parts), -ENOENT);
}

TEST(the_older_form_has_macros_where_dwarf_5_has_ranges)
{
	struct dwp_part parts[DWP_SECTIONS];
	struct package p = package;

	p.version = 2;
	assert_int_equal(find(&p, sizeof(p), OTHER_ID, parts), 0);
	expect(parts[DWP_INFO], 100, 200);
	expect(parts[DWP_RNGLISTS], 0, 0);
}

TEST(an_index_that_is_broken_is_no_index)
{
	struct dwp_part parts[DWP_SECTIONS];
	struct package p = package;

	assert_int_equal(find(&p, sizeof(p) - 1, ID, parts), -EBADMSG);
	assert_int_equal(find(&p, 15, ID, parts), -EBADMSG);
	p.version = 3;
	assert_int_equal(find(&p, sizeof(p), ID, parts), -EBADMSG);
	p = package;
	p.n_slots = 3; /* not a power of two */
	assert_int_equal(find(&p, sizeof(p), ID, parts), -EBADMSG);
	p = package;
	p.n_slots = UINT32_C(1) << 31;
	p.n_units = UINT32_MAX;
	assert_int_equal(find(&p, sizeof(p), ID, parts), -EBADMSG);
	p = package;
	p.rows[1] = 3; /* there are two */
	assert_int_equal(find(&p, sizeof(p), ID, parts), -EBADMSG);
	p = package;
	p.lengths[0][0] = 0;
	assert_int_equal(find(&p, sizeof(p), ID, parts), -EBADMSG);
}

TEST(a_table_without_a_free_slot_ends_the_search)
{
	struct dwp_part parts[DWP_SECTIONS];
	struct package p = package;

	for (size_t i = 0; i < 4; i++)
		p.rows[i] = 1;
	assert_int_equal(find(&p, sizeof(p), 77, parts), -ENOENT);
}
