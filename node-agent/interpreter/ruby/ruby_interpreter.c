/*
 * A file has Ruby's virtual machine if it has ruby_version and rb_iseq_eval(), whatever it is
 * called: ruby, libruby, or a program that embeds it.
 *
 * Frames (rb_control_frame_t) are an array that grows downwards; the innermost one is the first. A
 * call of vm_exec() runs them up to one with a flag. Frames of C functions stand between, and have
 * no code, but a method. The method, by which the class is known, is in the environment of a frame
 * or in one around it: blocks have that of the function that they are in. Below all frames is one
 * that stands for none.
 */
#include "node-agent/interpreter/ruby/ruby_interpreter.h"

#include <elf.h>
#include <errno.h>

#include "node-agent/interpreter/interpreter_loops.h"
#include "node-agent/interpreter/interpreter_symbols.h"
#include "node-agent/interpreter/ruby/ruby_names.h"
#include "node-agent/interpreter/ruby/ruby_object.h"
#include "node-agent/interpreter/ruby/ruby_release.h"

/* vm_core.h, the same in all these releases */
#define CONTEXT_FRAME 16  /* rb_execution_context_t.cfp */
#define CONTEXT_THREAD 56 /* rb_execution_context_t.thread_ptr, until 2.7 */
#define THREAD_ID 72      /* rb_thread_t.thread_id, likewise */
#define FRAME_PC 0u
#define FRAME_CODE 16u
#define FRAME_ENVIRONMENT 32u
#define FRAME_BYTES 40u /* that are read */
#define ENVIRONMENT_METHOD (-16)
#define ENVIRONMENT_AROUND (-8)
#define ENVIRONMENT_FLAGS 0
#define FLAG_LOCAL 2u         /* VM_ENV_FLAG_LOCAL: there is none around */
#define FLAG_FINISH 0x20u     /* VM_FRAME_FLAG_FINISH */
#define KIND 0x7fff0001u      /* VM_FRAME_MAGIC_MASK */
#define KIND_NONE 0x79990001u /* VM_FRAME_MAGIC_DUMMY, the largest */
#define VARIABLE_METHOD 8u    /* vm_svar.cref_or_me */

enum symbol {
	SYMBOL_VERSION,
	SYMBOL_EVAL,
	SYMBOL_EVAL_MAIN,
	SYMBOL_EXEC,    /* exported until 3.1 */
	SYMBOL_CONTEXT, /* until 2.7 */
	SYMBOL_GETTER,  /* of errinfo, which is the thread's */
	SYMBOL_ALL_SYMBOLS,
	SYMBOL_MACHINE,
	SYMBOLS,
};

static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_VERSION] = "ruby_version",
	[SYMBOL_EVAL] = "rb_iseq_eval",
	[SYMBOL_EVAL_MAIN] = "rb_iseq_eval_main",
	[SYMBOL_EXEC] = "rb_vm_exec",
	[SYMBOL_CONTEXT] = "ruby_current_execution_context_ptr",
	[SYMBOL_GETTER] = "rb_errinfo",
	[SYMBOL_ALL_SYMBOLS] = "rb_sym_all_symbols",
	[SYMBOL_MACHINE] = "ruby_current_vm_ptr",
};

static bool is_loop(const char *name)
{
	return interpreter_is_part(name, "vm_exec") || interpreter_is_part(name, "rb_vm_exec") ||
	       interpreter_is_part(name, "vm_exec_core");
}

static struct chain_frames frames_of(const struct ruby_layout *l)
{
	return (struct chain_frames){
		.next_is = CHAIN_NEXT_STRIDE,
		.end_is = CHAIN_END_LAST,
		.n_bytes = FRAME_BYTES,
		.code = FRAME_CODE,
		.at = FRAME_PC,
		.next = l->frame_bytes,
		.end = FRAME_ENVIRONMENT,
		.end_at = ENVIRONMENT_FLAGS,
		.at_mask = ~UINT64_C(0),
		.end_mask = FLAG_FINISH,
		.end_value = FLAG_FINISH,
		.stop_mask = KIND,
		.stop_value = KIND_NONE,
		.owner = {.environment = FRAME_ENVIRONMENT,
			  .value = ENVIRONMENT_METHOD,
			  .next = ENVIRONMENT_AROUND,
			  .last = ENVIRONMENT_FLAGS,
			  .last_mask = FLAG_LOCAL,
			  .kind_mask = RUBY_KIND_MASK,
			  .kind = RUBY_KIND_METHOD,
			  .box = RUBY_KIND_VARIABLE,
			  .box_value = VARIABLE_METHOD,
			  .body = RUBY_CODE_BODY,
			  .first = RUBY_BODY_INSTRUCTIONS},
	};
}

static struct interpreter_root root_of(const uint64_t *symbols)
{
	struct interpreter_root ret = {.n_steps = 1, .steps = {CONTEXT_FRAME}};

	ret.kind = symbols[SYMBOL_CONTEXT] ? INTERPRETER_ROOT_GLOBAL : INTERPRETER_ROOT_GETTER;
	ret.vaddr = symbols[symbols[SYMBOL_CONTEXT] ? SYMBOL_CONTEXT : SYMBOL_GETTER];
	return ret;
}

/* The variable is of the thread that has the lock of the machine. */
static struct interpreter_root thread_of(const uint64_t *symbols)
{
	if (symbols[SYMBOL_CONTEXT] == 0)
		return (struct interpreter_root){.kind = INTERPRETER_ROOT_NONE};
	return (struct interpreter_root){.kind = INTERPRETER_ROOT_GLOBAL,
					 .vaddr = symbols[SYMBOL_CONTEXT],
					 .n_steps = 2,
					 .steps = {CONTEXT_THREAD, THREAD_ID}};
}

/* Sets the ranges of the loop. */
static int find_loops(const struct elf_layout *layout, const struct byte_source *src,
		      const uint64_t *symbols, struct interpreter_image *ret)
{
	const uint64_t evals[] = {symbols[SYMBOL_EVAL], symbols[SYMBOL_EVAL_MAIN]};
	uint64_t functions[RUBY_LOOPS_MAX];
	int r = ruby_loops_find(layout, src, evals, symbols[SYMBOL_EXEC], functions);

	if (r > 0)
		r = interpreter_loops_find(layout, src, functions, (size_t)r, is_loop, ret->loops);
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	ret->n_loops = (uint32_t)r;
	return 0;
}

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	uint64_t symbols[SYMBOLS];
	struct ruby_layout ruby;
	int r = interpreter_symbols_find(layout, src, symbol_names, symbols, SYMBOLS);

	if (r < 0)
		return r;
	if (symbols[SYMBOL_VERSION] == 0 || symbols[SYMBOL_EVAL] == 0)
		return -ENOENT;
	r = ruby_release_find(layout, src, symbols[SYMBOL_VERSION], &ruby);
	if (r < 0)
		return r;
	if (symbols[SYMBOL_CONTEXT] == 0 && symbols[SYMBOL_GETTER] == 0)
		return -ENOTSUP;
	r = symbols[SYMBOL_ALL_SYMBOLS]
		    ? ruby_symbols_find(layout, src, symbols[SYMBOL_ALL_SYMBOLS], &ruby.ids)
		    : -ENOENT;
	if (r < 0 && r != -ENOENT)
		return r;
	ruby.machine = symbols[SYMBOL_MACHINE];
	*ret = (struct interpreter_image){
		.language = INTERPRETER_RUBY,
		.roots = {root_of(symbols)},
		.thread = thread_of(symbols),
		.frames = frames_of(&ruby),
		.flags = CHAIN_ANONYMOUS_IS_LOOP | CHAIN_LOOP_IS_JOINED,
		.ruby = ruby,
	};
	if (layout->machine == EM_X86_64)
		ret->flags |= CHAIN_CALLED_BY_LOOP;
	return find_loops(layout, src, symbols, ret);
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	return ruby_name_read(&image->ruby, bias, memory, f, ret);
}

const struct interpreter_ops ruby_interpreter_ops = {"ruby", "ruby_version", recognise, name_frame};
