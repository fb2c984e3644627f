/*
 * A file has .NET's runtime if it exports g_dacTable, a table of the runtime's variables for
 * debuggers, which is set when the runtime starts. Its first entry is the map of code. From .NET 9
 * on there is a description of the runtime's structures beside it (dotnet_descriptor.h), which has
 * all that is needed from .NET 10 on; .NET 9's lacks the structures of code, which are known here,
 * and .NET 8 has none. A program that is one file exports the description from .NET 10 on. Older
 * releases are refused: there, ranges of code are a list, and generic types do not say which
 * assembly they come from where this looks for it.
 *
 * Frames of .NET are native ones with frame pointers. So there is nothing to walk: the walk sends
 * each address in code that was generated, with a check word of that code (CHAIN_BY_ADDRESS).
 */
#include "node-agent/interpreter/dotnet/dotnet_interpreter.h"

#include <elf.h>
#include <errno.h>
#include <linux/types.h>

#include "node-agent/dotnet/debug_bounds.h"
#include "node-agent/interpreter/dotnet/dotnet_descriptor.h"
#include "node-agent/interpreter/dotnet/dotnet_frame.h"
#include "node-agent/interpreter/interpreter_symbols.h"

#define RELEASE_MARK "@(#)Version "
#define RELEASE_MARK_BYTES (sizeof(RELEASE_MARK) - 1)
#define RELEASE_MAX (RELEASE_MARK_BYTES + 4)
#define DATA_MAX (16u << 20) /* of variables; 150 KB in libcoreclr.so */
#define CHUNK_BYTES 65536u
#define SAYS_NO_DEBUG_INFO 10u /* this release, of all that it describes */

enum symbol { SYMBOL_VARIABLES, SYMBOL_DESCRIPTOR, SYMBOLS };

static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_VARIABLES] = "g_dacTable",
	[SYMBOL_DESCRIPTOR] = "DotNetRuntimeContractDescriptor",
};

/* vm/codeman.h, vm/method.hpp, vm/methodtable.h and vm/ceeload.h. */
#define CODE_ON_X86_64                                                                           \
	[DOTNET_FRAGMENT_NEXT] = 0, [DOTNET_FRAGMENT_BEGIN] = 8, [DOTNET_FRAGMENT_END] = 16,     \
	[DOTNET_FRAGMENT_SECTION] = 24, [DOTNET_SECTION_FLAGS] = 16, [DOTNET_SECTION_HEAP] = 40, \
	[DOTNET_HEAP_BASE] = 32, [DOTNET_HEAP_MAP] = 40, [DOTNET_CODE_METHOD] = 24,              \
	[DOTNET_CODE_N_FUNCTIONS] = 32, [DOTNET_CODE_FUNCTIONS] = 36, [DOTNET_CODE_DEBUG] = 0,   \
	[DOTNET_METHOD_TOKEN] = 0, [DOTNET_METHOD_INDEX] = 2, [DOTNET_METHOD_FLAGS] = 6,         \
	[DOTNET_CHUNK_TABLE] = 0, [DOTNET_CHUNK_TOKEN] = 18, [DOTNET_CHUNK_BYTES] = 24,          \
	[DOTNET_TABLE_MODULE] = 24, [DOTNET_TABLE_CLASS] = 40, [DOTNET_CLASS_TABLE] = 16

/* What releases do not describe themselves: of .NET 9.0.1 on x86-64, and of 8.0.34. */
static const struct {
	unsigned release;
	struct dotnet_layout layout;
} by_release[] = {
	{8,
	 {.token_bits = 12,
	  .method_map = DOTNET_MAP_BACKWARD,
	  .debug_form = DEBUG_BOUNDS_NIBBLES,
	  .debug_flags = true,
	  .at = {CODE_ON_X86_64, [DOTNET_METHOD_NAME] = 24, [DOTNET_MODULE_BASE] = 272},
	  .image = {8, 120, 8}}}, /* PEAssembly, PEImage, PEImageLayout */
	{9,
	 {.token_bits = 12,
	  .method_map = DOTNET_MAP_BACKWARD,
	  .debug_form = DEBUG_BOUNDS_NIBBLES,
	  .debug_flags = true,
	  .at = {CODE_ON_X86_64, [DOTNET_METHOD_NAME] = 32, [DOTNET_MODULE_BASE] = 288}}},
};

/* ---- files ---- */

/* "@(#)Version 9.0.124.61010 …" is a variable. Returns 9; 0: it is not in the chunk. */
static unsigned release_in(const char *chunk, size_t len)
{
	const char *at = memmem(chunk, len, RELEASE_MARK, RELEASE_MARK_BYTES);
	const char *end = chunk + len;
	unsigned number = 0;

	if (!at)
		return 0;
	for (at += RELEASE_MARK_BYTES; at < end && *at >= '0' && *at <= '9' && number < 100; at++)
		number = number * 10 + (unsigned)(*at - '0');
	return at < end && *at == '.' ? number : 0;
}

/* Chunks overlap by as much as is looked for. */
static int find_release_in(const struct elf_segment *s, const struct byte_source *src, char *chunk,
			   unsigned *ret)
{
	uint64_t end = s->file_bytes < DATA_MAX ? s->file_bytes : DATA_MAX;

	for (uint64_t at = 0; at < end && *ret == 0; at += CHUNK_BYTES - RELEASE_MAX) {
		size_t len = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;
		int r = byte_source_read(src, s->offset + at, chunk, len);

		if (r < 0)
			return r;
		*ret = release_in(chunk, len);
	}
	return 0;
}

static int find_release(const struct elf_layout *layout, const struct byte_source *src,
			unsigned *ret)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
	int r = 0;

	*ret = 0;
	if (!chunk)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && *ret == 0 && i < layout->n_segments; i++) {
		if (layout->segments[i].writable)
			r = find_release_in(&layout->segments[i], src, chunk, ret);
	}
	return r;
}

/* Releases that are not in the table describe themselves. */
static int set_layout(unsigned release, uint16_t machine, bool has_descriptor,
		      struct dotnet_layout *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_release); i++) {
		if (by_release[i].release != release)
			continue;
		*ret = by_release[i].layout;
		return machine == EM_X86_64 ? 0 : -ENOTSUP;
	}
	memset(ret->at, 0xff, sizeof(ret->at));
	if (release == SAYS_NO_DEBUG_INFO) {
		ret->at[DOTNET_CODE_DEBUG] = 0;
		ret->debug_form = DEBUG_BOUNDS_PACKED;
		ret->debug_flags = true;
	}
	return has_descriptor && release > by_release[0].release ? 0 : -ENOTSUP;
}

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	uint64_t symbols[SYMBOLS];
	unsigned release = 0;
	int r = interpreter_symbols_find(layout, src, symbol_names, symbols, SYMBOLS);

	if (r < 0)
		return r;
	if (symbols[SYMBOL_VARIABLES] == 0)
		return -ENOENT;
	r = find_release(layout, src, &release);
	if (r < 0)
		return r;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_DOTNET,
		.flags = CHAIN_ANONYMOUS_IS_LOOP | CHAIN_BY_ADDRESS,
	};
	r = set_layout(release, layout->machine, symbols[SYMBOL_DESCRIPTOR] != 0, &ret->dotnet);
	ret->dotnet.variables = symbols[SYMBOL_VARIABLES];
	ret->dotnet.descriptor = symbols[SYMBOL_DESCRIPTOR];
	return r;
}

/* ---- a process ---- */

struct descriptor {
	char magic[8];
	uint32_t flags;
	uint32_t text_bytes;
	uint64_t text;
	uint32_t n_pointers;
	uint32_t pad;
	uint64_t pointers;
};

#define DESCRIPTOR_MAGIC "DNCCDAC" /* and a NUL */

static int read_variable(const struct descriptor *d, int number,
			 const struct interpreter_memory *memory, uint64_t *ret)
{
	if (number < 0 || (uint32_t)number >= d->n_pointers)
		return -ENOTSUP;
	return interpreter_read(memory, d->pointers + (uint64_t)number * sizeof(*ret), ret,
				sizeof(*ret));
}

/* Sets *code_map to the address of the map, if the description says it. */
static int read_description(struct dotnet_layout *l, uint64_t bias,
			    const struct interpreter_memory *memory, uint64_t *code_map)
{
	AUTO_FREE char *text = NULL;
	struct dotnet_description said;
	struct descriptor d;
	int r = interpreter_read(memory, bias + l->descriptor, &d, sizeof(d));

	if (r < 0)
		return r;
	if (memcmp(d.magic, DESCRIPTOR_MAGIC, sizeof(d.magic)) != 0 ||
	    d.text_bytes > DOTNET_DESCRIPTION_BYTES)
		return -ENOTSUP;
	if (d.text < bias || (d.n_pointers > 0 && d.pointers < bias)) /* not relocated yet */
		return -EAGAIN;
	text = malloc(d.text_bytes + 1);
	if (!text)
		return -ENOMEM;
	r = interpreter_read(memory, d.text, text, d.text_bytes);
	if (r == 0)
		r = dotnet_description_parse(l, text, d.text_bytes, &said);
	if (r == 0 && said.code_map_variable >= 0)
		r = read_variable(&d, said.code_map_variable, memory, code_map);
	return r == -EBADMSG ? -ENOTSUP : r;
}

/* Names can do without; lines need the last one. */
static bool is_optional(size_t field)
{
	return field == DOTNET_CODE_N_FUNCTIONS || field == DOTNET_CODE_FUNCTIONS ||
	       field == DOTNET_CODE_DEBUG;
}

static bool is_known(const struct dotnet_layout *l)
{
	for (size_t i = 0; i < DOTNET_FIELDS; i++) {
		if (l->at[i] == DOTNET_UNKNOWN && !is_optional(i))
			return false;
	}
	return l->token_bits > 0;
}

/* On failure *image is as it was. */
static int complete(struct interpreter_image *image, uint64_t bias,
		    const struct interpreter_memory *memory)
{
	struct dotnet_layout l = image->dotnet;
	uint64_t code_map = 0;
	int r = 0;

	if (l.complete)
		return 0;
	if (l.descriptor != 0)
		r = read_description(&l, bias, memory, &code_map);
	if (r == 0 && code_map == 0)
		r = interpreter_read(memory, bias + l.variables, &code_map, sizeof(code_map));
	if (r < 0)
		return r;
	if (code_map == 0) /* the runtime has not started yet */
		return -EAGAIN;
	if (!is_known(&l) || code_map < bias)
		return -ENOTSUP;
	l.code_map = code_map - bias;
	l.complete = true;
	image->dotnet = l;
	return 0;
}

/* Whether the walk can find the frames of methods: it reads a fragment as four words. */
static bool describes_frames(const struct dotnet_layout *l)
{
	return l->at[DOTNET_FRAGMENT_NEXT] == 0 && l->at[DOTNET_FRAGMENT_BEGIN] == 8 &&
	       l->at[DOTNET_FRAGMENT_END] == 16 && l->at[DOTNET_FRAGMENT_SECTION] == 24 &&
	       l->at[DOTNET_CODE_N_FUNCTIONS] != DOTNET_UNKNOWN &&
	       l->at[DOTNET_CODE_FUNCTIONS] != DOTNET_UNKNOWN;
}

static void add_layout(const struct interpreter_image *image, uint64_t bias,
		       struct chain_layout *ret)
{
	const struct dotnet_layout *l = &image->dotnet;

	ret->loop = 0; /* there is none in the file */
	if (!describes_frames(l))
		return;
	ret->dotnet = (struct chain_dotnet){
		.code_map = bias + l->code_map,
		.section_flags = l->at[DOTNET_SECTION_FLAGS],
		.section_heap = l->at[DOTNET_SECTION_HEAP],
		.heap_base = l->at[DOTNET_HEAP_BASE],
		.heap_map = l->at[DOTNET_HEAP_MAP],
		.n_functions = l->at[DOTNET_CODE_N_FUNCTIONS],
		.functions = l->at[DOTNET_CODE_FUNCTIONS],
		.direct = l->method_map == DOTNET_MAP_DIRECT,
	};
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	if (!image->dotnet.complete)
		return -EAGAIN;
	return dotnet_frame_name(&image->dotnet, bias, memory, f, ret);
}

const struct interpreter_ops dotnet_interpreter_ops = {
	.name = "dotnet",
	.mark = "g_dacTable",
	.recognise = recognise,
	.complete = complete,
	.add_layout = add_layout,
	.name_frame = name_frame,
};
