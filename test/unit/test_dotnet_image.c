/* Methods of .NET by name, through the symbolizer, of a file that test/lib/r2r_image.h builds. */
#include "node-agent/symbol/dotnet_image.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "node-agent/symbol/symbol_metrics.h"
#include "node-agent/symbol/symbolizer.h"
#include "test/lib/r2r_image.h"
#include "test/lib/unit.h"

#define FILE_MAX_BYTES 16384u
#define BASE UINT64_C(0x7f0000000000)

static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x5d, 0xc3};
static const struct r2r_function functions[] = {
	{.code = framed, .code_bytes = sizeof(framed), .method = 8},
	{.code = framed, .code_bytes = sizeof(framed), .method = 2},
};

static void build(struct r2r_image *m)
{
	static uint8_t bytes[FILE_MAX_BYTES];
	FILE *f = fopen("test/data/dotnet/names.dll", "re");
	struct byte_source src;
	struct pe_image pe;
	uint64_t offset;

	assert_non_null(f);
	byte_source_from_memory(&src, bytes, fread(bytes, 1, sizeof(bytes), f));
	(void)fclose(f);
	assert_int_equal(pe_image_parse(&pe, &src, PE_LAYOUT_FILE), 0);
	assert_int_equal(pe_image_offset(&pe, pe.metadata.rva, pe.metadata.size_bytes, &offset), 0);
	r2r_image_build(m, functions, ARRAY_SIZE(functions), bytes + offset, pe.metadata.size_bytes,
			24);
}

/* As the runtime maps the section with code: the pages that it is in. */
static struct symbol_mapping map(const struct r2r_image *m)
{
	struct symbol_mapping mapping = {
		.path = "/opt/shop/Shop.dll", .start = BASE + R2R_RVA - R2R_OFFSET, .id.ino = 7};

	mapping.fd = memfd_create("Shop.dll", MFD_CLOEXEC);
	assert_int_equal(write(mapping.fd, m->bytes, m->len), m->len);
	mapping.id.size_bytes = m->len;
	return mapping;
}

static const struct symbol_frame *resolve(struct symbolizer *s, const struct symbol_mapping *m,
					  uint32_t rva, enum symbol_address_kind kind)
{
	const struct symbol_location *l = symbolizer_resolve_user(s, m, BASE + rva, kind);

	assert_int_equal(l->n, 1);
	return l->frames;
}

TEST(compiled_methods_have_names_and_their_file)
{
	CLEANUP(symbolizer_freep) struct symbolizer *s = NULL;
	static struct r2r_image m;
	struct symbol_mapping mapping;
	const struct symbol_frame *f;
	uint64_t unnamed = metric_get(&symbol_metrics[SYMBOL_METRIC_NO_SYMBOL]);

	build(&m);
	mapping = map(&m);
	assert_int_equal(symbolizer_new(&s, &(struct symbolizer_config){.proc_root = NULL}), 0);
	f = resolve(s, &mapping, m.starts[0], SYMBOL_ADDRESS_EXACT);
	assert_string_equal(f->function, "Shop.Basket<TItem>.Entry.Total");
	assert_string_equal(f->file, "[Shop.dll]");
	/* a call may be the last instruction of a method */
	f = resolve(s, &mapping, m.ends[0], SYMBOL_ADDRESS_RETURN);
	assert_string_equal(f->function, "Shop.Basket<TItem>.Entry.Total");
	f = resolve(s, &mapping, m.starts[1] + 4, SYMBOL_ADDRESS_EXACT);
	assert_string_equal(f->function, "Shop.Basket<TItem>.Load");
	assert_int_equal(metric_get(&symbol_metrics[SYMBOL_METRIC_NO_SYMBOL]), unnamed);
	f = resolve(s, &mapping, m.ends[0], SYMBOL_ADDRESS_EXACT);
	assert_true(strncmp(f->function, "Shop.dll+0x", 11) == 0);
	assert_int_equal(metric_get(&symbol_metrics[SYMBOL_METRIC_NO_SYMBOL]), unnamed + 1);
	closep(&mapping.fd);
}

TEST(code_of_composite_images_is_counted)
{
	CLEANUP(symbolizer_freep) struct symbolizer *s = NULL;
	static struct r2r_image m;
	struct symbol_mapping mapping;
	uint64_t n = metric_get(&symbol_metrics[SYMBOL_METRIC_NOT_SUPPORTED]);

	build(&m);
	r2r_put(&m, R2R_OFFSET + 72 + 8, READY_TO_RUN_COMPONENT, 4);
	mapping = map(&m);
	assert_int_equal(symbolizer_new(&s, &(struct symbolizer_config){.proc_root = NULL}), 0);
	assert_true(strncmp(resolve(s, &mapping, m.starts[0], SYMBOL_ADDRESS_EXACT)->function,
			    "Shop.dll+0x", 11) == 0);
	assert_int_equal(metric_get(&symbol_metrics[SYMBOL_METRIC_NOT_SUPPORTED]), n + 1);
	closep(&mapping.fd);
}
