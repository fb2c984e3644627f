#include <errno.h>

#include "node-agent/go/image/go_image.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

static const char *const names[] = {"main.a", "main.b", "main.c"};

TEST(test_the_module_of_every_release_is_parsed)
{
	for (unsigned minor = 13; minor <= 27; minor++) {
		const struct go_image_release *release = go_image_release_of(minor);
		struct go_image_builder b;
		struct go_module m;

		go_image_build(&b, minor, names);
		go_image_put_module(&b, minor, GO_IMAGE_MODULE, 0x1234);
		assert_int_equal(go_module_parse(&m, &b.memory, NULL, GO_IMAGE_MODULE, minor), 0);
		assert_int_equal(m.address, GO_IMAGE_MODULE);
		assert_int_equal(m.table.version, release->table);
		assert_int_equal(m.table.offset, GO_IMAGE_TABLE);
		assert_int_equal(m.text.start, GO_IMAGE_TEXT);
		assert_int_equal(m.text.end, GO_IMAGE_TEXT + GO_IMAGE_TEXT_BYTES);
		assert_int_equal(m.gofunc, release->gofunc ? GO_IMAGE_GOFUNC : 0);
		assert_int_equal(m.next, 0x1234);
		for (uint64_t i = 0; i < ARRAY_SIZE(m.data); i++) {
			assert_int_equal(m.data[i].start, GO_IMAGE_DATA + i * 0x1000);
			assert_int_equal(m.data[i].end, GO_IMAGE_DATA + (i + 1) * 0x1000);
		}
	}
}

TEST(test_a_newer_release_is_parsed_as_the_newest_known_one)
{
	struct go_image_builder b;
	struct go_module m;

	go_image_build(&b, 27, names);
	assert_int_equal(go_module_parse(&m, &b.memory, NULL, GO_IMAGE_MODULE, 99), 0);
	assert_int_equal(m.gofunc, GO_IMAGE_GOFUNC);
}

/* Each of these words alone is enough. */
TEST(test_a_module_that_contradicts_itself_is_rejected)
{
	static const struct {
		size_t word; /* of bounds: behind min_pc */
		bool is_bound;
		uint64_t v;
	} breaks[] = {
		{0, false, 0},                           /* no table */
		{0, false, GO_IMAGE_TABLE + 8},          /* another */
		{0, false, UINT64_MAX},                  /* outside of everything */
		{0, true, GO_IMAGE_TEXT + 1},            /* not its first function */
		{0, true, UINT64_MAX},                   /* … */
		{1, true, GO_IMAGE_TEXT + 0x100},        /* not its last */
		{1, true, 0},                            /* before the first */
		{2, true, 0},                            /* no code */
		{2, true, GO_IMAGE_TEXT + 16},           /* begins behind its first function */
		{3, true, GO_IMAGE_TEXT},                /* ends before its last */
		{3, true, UINT64_MAX},                   /* all there is */
		{3, true, GO_IMAGE_TEXT + (1ull << 32)}, /* more than a program has */
	};

	for (unsigned minor = 13; minor <= 27; minor++) {
		for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
			size_t base = breaks[i].is_bound ? go_image_release_of(minor)->min_pc : 0;
			struct go_image_builder b;
			struct go_module m = {.address = 7};

			go_image_build(&b, minor, names);
			go_image_put_word(&b, GO_IMAGE_MODULE, base + breaks[i].word, breaks[i].v);
			assert_int_equal(
				go_module_parse(&m, &b.memory, NULL, GO_IMAGE_MODULE, minor),
				-ENOENT);
			assert_int_equal(m.address, 7); /* untouched */
		}
	}
}

TEST(test_an_impossible_table_size_is_rejected)
{
	static const uint64_t sizes[] = {0, 8, (1ull << 32) + 1, UINT64_MAX, UINT64_MAX / 2};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct go_image_builder b;
		struct go_module m;

		go_image_build(&b, 13, names);
		go_image_put_word(&b, GO_IMAGE_MODULE, 1, sizes[i]);
		assert_int_equal(go_module_parse(&m, &b.memory, NULL, GO_IMAGE_MODULE, 13),
				 -ENOENT);
		go_image_build(&b, 27, names);
		go_image_put_word(&b, GO_IMAGE_MODULE, 13, GO_IMAGE_TABLE);
		go_image_put_word(&b, GO_IMAGE_MODULE, 14, sizes[i]);
		assert_int_equal(go_module_parse(&m, &b.memory, NULL, GO_IMAGE_MODULE, 27),
				 -ENOENT);
	}
}

TEST(test_unreadable_memory_is_an_error)
{
	struct go_image_builder b;
	struct go_module m;

	go_image_build(&b, 27, names);
	assert_int_equal(go_module_parse(&m, &b.memory, NULL, GO_IMAGE_BYTES - 8, 27), -ENODATA);
	assert_int_equal(go_module_parse(&m, &b.memory, NULL, UINT64_MAX - 8, 27), -ENODATA);
}

TEST(test_a_module_is_found_wherever_it_lies)
{
	/* not aligned; then across two chunks of the scan */
	static const uint64_t distances[] = {0x8, 0x1000, 0xff00, 0xff58, 0xff60, 0xffa0, 0xfff8};

	for (size_t i = 0; i < ARRAY_SIZE(distances); i++) {
		struct go_image_builder b;
		struct go_range range;
		struct go_module m;

		go_image_build(&b, 27, names);
		memset(b.data + GO_IMAGE_MODULE, 0, 0x400);
		range = (struct go_range){0xb001, GO_IMAGE_BYTES};
		go_image_put_module(&b, 27, 0xb008 + distances[i], 0);
		assert_int_equal(go_module_scan(&m, &b.memory, NULL, &range, 27), 0);
		assert_int_equal(m.address, 0xb008 + distances[i]);
		/* its bounds are behind the end of this range, but not of memory */
		range.end = 0xb008 + distances[i] + 20 * 8;
		assert_int_equal(go_module_scan(&m, &b.memory, NULL, &range, 27), -ENOENT);
	}
}

TEST(test_a_scan_continues_after_a_lookalike)
{
	const struct go_range range = {0xb000, GO_IMAGE_BYTES};
	struct go_image_builder b;
	struct go_module m;

	go_image_build(&b, 20, names);
	for (uint64_t at = 0xb000; at < 0xf000; at += 0x200) {
		go_image_put_module(&b, 20, at, 0);
		go_image_put_word(&b, at, 0, GO_IMAGE_TABLE + 16);
	}
	go_image_put_module(&b, 20, 0xf000, 0);
	assert_int_equal(go_module_scan(&m, &b.memory, NULL, &range, 20), 0);
	assert_int_equal(m.address, 0xf000);
}

/* The same four words over and over: to parse them all would take minutes. */
TEST(test_a_scan_gives_up_after_too_many_lookalikes)
{
	static uint64_t words[3 * GO_MODULE_TRIES_MAX];
	const struct go_range range = {0, sizeof(words)};
	struct go_image_builder b;
	struct byte_source memory;
	struct go_module m;
	size_t at = ARRAY_SIZE(words) - GO_IMAGE_BYTES / 8;

	go_image_build(&b, 20, names);
	byte_source_from_memory(&memory, words, sizeof(words));
	for (size_t i = 0; i < at; i++)
		words[i] = (const uint64_t[]){5, 6, 5, 7}[i % 4];
	memcpy(words, b.data, GO_IMAGE_TEXT); /* tables are at the beginning, and its module … */
	assert_int_equal(go_module_scan(&m, &memory, NULL, &range, 20), 0);
	assert_int_equal(m.address, GO_IMAGE_MODULE);
	memset((uint8_t *)words + GO_IMAGE_MODULE, 0, 0x400);
	memcpy(words + at, b.data + GO_IMAGE_MODULE, 0x400); /* … now behind all that */
	assert_int_equal(go_module_scan(&m, &memory, NULL, &range, 20), 0);
	assert_int_equal(m.address, at * 8);
	for (size_t i = 0; i < at; i++) /* each word begins one */
		words[i] = i % 2 ? 6 : 5;
	assert_int_equal(go_module_scan(&m, &memory, NULL, &range, 20), -ENOENT);
}

TEST(test_invalid_ranges_are_treated_as_empty)
{
	static const struct go_range ranges[] = {
		{0x5000, 0x5000}, {0x6000, 0x5000}, {UINT64_MAX - 4, UINT64_MAX}, {UINT64_MAX, 0}};
	struct go_image_builder b;
	struct go_module m;

	go_image_build(&b, 20, names);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		assert_true(go_module_scan(&m, &b.memory, NULL, &ranges[i], 20) < 0);
}

/* Plugins follow one another; a circle of them ends with the room for them. */
TEST(test_the_list_of_modules_ends)
{
	struct go_module modules[4];
	struct go_image_builder b;
	struct go_image image = {.memory = &b.memory, .minor = 24};

	go_image_build(&b, 24, names);
	go_image_put_module(&b, 24, GO_IMAGE_MODULE, 0xb000);
	go_image_put_module(&b, 24, 0xb000, 0);
	assert_int_equal(go_image_modules(&image, NULL, GO_IMAGE_MODULE, modules, 4), 2);
	assert_int_equal(modules[1].address, 0xb000);
	go_image_put_module(&b, 24, 0xb000, GO_IMAGE_MODULE);
	assert_int_equal(go_image_modules(&image, NULL, GO_IMAGE_MODULE, modules, 4), 4);
	/* a wild pointer to something that can be read ends the list, and one to nothing all */
	go_image_put_module(&b, 24, 0xb000, 0xc000);
	assert_int_equal(go_image_modules(&image, NULL, GO_IMAGE_MODULE, modules, 4), 2);
	go_image_put_module(&b, 24, 0xb000, UINT64_MAX - 7);
	assert_int_equal(go_image_modules(&image, NULL, GO_IMAGE_MODULE, modules, 4), -ENODATA);
	assert_int_equal(go_image_modules(&image, NULL, 0xc000, modules, 4), -ENOENT);
	assert_int_equal(go_image_modules(&image, NULL, 0, modules, 4), 0);
}

static int parse(void *arg)
{
	const struct go_range range = {GO_IMAGE_MODULE - 64, GO_IMAGE_BYTES};
	struct go_image_builder *b = arg;
	struct go_module m;

	return go_module_scan(&m, &b->memory, NULL, &range, 24);
}

TEST(test_failed_allocations_are_survived)
{
	struct go_image_builder b;

	go_image_build(&b, 24, names);
	check_oom(parse, &b);
}
