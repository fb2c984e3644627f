/*
 * A MethodDesc lies in a chunk of those of one type, and its token is put together from parts in
 * both. The type leads to its module, and that to the assembly's image in memory, whose metadata
 * has the name. Reading it there and not from the file serves assemblies that are in one file with
 * the program, or that were loaded from a stream, too.
 *
 * Generic code has the names of its type parameters, whatever the arguments are, as the code is
 * shared by many. Methods without metadata, those that were made by DynamicMethod and the
 * runtime's own glue ("IL_STUB_PInvoke"), are called "dynamicClass.NAME", as by the runtime's
 * events, hence in PerfView and in dotnet-trace. Those of a whole assembly that was emitted at run
 * time have metadata in a form of the runtime's own, which is not read.
 *
 * The memory may be freed and be something else while it is read. That a type is one is proven: its
 * class refers back to it.
 *
 * Sources: vm/method.hpp, vm/methodtable.h and vm/ceeload.h of dotnet/runtime.
 */
#include "node-agent/interpreter/dotnet/dotnet_method.h"

#include <errno.h>

#include "common/text/utf8.h"
#include "node-agent/dotnet/dotnet_metadata.h"
#include "node-agent/dotnet/dotnet_names.h"
#include "node-agent/dotnet/pe_image.h"
#include "node-agent/interpreter/dotnet/dotnet_line.h"

#define TOKEN_BITS 24
#define UNIT_BYTES 8u /* of MethodDesc.ChunkIndex */

#define METHOD_KIND 7u /* in the flags */
#define METHOD_DYNAMIC 7u

#define TABLE_IS_CANONICAL 1ULL /* the class is that of another table, whose address this is */

#define NAME_BYTES 256u
#define NAME_CHUNK 64u
#define IMAGE_BYTES UINT32_MAX /* no assembly is larger */

#define EMITTED "[dynamic assembly]"
#define DYNAMIC_CLASS "dynamicClass."

/* ---- from a MethodDesc to its module ---- */

static int read_u16(const struct dotnet_reader *k, uint64_t object, enum dotnet_field field,
		    uint16_t *ret)
{
	return interpreter_read(k->memory, object + k->layout->at[field], ret, sizeof(*ret));
}

struct method {
	uint32_t kind;
	uint32_t row;   /* of MethodDef; 0: none */
	uint64_t table; /* its type */
};

static int read_method(const struct dotnet_reader *k, uint64_t at, struct method *ret)
{
	uint16_t low, high, flags;
	uint64_t chunk;
	uint8_t index;
	int r = read_u16(k, at, DOTNET_METHOD_TOKEN, &low);

	if (r == 0)
		r = read_u16(k, at, DOTNET_METHOD_FLAGS, &flags);
	if (r == 0)
		r = interpreter_read(k->memory, at + k->layout->at[DOTNET_METHOD_INDEX], &index,
				     sizeof(index));
	if (r < 0)
		return r;
	chunk = at - (uint64_t)index * UNIT_BYTES - k->layout->at[DOTNET_CHUNK_BYTES];
	r = read_u16(k, chunk, DOTNET_CHUNK_TOKEN, &high);
	if (r == 0)
		r = dotnet_read_field(k, chunk, DOTNET_CHUNK_TABLE, &ret->table);
	if (r < 0)
		return r;
	ret->kind = flags & METHOD_KIND;
	ret->row = (low & ((1U << k->layout->token_bits) - 1)) |
		   (high & ((1U << (TOKEN_BITS - k->layout->token_bits)) - 1))
			   << k->layout->token_bits;
	return 0;
}

/* Whether a type is one: -EBADMSG if its class, or that of its generic one, is another type's. */
static int check_table(const struct dotnet_reader *k, uint64_t table)
{
	uint64_t class, owner, canonical = table;
	int r = dotnet_read_field(k, table, DOTNET_TABLE_CLASS, &class);

	if (r == 0 && class & TABLE_IS_CANONICAL) {
		canonical = class & ~TABLE_IS_CANONICAL;
		r = dotnet_read_field(k, canonical, DOTNET_TABLE_CLASS, &class);
	}
	if (r == 0)
		r = dotnet_read_field(k, class, DOTNET_CLASS_TABLE, &owner);
	return r < 0 ? r : owner == canonical ? 0 : -EBADMSG;
}

/* ---- names ---- */

/* NUL-terminated, cut. What lies behind it may be no memory, so it is read piece by piece. */
static int read_text(const struct dotnet_reader *k, uint64_t at, char to[NAME_BYTES])
{
	size_t n = 0;

	while (n < NAME_BYTES - 1) {
		size_t len = NAME_CHUNK - (at + n) % NAME_CHUNK;
		int r;

		if (len > NAME_BYTES - 1 - n)
			len = NAME_BYTES - 1 - n;
		r = interpreter_read(k->memory, at + n, to + n, len);
		if (r < 0)
			return r;
		if (memchr(to + n, '\0', len))
			return 0;
		n += len;
	}
	to[n] = '\0';
	return 0;
}

static int name_dynamic(const struct dotnet_reader *k, uint64_t method,
			struct interpreter_name *ret)
{
	char name[NAME_BYTES];
	uint64_t at;
	int r = dotnet_read_field(k, method, DOTNET_METHOD_NAME, &at);

	if (r == 0 && at == 0)
		r = -EBADMSG;
	if (r == 0)
		r = read_text(k, at, name);
	if (r < 0)
		return r;
	name[utf8_make_printable(name, strlen(name))] = '\0';
	snprintf(ret->function, sizeof(ret->function), DYNAMIC_CLASS "%s", name);
	return 0;
}

struct image {
	const struct interpreter_memory *memory;
	uint64_t base;
};

static int read_image(void *ctx, uint64_t offset, void *to, size_t len)
{
	const struct image *i = ctx;

	return interpreter_read(i->memory, i->base + offset, to, len);
}

/* As it was mapped, by sections, or as its file is: what its metadata begins with decides. */
static int open_metadata(const struct byte_source *src, struct pe_image *pe,
			 struct dotnet_metadata *ret)
{
	static const enum pe_layout layouts[] = {PE_LAYOUT_MAPPED, PE_LAYOUT_FILE};
	int r = -EBADMSG;

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		r = pe_image_parse(pe, src, layouts[i]);
		if (r == 0)
			r = dotnet_metadata_open(ret, pe, src);
		if (r == 0)
			break;
	}
	return r == -ENOEXEC || r == -ENOENT || r == -ENODATA ? -EBADMSG : r;
}

/* As the symbolizer calls the file of code that was compiled before: methods are compiled again. */
static void set_file(const struct dotnet_metadata *metadata, const struct byte_source *src,
		     struct interpreter_name *ret)
{
	char name[NAME_BYTES];

	if (dotnet_assembly_name(metadata, src, name, sizeof(name)) >= 0)
		snprintf(ret->file, sizeof(ret->file), "[%s.dll]", name);
}

static int name_by_metadata(const struct dotnet_reader *k, const struct dotnet_place *place,
			    struct interpreter_name *ret)
{
	UNINITIALIZED struct dotnet_metadata metadata;
	struct image image = {k->memory, place->base};
	struct byte_source src;
	struct pe_image pe;
	int r;

	byte_source_from_reader(&src, read_image, &image, IMAGE_BYTES);
	r = open_metadata(&src, &pe, &metadata);
	if (r == 0)
		r = dotnet_method_name(&metadata, &src, place->row, ret->function,
				       sizeof(ret->function));
	if (r == 0)
		set_file(&metadata, &src, ret);
	if (r == 0)
		dotnet_line_add(k, place, &pe, &src, ret);
	return r == -ENOENT || r == -ENODATA ? -EBADMSG : r;
}

/* Where the assembly of a type is in memory; 0: nowhere, it was emitted. */
static int find_base(const struct dotnet_reader *k, uint64_t table, uint64_t *ret)
{
	uint64_t module;
	int r = dotnet_read_field(k, table, DOTNET_TABLE_MODULE, &module);

	if (r == 0)
		r = dotnet_read_field(k, module, DOTNET_MODULE_BASE, ret);
	for (size_t i = 0; r == 0 && *ret != 0 && i < DOTNET_IMAGE_STEPS; i++) {
		if (k->layout->image[i] != 0)
			r = dotnet_read_word(k, *ret + k->layout->image[i], ret);
	}
	return r;
}

int dotnet_method_read(const struct dotnet_reader *k, const struct dotnet_code *code, uint64_t at,
		       struct interpreter_name *ret)
{
	struct dotnet_place place = {code, at, 0, 0};
	struct method m;
	int r = read_method(k, code->method, &m);

	if (r == 0)
		r = check_table(k, m.table);
	if (r == 0 && m.kind == METHOD_DYNAMIC)
		return name_dynamic(k, code->method, ret);
	if (r == 0)
		r = find_base(k, m.table, &place.base);
	if (r < 0)
		return r;
	place.row = m.row;
	if (place.base != 0)
		return place.row == 0 ? -EBADMSG : name_by_metadata(k, &place, ret);
	snprintf(ret->function, sizeof(ret->function), EMITTED);
	return 0;
}
