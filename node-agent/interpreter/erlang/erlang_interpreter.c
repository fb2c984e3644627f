/*
 * A file has Erlang's emulator if it has process_main(), which generates nothing itself, but calls
 * the code that its compiler (BeamAsm) has generated, and with the compiler also etp_beamasm. Such
 * programs export their symbols, as extensions (NIFs) need them.
 *
 * All functions of Erlang are generated code. Each process has a stack of its own, on which that
 * code runs, and C functions run on the stack of the scheduler's thread: see struct chain_scan.
 * Functions that may take long, and large collections of garbage, run in other threads, which have
 * no generated code (erts_dirty_process_main()): there the process has put its stack's top away.
 */
#include "node-agent/interpreter/erlang/erlang_interpreter.h"

#include <elf.h>
#include <errno.h>

#include "node-agent/interpreter/erlang/erlang_code.h"
#include "node-agent/interpreter/erlang/erlang_names.h"
#include "node-agent/interpreter/erlang/erlang_release.h"
#include "node-agent/interpreter/interpreter_loops.h"
#include "node-agent/interpreter/interpreter_symbols.h"

enum symbol {
	SYMBOL_COMPILER,
	SYMBOL_RELEASE,
	SYMBOL_MAIN,
	SYMBOL_DIRTY_MAIN,
	SYMBOL_SCHEDULER,
	SYMBOL_LOOKUP,
	SYMBOL_CODE_INDEX,
	SYMBOL_ATOMS,
	SYMBOLS
};

static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_COMPILER] = "etp_beamasm",
	[SYMBOL_RELEASE] = "etp_otp_release",
	[SYMBOL_MAIN] = "process_main",
	[SYMBOL_DIRTY_MAIN] = "erts_dirty_process_main",
	[SYMBOL_SCHEDULER] = "erts_get_scheduler_data",
	[SYMBOL_LOOKUP] = "erts_lookup_function_info",
	[SYMBOL_CODE_INDEX] = "the_active_code_index",
	[SYMBOL_ATOMS] = "erts_atom_table",
};

static bool is_loop(const char *name)
{
	return interpreter_is_part(name, symbol_names[SYMBOL_DIRTY_MAIN]);
}

static int has_compiler(const struct elf_layout *layout, const struct byte_source *src,
			uint64_t vaddr)
{
	uint64_t offset;
	uint32_t is_jit = 0;
	int r = elf_layout_offset(layout, vaddr, &offset);

	if (r == 0)
		r = byte_source_read(src, offset, &is_jit, sizeof(is_jit));
	return r < 0 ? r : is_jit ? 0 : -ENOTSUP;
}

/* What is in the code of functions that have symbols. */
static int find_by_code(const struct elf_layout *layout, const struct byte_source *src,
			const uint64_t *symbols, struct interpreter_image *ret)
{
	uint64_t key = 0, back = 0;
	int r = erlang_first_load(layout, src, symbols[SYMBOL_SCHEDULER], &key);

	if (r == 0)
		r = erlang_table_beside(layout, src, symbols[SYMBOL_LOOKUP],
					symbols[SYMBOL_CODE_INDEX], &ret->erlang.ranges);
	if (r == 0)
		r = erlang_return_of_call(layout, src, symbols[SYMBOL_MAIN], &back);
	ret->scan.back = back;
	for (size_t i = 0; i < CHAIN_PATHS; i++)
		ret->roots[i].vaddr = key;
	return r;
}

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	const struct erlang_release *release;
	uint64_t symbols[SYMBOLS];
	int r = interpreter_symbols_find(layout, src, symbol_names, symbols, SYMBOLS), error;

	if (r < 0)
		return r;
	if (symbols[SYMBOL_COMPILER] == 0)
		return -ENOENT;
	if (r < SYMBOLS || layout->machine != EM_X86_64)
		return -ENOTSUP;
	r = has_compiler(layout, src, symbols[SYMBOL_COMPILER]);
	if (r < 0)
		return r;
	release = erlang_release_find(layout, src, symbols[SYMBOL_RELEASE], &error);
	if (!release)
		return error;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_ERLANG,
		.roots = {{.kind = INTERPRETER_ROOT_KEY,
			   .n_steps = 1,
			   .steps = {release->current_process}},
			  {.kind = INTERPRETER_ROOT_KEY, .n_steps = 1}},
		.frames = {.next_is = CHAIN_NEXT_SCAN},
		.scan = release->scan,
		.flags = CHAIN_ANONYMOUS_IS_LOOP,
		.erlang = {.code_index = symbols[SYMBOL_CODE_INDEX],
			   .atoms = symbols[SYMBOL_ATOMS],
			   .functions = release->functions},
	};
	r = find_by_code(layout, src, symbols, ret);
	if (r == 0)
		r = interpreter_loops_find(layout, src, &symbols[SYMBOL_DIRTY_MAIN], 1, is_loop,
					   ret->loops);
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	ret->n_loops = (uint32_t)r;
	return 0;
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	return erlang_name_read(&image->erlang, bias, memory, f, ret);
}

const struct interpreter_ops erlang_interpreter_ops = {"erlang", "etp_beamasm", recognise,
						       name_frame};
