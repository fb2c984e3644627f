#include "node-agent/interpreter/python/python_tasks.h"

#include <elf.h>
#include <errno.h>

#include "test/lib/elf_builder.h"
#include "test/lib/python_image.h"
#include "test/lib/unit.h"

/* .AsyncioDebug of 3.14.10 in Debian's module. */
static const uint64_t debian_3_14[] = {168,    136,   96,  108, 109, 128, 152,
				       225864, 10880, 936, 864, 872, 880};

/* ---- files ---- */

static int read_section(const char *name, const uint64_t *words, size_t bytes,
			struct python_tasks *ret)
{
	static struct elf_builder elf;
	static struct elf_layout layout;
	struct byte_source src;

	elf_builder_init(&elf, EM_X86_64);
	elf_builder_section(&elf, name, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, words, bytes);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, 1024);
	elf_builder_finish(&elf);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return python_tasks_read(&layout, &src, ret);
}

TEST(a_module_describes_its_tasks)
{
	struct python_tasks t;

	assert_int_equal(read_section(".AsyncioDebug", debian_3_14, sizeof(debian_3_14), &t), 0);
	assert_int_equal(t.awaited_by, 96);
	assert_int_equal(t.is_task, 108);
	assert_int_equal(t.is_set, 109);
	assert_int_equal(t.coroutine, 128);
	assert_int_equal(t.name, 136);
	assert_int_equal(t.running, 872);
	assert_int_equal(read_section(".data", debian_3_14, sizeof(debian_3_14), &t), -ENOENT);
	assert_int_equal(t.running, 0);
	assert_int_equal(read_section(".AsyncioDebug", debian_3_14, 96, &t), -ENOTSUP);
}

/* The walk reads a task at once, and words that are aligned. */
TEST(a_description_that_does_not_fit_is_refused)
{
	static const uint64_t values[] = {3, 255, 256, 65544, UINT64_C(1) << 40, UINT64_MAX};
	uint64_t words[ARRAY_SIZE(debian_3_14)];

	for (size_t w = 0; w < ARRAY_SIZE(words); w++) {
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			struct python_tasks t;

			memcpy(words, debian_3_14, sizeof(words));
			words[w] = values[i];
			if (read_section(".AsyncioDebug", words, sizeof(words), &t) < 0) {
				assert_int_equal(t.running, 0);
				continue;
			}
			assert_true(t.awaited_by <= t.name && t.name + 8u - t.awaited_by <= 256);
			assert_in_range(t.coroutine, t.awaited_by, t.name);
			assert_in_range(t.is_task, t.awaited_by, t.name + 7u);
			assert_in_range(t.is_set, t.awaited_by, t.name + 7u);
			assert_true((t.awaited_by | t.name | t.coroutine | t.running) % 8 == 0);
		}
	}
}

TEST(tasks_are_part_of_a_layout_if_the_interpreter_says_where_coroutines_are)
{
	const struct python_tasks t = {96, 108, 109, 128, 136, 872};
	struct interpreter_image image = {
		.language = INTERPRETER_PYTHON,
		.roots = {{.kind = INTERPRETER_ROOT_GETTER,
			   .vaddr = 7,
			   .n_steps = 1,
			   .steps = {72}}},
		.tasks = {.frame = 72, .coroutine_type = 0x100, .text_type = 0x200},
	};
	struct chain_layout l = {.flags = 0};
	struct interpreter_root running;

	assert_true(python_tasks_add(&image, 0x1000, &t, &l, &running));
	assert_int_equal(l.flags, CHAIN_HAS_TASKS);
	assert_int_equal(l.tasks.awaited_by, 96);
	assert_int_equal(l.tasks.frame, 72);
	assert_int_equal(l.tasks.coroutine_type, 0x1100);
	assert_int_equal(l.tasks.text_type, 0x1200);
	assert_int_equal(running.vaddr, 7);
	assert_int_equal(running.n_steps, 1);
	assert_int_equal(running.steps[0], 872);
	l.flags = 0;
	image.tasks.frame = 0; /* an earlier release */
	assert_false(python_tasks_add(&image, 0x1000, &t, &l, &running));
	assert_int_equal(l.flags, 0);
}

/* ---- names ---- */

static struct python_image image;
static struct python_layout layout;
static struct interpreter_name name;

static int set_up(void **state)
{
	(void)state;
	python_image_fill(&image, &layout);
	layout.minor = PYTHON_MINOR_TASKS;
	return 0;
}

static int read_name(uint64_t at, uint32_t check)
{
	const struct interpreter_memory memory = {python_image_read, &image};
	const struct python_memory m = {&layout, 0, &memory};
	const struct interpreter_frame f = {
		.code = python_image_at(IMAGE_NAME), .at = at, .check = check};

	return python_task_name_read(&m, &f, &name);
}

static uint32_t check_of_name(void)
{
	uint64_t word, bytes;

	memcpy(&bytes, image.bytes + IMAGE_NAME + layout.str_length, sizeof(bytes));
	memcpy(&word, image.bytes + IMAGE_NAME + layout.str_ascii, sizeof(word));
	return chain_check_text(bytes, word);
}

static void check_name(const char *text, const char *want)
{
	python_image_str(&image, IMAGE_NAME, &layout, text);
	assert_int_equal(read_name(CHAIN_AT_TASK_NAME, check_of_name()), 0);
	assert_string_equal(name.function, want);
	assert_string_equal(name.file, "[interpreter]");
	assert_int_equal(name.line, 0);
}

TEST_FIXTURE(numbers_in_names_of_tasks_are_left_out, set_up, NULL)
{
	check_name("refresh-prices", "(task refresh-prices)");
	check_name("worker-17", "(task worker-#)");
	check_name("worker-17-of-200", "(task worker-#-of-#)");
	check_name("http2", "(task http#)");
	check_name("job 9c41e9f2-8d1c-4a3b-9f5e-000000a1b2c3 x", "(task job # x)");
	check_name("deadbeef", "(task deadbeef)"); /* no digit */
	check_name("cafe12", "(task cafe#)");
	check_name("made-2026-11-02", "(task made-#)");
	check_name("12345678th", "(task #th)");
	check_name("", "(task )");
}

TEST_FIXTURE(a_name_that_asyncio_has_made_is_not_shown, set_up, NULL)
{
	python_image_str(&image, IMAGE_NAME, &layout, "Task-17");
	assert_int_equal(read_name(CHAIN_AT_TASK_NAME, check_of_name()), -ENODATA);
	check_name("Task-", "(task Task-)");
	check_name("Task-17b", "(task Task-#b)");
}

TEST_FIXTURE(another_text_at_the_address_is_noticed, set_up, NULL)
{
	uint32_t check;

	python_image_str(&image, IMAGE_NAME, &layout, "refresh");
	check = check_of_name();
	assert_int_equal(read_name(CHAIN_AT_TASK_NAME, check), 0);
	python_image_str(&image, IMAGE_NAME, &layout, "refreshes");
	assert_int_equal(read_name(CHAIN_AT_TASK_NAME, check), -ESTALE);
	python_image_word(&image, IMAGE_NAME + layout.object_type, 3);
	assert_int_equal(read_name(CHAIN_AT_TASK_NAME, check_of_name()), -EBADMSG);
}

TEST_FIXTURE(what_is_left_out_is_said, set_up, NULL)
{
	assert_int_equal(read_name(CHAIN_AT_TASKS_SEVERAL, 0), 0);
	assert_string_equal(name.function, "(awaited by several tasks)");
	assert_int_equal(read_name(CHAIN_AT_TASKS_UNREADABLE, 0), 0);
	assert_string_equal(name.function, "(awaited by a task that cannot be read)");
	assert_int_equal(read_name(CHAIN_AT_TASKS_MANY, 0), 0);
	assert_string_equal(name.function, "(awaited by too many tasks)");
	assert_int_equal(read_name(CHAIN_AT_TASKS_END, 0), -EBADMSG);
	assert_int_equal(image.n_reads, 0);
}
