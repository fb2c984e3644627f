#include "node-agent/symbol/packed_text.h"
#include "test/lib/unit.h"

#define TEXT_BYTES 100000u

static char text[TEXT_BYTES];

static void make_text(void)
{
	for (size_t i = 0, n = 0; i < TEXT_BYTES; n++)
		i += (size_t)snprintf(text + i, TEXT_BYTES - i, "function_%zu ", n * 7919);
}

TEST(every_piece_is_what_was_packed)
{
	CLEANUP(packed_text_freep) struct packed_text *t = NULL;
	static char out[TEXT_BYTES];

	make_text();
	assert_int_equal(packed_text_new(&t, text, TEXT_BYTES), 0);
	assert_true(packed_text_bytes(t) < TEXT_BYTES * 3 / 4);
	/* backwards and across blocks */
	for (size_t offset = TEXT_BYTES; offset > 997;) {
		offset -= 997;
		assert_int_equal(packed_text_read(t, offset, out, 997), 997);
		assert_memory_equal(out, text + offset, 997);
	}
	assert_int_equal(packed_text_read(t, 0, out, TEXT_BYTES), TEXT_BYTES);
	assert_memory_equal(out, text, TEXT_BYTES);
}

TEST(reading_stops_at_the_end)
{
	CLEANUP(packed_text_freep) struct packed_text *t = NULL;
	char out[16];

	assert_int_equal(packed_text_new(&t, "abcdef", 6), 0);
	assert_int_equal(packed_text_read(t, 4, out, sizeof(out)), 2);
	assert_memory_equal(out, "ef", 2);
	assert_int_equal(packed_text_read(t, 6, out, sizeof(out)), 0);
	assert_int_equal(packed_text_read(t, 600000, out, sizeof(out)), 0);
}

TEST(nothing_can_be_packed_too)
{
	CLEANUP(packed_text_freep) struct packed_text *t = NULL;
	char out[16];

	assert_int_equal(packed_text_new(&t, "", 0), 0);
	assert_int_equal(packed_text_read(t, 0, out, sizeof(out)), 0);
}

static int pack_one(void *arg)
{
	CLEANUP(packed_text_freep) struct packed_text *t = NULL;

	(void)arg;
	return packed_text_new(&t, text, TEXT_BYTES);
}

TEST(survives_every_failed_allocation)
{
	make_text();
	check_oom(pack_one, NULL);
}
