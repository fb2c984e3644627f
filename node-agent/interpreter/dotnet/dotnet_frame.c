/*
 * A frame is its address: what is there when its name is read has to be what was executed. Code is
 * freed with an assembly that can be unloaded, and with a dynamic method, and other code takes its
 * place. So the check word is of the instructions around the address; it is compared before the
 * name is read and after that.
 */
#include "node-agent/interpreter/dotnet/dotnet_frame.h"

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/dotnet/dotnet_code.h"
#include "node-agent/interpreter/dotnet/dotnet_method.h"

#include "bpf/frame_chain.h"

#define NO_FILE "[dotnet]"

/* By StubCodeBlockKind. */
static const char *const stubs[DOTNET_STUBS_MAX + 1] = {
	[0] = "[stub]",
	[1] = "[jump stub]",
	[2] = "[precode]",
	[3] = "[dynamic helper]",
	[4] = "[stub precode]",
	[5] = "[fixup precode]",
	[6] = "[virtual dispatch stub]",
	[7] = "[virtual resolve stub]",
	[8] = "[virtual lookup stub]",
	[9] = "[vtable stub]",
};

static int check_code(const struct interpreter_memory *memory, const struct interpreter_frame *f)
{
	uint64_t word;
	int r = interpreter_read(memory, f->code, &word, sizeof(word));

	return r < 0 ? r : f->check == 0 || f->check == chain_check(word) ? 0 : -ESTALE;
}

int dotnet_frame_name(const struct dotnet_layout *layout, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	const struct dotnet_reader k = {layout, bias, memory};
	struct dotnet_code code;
	int r = check_code(memory, f);

	*ret = (struct interpreter_name){0};
	if (r == 0)
		r = dotnet_code_find(&k, f->at, &code);
	if (r < 0)
		return r == -ENOENT ? -ENXIO : r;
	switch (code.kind) {
	case DOTNET_CODE_IMAGE: /* named by its file */
		return -ENXIO;
	case DOTNET_CODE_STUB:
		snprintf(ret->function, sizeof(ret->function), "%s", stubs[code.stub] ?: stubs[0]);
		snprintf(ret->file, sizeof(ret->file), NO_FILE);
		break;
	case DOTNET_CODE_METHOD_BODY:
		r = dotnet_method_read(&k, &code, f->at, ret);
		break;
	}
	return r == 0 ? check_code(memory, f) : r;
}
