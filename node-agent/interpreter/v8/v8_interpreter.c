/*
 * A file has V8 if it has v8::Isolate::GetCurrent(), which addons of Node.js need; so stripped
 * files have it, too. Whether it can be read is another question (v8_offsets.h).
 *
 * Frames of JavaScript are native ones (bpf/v8_walk.bpf.h). The loop is all code that V8 brings
 * along in the file; what it generates is anonymous memory.
 */
#include "node-agent/interpreter/v8/v8_interpreter.h"

#include <errno.h>

#include "node-agent/interpreter/v8/v8_names.h"
#include "node-agent/interpreter/v8/v8_offsets.h"

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	struct v8_offsets v8;
	int r = v8_offsets_find(layout, src, &v8);

	if (r < 0)
		return r;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_V8,
		.frames = {.code = v8.function_shared,
			   .at = v8.frame_bytecode,
			   .check = v8.layout.sfi_name},
		.flags = CHAIN_ANONYMOUS_IS_LOOP | CHAIN_IN_NATIVE,
		.loops = {{v8.builtins, v8.builtins + v8.builtins_bytes}},
		.n_loops = v8.builtins_bytes > 0,
		.v8 = v8.layout,
	};
	return 0;
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	return v8_name_read(&image->v8, bias, memory, f, ret);
}

static void add_layout(const struct interpreter_image *image, uint64_t bias,
		       struct chain_layout *ret)
{
	(void)bias;
	ret->loop_in_file = image->loops[0].start;
}

const struct interpreter_ops v8_interpreter_ops = {
	.name = "v8",
	.mark = "_ZN2v87Isolate10GetCurrentEv",
	.recognise = recognise,
	.name_frame = name_frame,
	.add_layout = add_layout,
};
