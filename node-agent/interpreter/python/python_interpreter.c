/* stub for Debian's python 3.11: pynames has the real one */
#include <errno.h>

#include "node-agent/elf/elf_exports.h"
#include "node-agent/interpreter/interpreter_ops.h"

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	static const char *const names[] = {"_PyRuntime", "_PyEval_EvalFrameDefault"};
	uint64_t v[2];
	int r = elf_exports_find(layout, src, names, v, 2);

	if (r < 0)
		return r;
	if (!v[0] || !v[1])
		return -ENOENT;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_PYTHON,
		.roots = {{.kind = INTERPRETER_ROOT_KEY_MADE,
			   .vaddr = v[0] + 0x250,
			   .n_steps = 2,
			   .anchor = 1,
			   .steps = {56, 8}}},
		.frames = {.next_is = CHAIN_NEXT_WORD,
			   .end_is = CHAIN_END_LAST,
			   .n_bytes = 48,
			   .from = 32,
			   .code = 32,
			   .at = 56,
			   .next = 48,
			   .end = 64,
			   .end_at = CHAIN_END_HERE,
			   .check = 120,
			   .anchor_next = 16,
			   .at_mask = ~0ULL,
			   .end_mask = 0xffULL << 32,
			   .end_value = 1ULL << 32},
		.loops = {{v[1], v[1] + 55644}},
		.n_loops = 1,
	};
	return 0;
}

static int text(const struct interpreter_memory *m, uint64_t code, uint32_t at, char *to, size_t cap)
{
	uint64_t p;
	int r = interpreter_read(m, code + at, &p, 8);

	if (r == 0)
		r = interpreter_read(m, p + 48, to, cap > 64 ? 64 : cap);
	to[63] = 0;
	return r;
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	uint32_t line = 0;
	int r = text(memory, f->code, 128, ret->function, sizeof(ret->function));

	(void)image;
	(void)bias;
	if (r == 0)
		r = text(memory, f->code, 112, ret->file, sizeof(ret->file));
	if (r == 0)
		r = interpreter_read(memory, f->code + 72, &line, 4);
	ret->line = ret->start_line = line;
	return r;
}

const struct interpreter_ops python_interpreter_ops = {"python", recognise, name_frame};
