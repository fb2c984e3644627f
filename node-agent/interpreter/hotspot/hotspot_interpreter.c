/*
 * A file is HotSpot's library if it exports the variables by which that describes itself. What they
 * say is set when the library is loaded, so it is read from a process.
 *
 * Frames of a JVM are no chain: they lie on the stack among the native ones. The walk steps from
 * one to the next by what the code cache says of the code (bpf/hotspot_walk.bpf.h).
 */
#include "node-agent/interpreter/hotspot/hotspot_interpreter.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/elf_exports.h"
#include "node-agent/interpreter/hotspot/hotspot_facts.h"
#include "node-agent/interpreter/hotspot/hotspot_names.h"

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	int r;

	*ret = (struct interpreter_image){.language = INTERPRETER_JAVA, .flags = CHAIN_IS_JVM};
	r = elf_exports_find(layout, src, vm_variable_names, ret->hotspot.variables.at,
			     VM_VARIABLES);
	if (r < 0)
		return r;
	if (ret->hotspot.variables.at[VM_STRUCTS] == 0)
		return -ENOENT;
	return layout->machine == EM_X86_64 ? 0 : -ENOTSUP; /* frames of others look different */
}

static int complete(struct interpreter_image *image, uint64_t bias,
		    const struct interpreter_memory *memory)
{
	return image->hotspot.complete ? 0 : hotspot_facts_read(&image->hotspot, bias, memory);
}

static void add_layout(const struct interpreter_image *image, uint64_t bias,
		       struct chain_layout *ret)
{
	__u64 *const addresses[] = {&ret->jvm.low, &ret->jvm.high, &ret->jvm.heaps};

	ret->jvm = image->hotspot.walk;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		if (*addresses[i] != 0)
			*addresses[i] += bias;
	}
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	if (!image->hotspot.complete)
		return -EAGAIN;
	return hotspot_name_read(&image->hotspot, bias, memory, f, ret);
}

const struct interpreter_ops hotspot_interpreter_ops = {
	.name = "java",
	.mark = "gHotSpotVMStructs",
	.recognise = recognise,
	.complete = complete,
	.add_layout = add_layout,
	.name_frame = name_frame,
};
