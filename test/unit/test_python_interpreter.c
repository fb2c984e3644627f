/* What is found in a file of CPython. Real ones are in test/python. */
#include <errno.h>

#include "node-agent/interpreter/python/python_interpreter.h"
#include "test/lib/python_file.h"
#include "test/lib/unit.h"

static struct python_file file;
static struct interpreter_image image;

static int recognise(void)
{
	static struct elf_layout layout;
	struct byte_source src;

	python_file_end(&file);
	byte_source_from_memory(&src, file.elf.data, file.elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return python_interpreter_ops.recognise(&layout, &src, &image);
}

static void check_range(unsigned i, enum python_file_function function)
{
	assert_int_equal(image.loops[i].start, python_file_at(&file, function));
	assert_int_equal(image.loops[i].end,
			 python_file_at(&file, function) + PYTHON_FILE_FUNCTION_BYTES);
}

TEST(a_file_is_cpython_by_what_it_has)
{
	python_file_begin(&file, EM_X86_64);
	python_file_exports(&file);
	assert_int_equal(recognise(), 0);
	assert_int_equal(image.language, INTERPRETER_PYTHON);
	assert_int_equal(image.python.minor, 15);
	assert_int_equal(image.python.code_type, file.data + 816);
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_GETTER);
	assert_int_equal(image.roots[0].vaddr, python_file_at(&file, FILE_GETTER));
	assert_int_equal(image.roots[0].n_steps, 1);
	assert_int_equal(image.roots[0].steps[0], 72);
	assert_int_equal(image.frames.end_value, UINT64_C(3) << 16);
	assert_int_equal(image.texts[0], image.python.code_qualname);
	assert_int_equal(image.texts[1], image.python.code_filename);
	assert_int_equal(image.texts[2], image.python.code_lines);
	assert_int_equal(image.flags, 0);
}

TEST(parts_of_the_loop_are_found_without_symbols)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		python_file_begin(&file, machines[i]);
		python_file_exports(&file);
		assert_int_equal(recognise(), 0);
		assert_int_equal(image.n_loops, 2);
		check_range(0, FILE_LOOP);
		check_range(1, FILE_PART);
	}
}

/* It jumps into the middle of the other function, which does not jump back. */
TEST(a_function_that_does_not_jump_back_is_no_part)
{
	python_file_begin(&file, EM_X86_64);
	for (unsigned i = 0; i < 3; i++)
		python_file_jump(&file, python_file_at(&file, FILE_LOOP) + 64 + 16 * i,
				 python_file_at(&file, FILE_OTHER) + 8);
	python_file_exports(&file);
	assert_int_equal(recognise(), 0);
	assert_int_equal(image.n_loops, 2);
	check_range(1, FILE_PART);
}

TEST(symbols_say_what_belongs_to_the_loop)
{
	python_file_begin(&file, EM_X86_64);
	python_file_function(&file, "_PyEval_EvalFrameDefault", FILE_LOOP);
	python_file_function(&file, "_PyEval_EvalFrameDefaults", FILE_PART);
	python_file_function(&file, "_TAIL_CALL_BINARY_OP", FILE_OTHER);
	python_file_function(&file, "_PyEval_EvalFrameDefault.cold", FILE_GETTER);
	elf_builder_symbol_table(&file.elf, SHT_SYMTAB);
	python_file_exports(&file);
	assert_int_equal(recognise(), 0);
	assert_int_equal(image.n_loops, 3);
	check_range(0, FILE_LOOP);
	check_range(1, FILE_OTHER);
	check_range(2, FILE_GETTER);
}

/* Hundreds of functions, here with gaps: the smallest gaps are taken for code of the loop. */
TEST(many_functions_are_joined)
{
	python_file_begin(&file, EM_X86_64);
	for (unsigned i = 0; i < 200; i++)
		elf_builder_symbol(&file.elf, "_TAIL_CALL_X", STB_LOCAL, STT_FUNC,
				   file.text + 5 * (uint64_t)i, 1 + i % 3);
	elf_builder_symbol_table(&file.elf, SHT_SYMTAB);
	python_file_exports(&file);
	assert_int_equal(recognise(), 0);
	assert_int_equal(image.n_loops, 1);
	assert_int_equal(image.loops[0].start, file.text);
}

/* A program that has it built in, and exports nothing. */
TEST(local_symbols_do)
{
	python_file_begin(&file, EM_X86_64);
	python_file_exports(&file);
	elf_builder_symbol_table(&file.elf, SHT_SYMTAB);
	python_file_function(&file, "main", FILE_OTHER);
	assert_int_equal(recognise(), 0);
	assert_int_equal(image.python.minor, 15);
}

TEST(another_file_is_not)
{
	python_file_begin(&file, EM_X86_64);
	python_file_function(&file, "main", FILE_OTHER);
	python_file_object(&file, "_PyRuntime", 0);
	assert_int_equal(recognise(), -ENOENT);
}

TEST(releases_that_are_not_known_are_refused)
{
	static const uint32_t versions[] = {
		0x30f02a1, /* an alpha; the description says so, too */
		0x31002f0,
		0x20712f0,
		0x30e02f0 /* the description is another's */,
	};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		python_file_begin(&file, EM_X86_64);
		file.version = versions[i];
		python_file_exports(&file);
		assert_int_equal(recognise(), -ENOTSUP);
	}
	/* without Py_Version it is 3.7, whose state cannot be found here */
	python_file_begin(&file, EM_X86_64);
	file.has_version = false;
	python_file_exports(&file);
	assert_int_equal(recognise(), -ENOTSUP);
}

/* Builds with Py_TRACE_REFS, whose objects have two more words. */
TEST(traced_objects_are_refused_before_3_13)
{
	python_file_begin(&file, EM_X86_64);
	file.version = 0x30c02f0;
	python_file_exports(&file);
	assert_int_equal(recognise(), 0);
	assert_int_equal(image.python.minor, 12);
	python_file_begin(&file, EM_X86_64);
	file.version = 0x30c02f0;
	python_file_exports(&file);
	python_file_function(&file, "_Py_PrintReferences", FILE_OTHER);
	assert_int_equal(recognise(), -ENOTSUP);
}

static void check_root(const struct interpreter_root *root, enum interpreter_root_kind kind,
		       uint64_t vaddr)
{
	assert_int_equal(root->kind, kind);
	assert_int_equal(root->vaddr, vaddr);
}

TEST(the_current_state_of_a_thread_says_what_it_does)
{
	const struct interpreter_root *collects = &image.states[CHAIN_COLLECTS],
				      *holds = &image.states[CHAIN_HOLDS_LOCK];

	python_file_begin(&file, EM_X86_64);
	python_file_exports(&file);
	assert_int_equal(recognise(), 0);
	check_root(collects, INTERPRETER_ROOT_GETTER, python_file_at(&file, FILE_GETTER));
	assert_int_equal(collects->n_steps, 2);
	assert_int_equal(collects->steps[0], 16);
	assert_int_equal(collects->steps[1], 7400 + 112);
	assert_int_equal(image.state_shifts[CHAIN_COLLECTS], 32);
	check_root(holds, INTERPRETER_ROOT_GETTER, python_file_at(&file, FILE_GETTER));
	assert_int_equal(holds->n_steps, 0);
	/* a free-threaded build has no GIL */
	python_file_begin(&file, EM_X86_64);
	file.elf.data[file.data + 16] = 1;
	python_file_exports(&file);
	assert_int_equal(recognise(), 0);
	assert_int_equal(collects->kind, INTERPRETER_ROOT_GETTER);
	assert_int_equal(holds->kind, INTERPRETER_ROOT_NONE);
}

/* Release 3.7, whose key of a thread's state is at this distance from _PyRuntime. */
#define KEY 100u

TEST(before_that_a_variable_says_who_has_the_gil)
{
	/* cmp qword [rip+0], 0; mov edi, [rip+KEY] */
	uint8_t code[] = {0x48, 0x83, 0x3d, 0, 0, 0, 0, 0, 0x8b, 0x3d, 0, 0, 0, 0};
	uint64_t at;

	python_file_begin(&file, EM_X86_64);
	file.has_version = false;
	python_file_exports(&file);
	python_file_function(&file, "PyGILState_GetThisThreadState", FILE_OTHER);
	at = python_file_at(&file, FILE_OTHER);
	elf_functions_u32(code + 10, file.data + KEY - (at + sizeof(code)));
	memcpy(file.elf.data + at, code, sizeof(code));
	assert_int_equal(recognise(), 0);
	assert_int_equal(image.python.minor, 7);
	check_root(&image.states[CHAIN_COLLECTS], INTERPRETER_ROOT_GLOBAL, file.data + 632);
	assert_false(image.states[CHAIN_COLLECTS].of_this_thread);
	check_root(&image.states[CHAIN_HOLDS_LOCK], INTERPRETER_ROOT_GLOBAL,
		   image.roots[0].vaddr - 24);
	assert_true(image.states[CHAIN_HOLDS_LOCK].of_this_thread);
}

static int recognise_again(void *arg)
{
	static struct elf_layout layout;
	struct byte_source src;

	(void)arg;
	byte_source_from_memory(&src, file.elf.data, file.elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return python_interpreter_ops.recognise(&layout, &src, &image);
}

TEST(survives_lack_of_memory)
{
	python_file_begin(&file, EM_X86_64);
	python_file_exports(&file);
	elf_builder_symbol_table(&file.elf, SHT_SYMTAB);
	python_file_function(&file, "main", FILE_OTHER);
	assert_int_equal(recognise(), 0);
	check_oom(recognise_again, NULL);
}
