#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cluster-agent/query/read/late_names.h"
#include "cluster-agent/query/read/mover_names.h"
#include "cluster-agent/symbols/symbol_store.h"
#include "common/symbols/symbol_file_writer.h"
#include "test/lib/unit.h"

#define BASE UINT64_C(0x401000)
#define MOST (64 * 1024)

struct fixture {
	char *dir;
	struct symbol_store *store;
};

static void open_store(struct fixture *f, uint64_t max_bytes)
{
	struct err err = {.msg = ""};

	symbol_store_close(f->store);
	assert_int_equal(symbol_store_open(&f->store,
					   &(struct symbol_store_config){f->dir, max_bytes}, &err),
			 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	static unsigned n;

	assert_true(asprintf(&f->dir, "%s/symbols%u", temp_dir(), n++) > 0);
	open_store(f, MOST);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	symbol_store_close(f->store);
	free(f->dir);
	free(f);
	return 0;
}

/* A table of n functions, of 16 bytes each, of the build with this number. */
static void make_table(struct buf *out, uint8_t build, unsigned n, bool with_offsets)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = NULL;
	const struct symbol_file_segment segment = {BASE, 0x1000, 0x10000};
	const uint8_t id[] = {build, 0xcd};
	char name[32];

	buf_init(out, 1 << 20);
	assert_int_equal(symbol_file_writer_new(&w, BASE, id, sizeof(id)), 0);
	if (with_offsets)
		symbol_file_writer_add_segment(w, &segment);
	for (uint64_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned)i);
		assert_int_equal(
			symbol_file_writer_add(w, BASE + 16 * i, BASE + 16 * i + 16, name, NULL),
			0);
	}
	assert_int_equal(symbol_file_writer_finish(w, out), 0);
}

static enum symbol_put put(struct fixture *f, uint8_t build, unsigned n, bool with_offsets)
{
	CLEANUP(buf_fini) struct buf table;
	enum symbol_put result = SYMBOL_PUT_KNOWN;

	make_table(&table, build, n, with_offsets);
	assert_int_equal(symbol_store_put(f->store, table.data, table.len, &result, NULL), 0);
	return result;
}

static int find(struct fixture *f, uint8_t build, enum code_file_kind kind, uint64_t number,
		const char *expected)
{
	char id[5];
	struct code_place_text place = {.kind = kind, .number = number};
	struct symbol_name name;
	int r;

	snprintf(id, sizeof(id), "%02xcd", build);
	place.build_id = (struct profile_string){id, 4};
	r = symbol_store_find(f->store, &place, &name);
	if (r == 0 && expected)
		assert_string_equal(name.name, expected);
	return r;
}

static unsigned count_files(const struct fixture *f)
{
	AUTO_FREE char *path = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < 256; i++) {
		free(path);
		assert_true(asprintf(&path, "%s/%02xcd.symbols", f->dir, i) > 0);
		n += access(path, F_OK) == 0;
	}
	return n;
}

TEST_FIXTURE(the_directory_belongs_to_one_process, set_up, tear_down)
{
	struct fixture *f = *state;
	struct symbol_store *other = NULL;
	struct err err = {.msg = ""};
	struct stat st;

	/* a lock of the same process is another one, too */
	assert_int_equal(
		symbol_store_open(&other, &(struct symbol_store_config){f->dir, MOST}, &err),
		-EBUSY);
	assert_non_null(strstr(err.msg, "are in use by process "));
	assert_int_equal(chmod(f->dir, 0755), 0);
	open_store(f, MOST);
	assert_int_equal(stat(f->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

TEST_FIXTURE(a_table_may_lack_offsets, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct build_key k = {.id = {1, 0xcd}, .n_bytes = 2};

	assert_false(symbol_store_has(f->store, &k, false));
	put(f, 1, 3, false);
	assert_true(symbol_store_has(f->store, &k, false));
	assert_false(symbol_store_has(f->store, &k, true));
	put(f, 1, 3, true);
	assert_true(symbol_store_has(f->store, &k, true));
}

TEST_FIXTURE(a_frame_gets_its_name_by_address_or_by_offset, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(symbol_store_generation(f->store), 0);
	assert_int_equal(put(f, 1, 10, true), SYMBOL_PUT_STORED);
	assert_int_not_equal(symbol_store_generation(f->store), 0);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE + 0x23, "f2"), 0);
	assert_int_equal(find(f, 1, CODE_FILE_OFFSET, 0x1023, "f2"), 0);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, 0x1023, NULL), -ENOENT);
	assert_int_equal(find(f, 1, CODE_FILE_OFFSET, BASE + 0x23, NULL), -ENOENT);
	assert_int_equal(find(f, 2, CODE_FILE_ADDRESS, BASE + 0x23, NULL), -ENOENT);
}

TEST_FIXTURE(a_debug_file_does_not_know_offsets, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(put(f, 1, 10, false), SYMBOL_PUT_STORED);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	assert_int_equal(find(f, 1, CODE_FILE_OFFSET, 0x1000, NULL), -ENODATA);
}

TEST_FIXTURE(of_two_tables_of_a_build_the_better_one_stays, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(put(f, 1, 10, false), SYMBOL_PUT_STORED);
	assert_int_equal(put(f, 1, 10, false), SYMBOL_PUT_KNOWN);
	assert_int_equal(put(f, 1, 9, true), SYMBOL_PUT_KNOWN);
	assert_int_equal(put(f, 1, 10, true), SYMBOL_PUT_REPLACED);
	assert_int_equal(put(f, 1, 10, false), SYMBOL_PUT_KNOWN);
	assert_int_equal(find(f, 1, CODE_FILE_OFFSET, 0x1000, "f0"), 0);
	assert_int_equal(put(f, 1, 20, false), SYMBOL_PUT_REPLACED);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE + 0x130, "f19"), 0);
	assert_int_equal(count_files(f), 1);
}

TEST_FIXTURE(names_are_there_after_a_restart, set_up, tear_down)
{
	struct fixture *f = *state;

	(void)put(f, 1, 10, true);
	(void)put(f, 2, 10, true);
	open_store(f, MOST);
	assert_int_not_equal(symbol_store_generation(f->store), 0);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	assert_int_equal(find(f, 2, CODE_FILE_ADDRESS, BASE, "f0"), 0);
}

TEST_FIXTURE(what_was_not_used_for_longest_makes_room, set_up, tear_down)
{
	struct fixture *f = *state;

	/* some 21 bytes for each function: two have room beside a third one, and no more */
	for (uint8_t i = 1; i <= 3; i++)
		assert_int_equal(put(f, i, 900, true), SYMBOL_PUT_STORED);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	assert_int_equal(put(f, 4, 900, true), SYMBOL_PUT_STORED);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	assert_int_equal(find(f, 2, CODE_FILE_ADDRESS, BASE, NULL), -ENOENT);
	assert_int_equal(find(f, 3, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	assert_int_equal(find(f, 4, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	assert_int_equal(count_files(f), 3);
	open_store(f, MOST / 2);
	assert_int_equal(count_files(f), 1);
}

TEST_FIXTURE(what_is_larger_than_all_may_be_is_refused, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(buf_fini) struct buf table;
	struct err err = {.msg = ""};
	enum symbol_put result;

	(void)put(f, 1, 10, true);
	make_table(&table, 2, 4000, true);
	assert_int_equal(symbol_store_put(f->store, table.data, table.len, &result, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "--max-symbols-size"));
	table.data[table.len / 2] ^= 1;
	assert_int_equal(symbol_store_put(f->store, table.data, table.len, &result, &err),
			 -EBADMSG);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	assert_int_equal(count_files(f), 1);
}

static void write_bytes(const struct fixture *f, const char *name, const char *bytes)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;

	assert_true(asprintf(&path, "%s/%s", f->dir, name) > 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
}

TEST_FIXTURE(what_is_damaged_on_disk_is_removed_and_can_be_sent_again, set_up, tear_down)
{
	struct fixture *f = *state;

	write_bytes(f, "01cd.symbols", "damaged");
	write_bytes(f, "new.tmp", "the rest of a write");
	write_bytes(f, "readme", "somebody else's");
	write_bytes(f, "xx.symbols", "likewise");
	open_store(f, MOST);
	assert_int_equal(count_files(f), 1);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE, NULL), -ENOENT);
	assert_int_equal(count_files(f), 0);
	assert_int_equal(put(f, 1, 10, true), SYMBOL_PUT_STORED);
	assert_int_equal(find(f, 1, CODE_FILE_ADDRESS, BASE, "f0"), 0);
	write_bytes(f, "02cd.symbols", "damaged");
	open_store(f, MOST);
	assert_int_equal(put(f, 2, 10, true), SYMBOL_PUT_REPLACED);
	assert_int_equal(find(f, 2, CODE_FILE_ADDRESS, BASE, "f0"), 0);
}

TEST_FIXTURE(many_builds_are_asked_about_in_turn, set_up, tear_down)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 200; i++)
		(void)put(f, (uint8_t)i, 2, true);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 200; i++)
			assert_int_equal(find(f, (uint8_t)i, CODE_FILE_ADDRESS, BASE + 16, "f1"),
					 0);
}

/* ---- late_names.h ---- */

#define F(s)                                      \
	{                                         \
		.text = (s), .len = sizeof(s) - 1 \
	}

static const struct flame_frame stack[] = {
	F("my app+0x401012 [my app@01cd]:0"),
	F("f0 [app]:0"),
	F("app+0x401004 [app@01cd]:0"),
	F("app+0x1010 [app:01cd]:0"),
	F("app+0x401fff [app@01cd]:0"),
	F("app+0x401010 [app@02cd]:0"),
	F("app+0x401010 [app]:0"),
	F("main main.c:7"),
};

static void expect_stack(struct stack_dictionary *d, const char *const *texts)
{
	const struct flame_frame *frames;
	size_t n = 0;

	assert_int_equal(stack_dictionary_get(d, 7, &frames, &n), 0);
	assert_int_equal(n, ARRAY_SIZE(stack));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(frames[i].len, strlen(texts[i]));
		assert_memory_equal(frames[i].text, texts[i], frames[i].len);
	}
	/* equal texts are one */
	if (strcmp(texts[1], texts[2]) == 0)
		assert_int_equal(frames[1].id, frames[2].id);
}

TEST_FIXTURE(stacks_that_are_known_get_names_when_they_come, set_up, tear_down)
{
	static const char *const before[] = {
		"my app+0x401012 [my app@01cd]:0",
		"f0 [app]:0",
		"app+0x401004 [app@01cd]:0",
		"app+0x1010 [app:01cd]:0",
		"app+0x401fff [app@01cd]:0",
		"app+0x401010 [app@02cd]:0",
		"app+0x401010 [app]:0",
		"main main.c:7",
	};
	static const char *const after[] = {
		"my app+0x401012 [my app@01cd]:0",
		"f0 [app]:0",
		"f0 [app]:0",
		"f1 [app]:0",
		"app+0x401fff [app@01cd]:0",
		"app+0x401010 [app@02cd]:0",
		"app+0x401010 [app]:0",
		"main main.c:7",
	};
	static const char *const last[] = {
		"my app+0x401012 [my app@01cd]:0",
		"f0 [app]:0",
		"f0 [app]:0",
		"f1 [app]:0",
		"app+0x401fff [app@01cd]:0",
		"f1 [app]:0",
		"app+0x401010 [app]:0",
		"main main.c:7",
	};
	CLEANUP(stack_dictionary_freep) struct stack_dictionary *d = NULL;
	struct fixture *f = *state;

	assert_int_equal(stack_dictionary_new(&d, NULL), 0);
	assert_int_equal(stack_dictionary_add(d, 7, stack, ARRAY_SIZE(stack)), 0);
	assert_int_equal(late_names_add(NULL, d), 0);
	assert_int_equal(late_names_add(f->store, d), 0);
	expect_stack(d, before);
	(void)put(f, 1, 10, true);
	assert_int_equal(late_names_add(f->store, d), 0);
	expect_stack(d, after);
	(void)put(f, 2, 10, true);
	assert_int_equal(late_names_add(f->store, d), 0);
	expect_stack(d, last);
	/* a stack that comes later */
	assert_int_equal(stack_dictionary_add(d, 8, &stack[2], 1), 0);
	assert_int_equal(late_names_add(f->store, d), 0);
	{
		const struct flame_frame *frames;
		size_t n = 0;

		assert_int_equal(stack_dictionary_get(d, 8, &frames, &n), 0);
		assert_memory_equal(frames[0].text, "f0 [app]:0", frames[0].len);
	}
}

static void expect_metric(struct metrics *ms, const char *line)
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, MIB);
	assert_int_equal(metrics_write(ms, &text), 0);
	assert_non_null(strstr(text.data, line));
}

TEST_FIXTURE(without_room_frames_keep_their_address, set_up, tear_down)
{
	CLEANUP(stack_dictionary_freep) struct stack_dictionary *d = NULL;
	const struct stack_dictionary_limits limits = {.max_text_bytes = 8192};
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct fixture *f = *state;
	const struct flame_frame *frames;
	char text[32];
	size_t n = 0;
	int r = 0;

	(void)put(f, 1, 10, true);
	assert_int_equal(stack_dictionary_new(&d, &limits), 0);
	assert_int_equal(stack_dictionary_add(d, 7, &stack[2], 1), 0);
	for (uint64_t i = 100; r == 0; i++) {
		struct flame_frame filler = {.text = text};

		filler.len = (size_t)snprintf(text, sizeof(text), "%u x", (unsigned)i);
		r = stack_dictionary_add(d, i, &filler, 1);
	}
	assert_int_equal(r, -EFBIG);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(symbol_store_register(f->store, ms), 0);
	assert_int_equal(late_names_add(f->store, d), 0);
	expect_metric(ms, "coroot_cluster_agent_symbol_frames_without_room_total 1\n");
	assert_int_equal(stack_dictionary_get(d, 7, &frames, &n), 0);
	assert_int_equal(n, 1);
	assert_memory_equal(frames[0].text, stack[2].text, frames[0].len);
}

/* ---- mover_names.h ---- */

TEST_FIXTURE(movers_of_two_builds_are_one_function_once_both_have_names, set_up, tear_down)
{
	struct mover items[] = {
		{"/a", "t", "app+0x401010", "[app@01cd]", 50, 0, 5, 0},
		{"/a", "t", "app+0x401014", "[app@02cd]", 0, 40, 0, 4},
		{"/b", "t", "app+0x401010", "[app@01cd]", 7, 0, 1, 0},
		{"/a", "t", "f1", "[app]", INT64_MAX, 1, 2, 0.5},
		{"/a", "t", "app+0x401010", "[app@03cd]", 3, 3, 3, 3},
	};
	struct mover_list l = {.items = items, .n_items = ARRAY_SIZE(items)};
	struct fixture *f = *state;

	arena_init(&l.arena, 1 << 20);
	assert_int_equal(mover_names_add(NULL, &l), 0);
	assert_int_equal(mover_names_add(f->store, &l), 0);
	assert_int_equal(l.n_items, 5);
	(void)put(f, 1, 10, true);
	(void)put(f, 2, 10, true);
	assert_int_equal(mover_names_add(f->store, &l), 0);
	assert_int_equal(l.n_items, 3);
	assert_string_equal(items[0].name, "f1");
	assert_string_equal(items[0].file, "[app]");
	assert_true(items[0].self == INT64_MAX && items[0].base_self == 41);
	assert_true(items[0].cores == 7 && items[0].base_cores == 4.5);
	assert_string_equal(items[1].service, "/b");
	assert_string_equal(items[1].name, "f1");
	assert_string_equal(items[2].name, "app+0x401010");
	arena_fini(&l.arena);
}
