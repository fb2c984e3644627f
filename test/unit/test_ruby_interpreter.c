/* What is found in a file of Ruby. Real ones are in test/ruby. */
#include <errno.h>

#include "node-agent/interpreter/ruby/ruby_interpreter.h"
#include "test/lib/elf_functions.h"
#include "test/lib/unit.h"

enum place { EVAL, EVAL_MAIN, EXEC, CORE, HELPER, OTHER, SYMBOLS, ERRINFO, RUNNER, PLACES };

static const uint64_t sizes[PLACES] = {256, 256, 512, 9000, 512, 512, 64, 64, 512};

static struct elf_builder elf;
static struct elf_function functions[PLACES];
static struct interpreter_image image;
static uint64_t version_at;

struct file {
	const char *version;
	uint16_t machine;
	bool exports_exec;
	bool has_context;
	bool core_is_inlined;
	const char *runs; /* code of a function that the core calls, or does not */
	bool core_does_not_call;
	const char *symbols_code;
	size_t symbols_code_bytes;
};

static void call(enum place from, unsigned offset, enum place to, bool is_call)
{
	elf_functions_link(&elf, functions[from].start + offset, functions[to].start, is_call);
}

static void export(const char *name, enum place i)
{
	elf_builder_symbol(&elf, name, STB_GLOBAL, STT_FUNC, functions[i].start,
			   functions[i].bytes);
}

static void add_text(const struct file *f)
{
	uint64_t at = elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0,
					  NULL, 12000)
			      ->sh_offset;

	elf.sections[1].sh_addr = at;
	for (unsigned i = 0; i < PLACES; i++) {
		functions[i] = (struct elf_function){at, sizes[i]};
		at += (sizes[i] + 15) & ~UINT64_C(15);
	}
	call(EVAL, 16, HELPER, true);
	call(EVAL, 64, EXEC, false);
	call(EVAL_MAIN, 16, OTHER, true);
	call(EVAL_MAIN, 64, EXEC, true);
	call(EXEC, 16, HELPER, true);
	if (!f->core_is_inlined)
		call(EXEC, 32, CORE, true);
	call(EXEC, 48, OTHER, true);
	if (f->runs) {
		call(f->core_does_not_call ? OTHER
		     : f->core_is_inlined  ? EXEC
					   : CORE,
		     64, RUNNER, true);
		memcpy(elf.data + functions[RUNNER].start + 300, f->runs, strlen(f->runs));
	}
	if (f->symbols_code)
		memcpy(elf.data + functions[SYMBOLS].start, f->symbols_code, f->symbols_code_bytes);
}

static int recognise(const struct file *f)
{
	static struct elf_layout layout;
	struct byte_source src;

	elf_builder_init(&elf, f->machine ? f->machine : EM_X86_64);
	add_text(f);
	version_at = elf_builder_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, f->version,
					 strlen(f->version) + 1)
			     ->sh_offset;
	elf_builder_symbol(&elf, "ruby_version", STB_GLOBAL, STT_OBJECT, version_at, 6);
	export("rb_iseq_eval", EVAL);
	export("rb_iseq_eval_main", EVAL_MAIN);
	export("rb_errinfo", ERRINFO);
	export("rb_sym_all_symbols", SYMBOLS);
	if (f->exports_exec)
		export("rb_vm_exec", EXEC);
	if (f->has_context)
		elf_builder_symbol(&elf, "ruby_current_execution_context_ptr", STB_GLOBAL,
				   STT_OBJECT, 0x6000, 8);
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_functions_unwind(&elf, functions, PLACES);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&elf);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return ruby_interpreter_ops.recognise(&layout, &src, &image);
}

static void check_range(unsigned i, enum place place)
{
	assert_int_equal(image.loops[i].start, functions[place].start);
	assert_int_equal(image.loops[i].end, functions[place].start + functions[place].bytes);
}

TEST(a_file_is_ruby_by_what_it_has)
{
	assert_int_equal(recognise(&(struct file){.version = "3.3.8"}), 0);
	assert_int_equal(image.language, INTERPRETER_RUBY);
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_GETTER);
	assert_int_equal(image.roots[0].vaddr, functions[ERRINFO].start);
	assert_int_equal(image.roots[0].n_steps, 1);
	assert_int_equal(image.roots[0].steps[0], 16);
	assert_int_equal(image.thread.kind, INTERPRETER_ROOT_NONE);
	assert_int_equal(image.frames.next, 56);
	assert_int_equal(image.flags,
			 CHAIN_ANONYMOUS_IS_LOOP | CHAIN_LOOP_IS_JOINED | CHAIN_CALLED_BY_LOOP);
}

/* vm_exec() and vm_exec_core(), which no symbol names. */
TEST(the_loop_is_found_by_calls)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		assert_int_equal(
			recognise(&(struct file){.version = "3.4.1", .machine = machines[i]}), 0);
		assert_int_equal(image.n_loops, 1); /* they are neighbours */
		assert_int_equal(image.loops[0].start, functions[EXEC].start);
		assert_int_equal(image.loops[0].end, functions[CORE].start + sizes[CORE]);
	}
}

TEST(the_loop_may_be_exported)
{
	assert_int_equal(recognise(&(struct file){.version = "3.1.2",
						  .exports_exec = true,
						  .core_is_inlined = true}),
			 0);
	assert_int_equal(image.n_loops, 1);
	check_range(0, EXEC);
	assert_int_equal(image.frames.next, 64);
}

/* vm_sendish(): it calls a pointer with the context and a word of that, the current frame. */
TEST(what_runs_compiled_code_is_part_of_the_loop)
{
	static const char *const codes[] = {
		"\x48\x8b\x73\x10\x48\x89\xdf\xff\xd0",         /* rbx; call *%rax */
		"\x4c\x89\xef\x49\x8b\x75\x10\xff\xd2",         /* r13; call *%rdx */
		"\x49\x8b\x74\x24\x10\x4c\x89\xe7\x41\xff\xd0", /* r12; call *%r8 */
		"\x4c\x89\xe7\x49\x8b\x74\x24\x10\xff\xd1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		assert_int_equal(recognise(&(struct file){.version = "3.1.2", .runs = codes[i]}),
				 0);
		assert_int_equal(image.n_loops, 2);
		check_range(1, RUNNER);
		assert_int_equal(recognise(&(struct file){.version = "3.1.2",
							  .runs = codes[i],
							  .core_is_inlined = true}),
				 0);
		assert_int_equal(image.n_loops, 2);
		check_range(1, RUNNER);
	}
}

TEST(other_functions_that_call_a_pointer_are_none_of_it)
{
	static const char *const codes[] = {
		"\x48\x8b\x73\x10\x48\x89\xc7\xff\xd0",     /* of another register */
		"\x48\x8b\x73\x18\x48\x89\xdf\xff\xd0",     /* another word */
		"\x48\x8b\x7b\x10\x48\x89\xdf\xff\xd0",     /* as the first argument */
		"\x48\x8b\x73\x10\x48\x89\xdf\xff\xe0",     /* a jump */
		"\x48\x8b\x73\x10\x90\x48\x89\xdf\xff\xd0", /* not at once */
		"\x4c\x89\xe6\x48\x89\xdf\xff\xd0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		assert_int_equal(recognise(&(struct file){.version = "3.1.2", .runs = codes[i]}),
				 0);
		assert_int_equal(image.n_loops, 1);
	}
	assert_int_equal(recognise(&(struct file){.version = "3.1.2",
						  .runs = "\x48\x8b\x73\x10\x48\x89\xdf\xff\xd0",
						  .core_does_not_call = true}),
			 0);
	assert_int_equal(image.n_loops, 1);
}

/* It is of the thread that has the lock: of which one is checked. */
TEST(the_context_was_a_global_variable)
{
	assert_int_equal(recognise(&(struct file){.version = "2.7.4", .has_context = true}), 0);
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_GLOBAL);
	assert_int_equal(image.roots[0].vaddr, 0x6000);
	assert_int_equal(image.thread.kind, INTERPRETER_ROOT_GLOBAL);
	assert_int_equal(image.thread.vaddr, 0x6000);
	assert_int_equal(image.thread.n_steps, 2);
}

TEST(the_table_of_names_is_what_a_function_loads)
{
	/* push %rbp; mov 0x100(%rip),%rax; [push %r12;] mov 0x10(%rax),%rdi */
	static const char near[] = "\x55\x48\x8b\x05\0\1\0\0\x48\x8b\x78\x10",
			  far[] = "\x55\x48\x8b\x05\0\1\0\0\x41\x54\x48\x8b\x78\x10",
			  other[] = "\x55\x48\x8b\x05\0\1\0\0\x48\x8b\x78\x18";
	static const struct {
		const char *code;
		size_t n;
		bool found;
	} cases[] = {{near, sizeof(near) - 1, true},
		     {far, sizeof(far) - 1, true},
		     {other, sizeof(other) - 1, false}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct file f = {.version = "3.1.2",
				       .symbols_code = cases[i].code,
				       .symbols_code_bytes = cases[i].n};

		assert_int_equal(recognise(&f), 0);
		assert_int_equal(image.ruby.ids,
				 cases[i].found ? functions[SYMBOLS].start + 8 + 0x100 + 8 : 0);
	}
}

TEST(releases_have_offsets_of_their_own)
{
	static const struct {
		const char *version;
		unsigned frame, instructions, line; /* 0: not known */
	} cases[] = {
		{"2.6.9", 0, 0, 0},      {"2.7.4", 56, 120, 8},  {"3.0.7", 56, 120, 8},
		{"3.1.2", 64, 120, 12},  {"3.2.9", 64, 112, 12}, {"3.3.8", 56, 112, 12},
		{"3.4.11", 56, 112, 12}, {"3.5.0", 0, 0, 0},     {"4.0.9", 56, 112, 12},
		{"3.10.0", 0, 0, 0},     {"x.y", 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = recognise(&(struct file){.version = cases[i].version});

		assert_int_equal(r, cases[i].frame ? 0 : -ENOTSUP);
		if (r < 0)
			continue;
		assert_int_equal(image.ruby.frame_bytes, cases[i].frame);
		assert_int_equal(image.ruby.instructions, cases[i].instructions);
		assert_int_equal(image.ruby.line_bytes, cases[i].line);
	}
}
