/*
 * A file has Perl if it has Perl_runops_standard(), whatever it is called: perl, libperl, or a
 * program that it is linked into. Extensions need the symbols, so files without further ones have
 * them.
 *
 * Frames are elements of the context stack (PERL_CONTEXT), beside those of loops and blocks. What
 * runs apart from the program has a stack of its own (PERL_SI): sort(), destructors, tied
 * variables, overloaded operators. A sub that C code calls has nothing to return to (retop): it is
 * the last one of a run. C functions of extensions (XS) have no frame; they are native ones.
 *
 * The code of a sub, a CV, may be freed at once: that of a closure. Its name belongs to a GV, which
 * stays; named subs of packages (CVf_NAMED) have no GV, and stay themselves.
 */
#include "node-agent/interpreter/perl/perl_interpreter.h"

#include <errno.h>

#include "node-agent/interpreter/interpreter_loops.h"
#include "node-agent/interpreter/interpreter_symbols.h"
#include "node-agent/interpreter/perl/perl_names.h"
#include "node-agent/interpreter/perl/perl_offsets.h"

/* PERL_SI */
#define STACK_ELEMENTS 8u
#define STACK_BELOW 16u
#define STACK_LAST 32u
/* PERL_CONTEXT */
#define CONTEXT_CALLER 16u /* a COP */
#define CONTEXT_RETURN 48u
#define CONTEXT_FILE 8u /* before the code of a sub: of an eval, the file if it is one */

enum symbol {
	SYMBOL_LOOP,
	SYMBOL_REVISION,
	SYMBOL_VERSION,
	SYMBOL_KEY,
	SYMBOL_STACK,
	SYMBOL_STATEMENT,
	SYMBOLS
};

static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_LOOP] = "Perl_runops_standard", [SYMBOL_REVISION] = "PL_revision",
	[SYMBOL_VERSION] = "PL_version",        [SYMBOL_KEY] = "PL_thr_key",
	[SYMBOL_STACK] = "PL_curstackinfo",     [SYMBOL_STATEMENT] = "PL_curcop",
};

struct release {
	uint8_t first; /* 5.first and newer */
	uint16_t context_bytes;
	uint16_t context_code;
	uint16_t statement; /* in the state of a thread (PerlInterpreter) */
	bool name_in_body;
};

#define RELEASE_MAX 44u

static const struct release releases[] = {
	{36, 104, 72, 208, true},
	{34, 104, 72, 208, false},
	{32, 104, 72, 224, false},
	{28, 96, 64, 224, false},
};

static bool is_loop(const char *name)
{
	return interpreter_is_part(name, symbol_names[SYMBOL_LOOP]);
}

static int read_byte(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		     uint8_t *ret)
{
	uint64_t offset;
	int r;

	*ret = 0;
	if (vaddr == 0)
		return 0;
	r = elf_layout_offset(layout, vaddr, &offset);
	return r < 0 ? r : byte_source_read(src, offset, ret, sizeof(*ret));
}

/* Those between have odd numbers, and change. */
static int find_release(const struct elf_layout *layout, const struct byte_source *src,
			const uint64_t *symbols, const struct release **ret)
{
	uint8_t revision, version;
	int r = read_byte(layout, src, symbols[SYMBOL_REVISION], &revision);

	if (r == 0)
		r = read_byte(layout, src, symbols[SYMBOL_VERSION], &version);
	if (r < 0)
		return r;
	if (revision != 5 || version > RELEASE_MAX || version % 2 != 0)
		return -ENOTSUP;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		*ret = &releases[i];
		if (version >= releases[i].first)
			return 0;
	}
	return -ENOTSUP;
}

static struct chain_frames frames_of(const struct release *r)
{
	return (struct chain_frames){
		.next_is = CHAIN_NEXT_ELEMENT,
		.n_bytes = r->context_code + 8,
		.code = r->context_code,
		.at = CONTEXT_CALLER,
		.next = (int16_t)-r->context_bytes,
		.end = CONTEXT_RETURN,
		.check = PERL_SV_BODY,
	};
}

/*
 * What evaluates a call of C code (G_EVAL) has no place to return to, and is no eval of Perl's, and
 * a block in a regular expression is the sub itself that it is in, unless it is a closure. The last
 * call of a block that sort() or a regular expression runs has none either, but that block is
 * the last frame of the run.
 */
static struct chain_stacks stacks_of(const struct release *r)
{
	return (struct chain_stacks){
		.elements = STACK_ELEMENTS,
		.last = STACK_LAST,
		.below = STACK_BELOW,
		.frames = 1u << PERL_CONTEXT_NULL | 1u << PERL_CONTEXT_SUB |
			  1u << PERL_CONTEXT_FORMAT | 1u << PERL_CONTEXT_EVAL,
		.coded = 1u << PERL_CONTEXT_SUB | 1u << PERL_CONTEXT_FORMAT,
		.mark = (uint16_t)(r->context_code - CONTEXT_FILE),
		.hidden_mask = PERL_CONTEXT_BLOCK_FLAG | PERL_CONTEXT_KIND_MASK,
		.hidden = PERL_CONTEXT_BLOCK_FLAG | PERL_CONTEXT_EVAL,
		.hidden_mask_too = PERL_CONTEXT_FAKE_FLAG | PERL_CONTEXT_KIND_MASK,
		.hidden_too = PERL_CONTEXT_FAKE_FLAG | PERL_CONTEXT_SUB,
		.joined = PERL_CONTEXT_NULL,
		.joined_mask = PERL_CONTEXT_REGEX_FLAG | PERL_CONTEXT_KIND_MASK,
		.joined_too = PERL_CONTEXT_REGEX_FLAG | PERL_CONTEXT_SUB,
		.body = PERL_SV_BODY,
		.name = PERL_CV_NAME,
		.flags = PERL_CV_FLAGS,
		.at_check = PERL_COP_TYPE_LINE,
		.at_check_more = PERL_COP_FILE,
		.named = PERL_CV_NAMED,
	};
}

/* Returns false if the file has not what leads to the frames. */
static bool set_roots(const struct release *r, const uint64_t *symbols,
		      struct interpreter_image *image)
{
	struct interpreter_root *stack = &image->roots[0], *at = &image->first_at;

	image->perl.threaded = symbols[SYMBOL_KEY] != 0;
	if (image->perl.threaded) {
		*stack = (struct interpreter_root){
			.kind = INTERPRETER_ROOT_KEY, .vaddr = symbols[SYMBOL_KEY], .n_steps = 1};
		*at = *stack;
		at->steps[0] = r->statement;
		stack->steps[0] = r->statement + 16;
		return true;
	}
	*stack = (struct interpreter_root){.kind = INTERPRETER_ROOT_GLOBAL,
					   .vaddr = symbols[SYMBOL_STACK]};
	*at = (struct interpreter_root){.kind = INTERPRETER_ROOT_GLOBAL,
					.vaddr = symbols[SYMBOL_STATEMENT]};
	return stack->vaddr != 0 && at->vaddr != 0;
}

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	const struct release *release;
	uint64_t symbols[SYMBOLS];
	int r = interpreter_symbols_find(layout, src, symbol_names, symbols, SYMBOLS);

	if (r < 0)
		return r;
	if (symbols[SYMBOL_LOOP] == 0)
		return -ENOENT;
	r = find_release(layout, src, symbols, &release);
	if (r < 0)
		return r;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_PERL,
		.frames = frames_of(release),
		.stacks = stacks_of(release),
		.perl.name_in_body = release->name_in_body,
	};
	if (!set_roots(release, symbols, ret))
		return -ENOTSUP;
	r = interpreter_loops_find(layout, src, &symbols[SYMBOL_LOOP], 1, is_loop, ret->loops);
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	ret->n_loops = (uint32_t)r;
	return 0;
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	(void)bias;
	return perl_name_read(&image->perl, memory, f, ret);
}

const struct interpreter_ops perl_interpreter_ops = {"perl", "Perl_runops_standard", recognise,
						     name_frame};
