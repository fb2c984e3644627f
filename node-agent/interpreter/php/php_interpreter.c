/*
 * A file has PHP's engine if it has execute_ex() and executor_globals, whatever it is called: php,
 * php-fpm, a module of Apache, or a program that embeds it. Extensions need these two, so files
 * without further symbols have them.
 *
 * Builds for several threads (ZTS, as FrankenPHP's) keep the globals of a thread behind a key of
 * pthread_getspecific(3), which a function that extensions call returns. Where executor_globals is
 * among them is decided when the process starts; it is the same in all processes of a file, because
 * they ask for the same things in the same order.
 *
 * Frames (zend_execute_data) are a linked list, from executor_globals on, in which those of C
 * functions stand between the others. What C code calls has a flag, be it a C function itself; so a
 * run of the loop ends at a flagged frame of a function that was compiled.
 */
#include "node-agent/interpreter/php/php_interpreter.h"

#include <errno.h>

#include "node-agent/interpreter/interpreter_loops.h"
#include "node-agent/interpreter/interpreter_symbols.h"
#include "node-agent/interpreter/php/php_code.h"
#include "node-agent/interpreter/php/php_names.h"
#include "node-agent/interpreter/php/php_release.h"

/* zend_execute_data: Zend/zend_compile.h, the same in all these releases */
#define FRAME_OPLINE 0u
#define FRAME_FUNCTION 24u
#define FRAME_TYPE_INFO 40u /* This.u1, in the lower half of the word */
#define FRAME_PREVIOUS 48u
#define FRAME_BYTES 56u
#define CALL_TOP (1u << 17) /* ZEND_CALL_TOP */
#define USER_FUNCTION 2u    /* ZEND_USER_FUNCTION, in the lowest byte of a zend_function */
#define EVAL_CODE 4u
#define FUNCTION_NAME 8u
#define STRING_HASH 8u /* zend_string.h */

/* Of all globals of a thread, at most; they are a few KB, and those of extensions. */
#define GLOBALS_MAX_BYTES (UINT64_C(64) << 20)

enum symbol {
	SYMBOL_LOOP,
	SYMBOL_GLOBALS,
	SYMBOL_OFFSET,
	SYMBOL_THREAD,
	SYMBOL_LOOP_POINTER,
	SYMBOL_CALLERS, /* of the loop, through that pointer */
	SYMBOLS = SYMBOL_CALLERS + 3,
};

static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_LOOP] = "execute_ex",
	[SYMBOL_GLOBALS] = "executor_globals",
	[SYMBOL_OFFSET] = "executor_globals_offset",
	[SYMBOL_THREAD] = "tsrm_get_ls_cache",
	[SYMBOL_LOOP_POINTER] = "zend_execute_ex",
	[SYMBOL_CALLERS] = "zend_execute",
	[SYMBOL_CALLERS + 1] = "zend_call_function",
	[SYMBOL_CALLERS + 2] = "zend_generator_resume",
};

static bool is_loop(const char *name)
{
	return interpreter_is_part(name, symbol_names[SYMBOL_LOOP]);
}

/*
 * The memory of functions is used again by the next request, for other functions. Their names'
 * hashes tell them apart.
 */
static struct chain_frames frames_of(const struct php_layout *l)
{
	return (struct chain_frames){
		.next_is = CHAIN_NEXT_WORD,
		.end_is = CHAIN_END_LAST,
		.n_bytes = FRAME_BYTES,
		.code = FRAME_FUNCTION,
		.at = FRAME_OPLINE,
		.next = FRAME_PREVIOUS,
		.end = FRAME_TYPE_INFO,
		.end_at = CHAIN_END_HERE,
		.end_code = USER_FUNCTION | EVAL_CODE,
		.check = FUNCTION_NAME,
		.check_more = l->filename,
		.check_at = STRING_HASH,
		.at_mask = ~UINT64_C(0),
		.end_mask = CALL_TOP,
		.end_value = CALL_TOP,
	};
}

/* Where the innermost frame is; steps of a thread's are filled in by complete(). */
static struct interpreter_root root_of(const uint64_t *symbols, const struct php_layout *l)
{
	if (l->globals_offset)
		return (struct interpreter_root){.kind = INTERPRETER_ROOT_GETTER,
						 .vaddr = symbols[SYMBOL_THREAD],
						 .n_steps = 1};
	return (struct interpreter_root){.kind = INTERPRETER_ROOT_GLOBAL,
					 .vaddr = symbols[SYMBOL_GLOBALS] + l->current};
}

/* Where the instructions are others, stacks end at code that opcache has compiled. */
static int find_guest(const struct elf_layout *layout, const struct byte_source *src,
		      const uint64_t *symbols, struct interpreter_image *ret)
{
	const struct php_loop loop = {symbols[SYMBOL_LOOP], symbols[SYMBOL_LOOP_POINTER],
				      symbols + SYMBOL_CALLERS, SYMBOLS - SYMBOL_CALLERS};
	int r = php_guest_find(layout, src, &loop, &ret->guest);

	if (r == 0)
		ret->flags |= CHAIN_IN_LOOPS_FRAME;
	return r == -ENOTSUP ? 0 : r;
}

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	uint64_t symbols[SYMBOLS];
	struct php_layout php;
	int r = interpreter_symbols_find(layout, src, symbol_names, symbols, SYMBOLS);

	if (r < 0)
		return r;
	if (symbols[SYMBOL_LOOP] == 0)
		return -ENOENT;
	r = php_release_find(layout, src, &php);
	if (r < 0)
		return r;
	if (symbols[SYMBOL_GLOBALS] == 0 && symbols[SYMBOL_THREAD])
		php.globals_offset = symbols[SYMBOL_OFFSET];
	if (symbols[SYMBOL_GLOBALS] == 0 && php.globals_offset == 0)
		return -ENOTSUP;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_PHP,
		.roots = {root_of(symbols, &php)},
		.frames = frames_of(&php),
		.texts = {FUNCTION_NAME, php.filename, CHAIN_TEXT_AT},
		.flags = CHAIN_ANONYMOUS_IS_LOOP,
		.php = php,
	};
	r = interpreter_loops_find(layout, src, &symbols[SYMBOL_LOOP], 1, is_loop, ret->loops);
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	ret->n_loops = (uint32_t)r;
	return find_guest(layout, src, symbols, ret);
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	(void)bias;
	return php_name_read(&image->php, memory, f, ret);
}

static int complete(struct interpreter_image *image, uint64_t bias,
		    const struct interpreter_memory *memory)
{
	struct php_layout *l = &image->php;
	uint64_t offset;
	int r;

	if (l->globals_offset == 0)
		return 0;
	r = interpreter_read(memory, bias + l->globals_offset, &offset, sizeof(offset));
	if (r < 0)
		return r;
	if (offset == 0) /* it has not started yet */
		return -EAGAIN;
	if (offset > GLOBALS_MAX_BYTES)
		return -ENOTSUP;
	image->roots[0].steps[0] = (int64_t)(offset + l->current);
	l->globals_offset = 0;
	return 0;
}

const struct interpreter_ops php_interpreter_ops = {
	"php", "execute_ex", recognise, name_frame, complete, NULL,
};
