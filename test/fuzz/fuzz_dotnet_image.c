/*
 * Any bytes as an assembly of .NET, as a file and as it lies in memory: names are printable,
 * what is found lies within limits, and the unwind table is one.
 */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/dotnet/dotnet_names.h"
#include "node-agent/dotnet/pe_debug.h"
#include "node-agent/dotnet/ready_to_run.h"
#include "node-agent/unwind/cfi/cfi_dotnet.h"

#define NAMES_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(int r, const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(r < 0 || (len < cap && utf8_is_valid(text, len)));
}

static void read_names(const struct dotnet_metadata *md, const struct byte_source *src, size_t cap)
{
	char text[DOTNET_NAME_BYTES];

	for (uint32_t i = 0; i < NAMES_MAX; i++) {
		check_text(dotnet_method_name(md, src, i, text, cap), text, cap);
		check_text(dotnet_type_name(md, src, i, text, cap), text, cap);
		check_text(dotnet_member_name(md, src, i, text, cap), text, cap);
	}
	check_text(dotnet_assembly_name(md, src, text, cap), text, cap);
}

static void read_code(const struct pe_image *pe, const struct dotnet_metadata *md,
		      const struct byte_source *src)
{
	CLEANUP(ready_to_run_methods_freep) struct ready_to_run_methods *methods = NULL;
	char text[DOTNET_NAME_BYTES];
	struct ready_to_run code;

	if (ready_to_run_open(&code, pe, src) < 0)
		return;
	if (ready_to_run_methods_new(&methods, &code, pe, md, src, 65536) < 0)
		return;
	assert(ready_to_run_methods_bytes(methods) <= 65536);
	for (uint32_t i = 0; i < NAMES_MAX && i < code.n_functions; i++) {
		struct ready_to_run_function f, found;
		uint32_t method, first, il_offset;

		if (ready_to_run_function(&code, pe, src, i, &f) < 0)
			continue;
		if (ready_to_run_find(&code, pe, src, f.start, &found) == 0)
			assert(f.start >= found.start && f.start < found.end);
		(void)!ready_to_run_il_offset(&code, pe, src, i, 10, &il_offset);
		if (ready_to_run_methods_find(methods, i, &method, &first) == 0)
			check_text(
				ready_to_run_method_name(method, pe, md, src, text, sizeof(text)),
				text, sizeof(text));
	}
}

static void read_debug(const struct pe_image *pe, const struct byte_source *src)
{
	struct pe_debug d;

	if (pe_debug_read(&d, pe, src) == 0)
		assert(strnlen(d.name, sizeof(d.name)) < sizeof(d.name) && !strchr(d.name, '/'));
}

static int check_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	(void)ctx;
	(void)page;
	assert(n > 0 && n <= UNWIND_BLOCK_ROWS && rows[0].address == 0);
	for (uint32_t i = 1; i < n; i++)
		assert(rows[i].address > rows[i - 1].address);
	return 0;
}

static void make_table(const struct byte_source *src)
{
	static struct elf_layout layout;
	struct cfi_table table;
	struct pe_image pe;
	const struct cfi_input in = {.layout = &layout, .src = src, .pe = &pe};

	if (cfi_dotnet_open(&pe, &layout, src) < 0 ||
	    cfi_table_build(&table, &in, check_page, NULL) < 0)
		return;
	assert(table.n_rules >= 1 && table.n_rules <= UNWIND_TABLE_RULES);
	cfi_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;

	byte_source_from_memory(&src, data, size);
	make_table(&src);
	for (int layout = PE_LAYOUT_FILE; layout <= PE_LAYOUT_MAPPED; layout++) {
		struct dotnet_metadata md;
		struct pe_image pe;

		if (pe_image_parse(&pe, &src, (enum pe_layout)layout) < 0 ||
		    dotnet_metadata_open(&md, &pe, &src) < 0)
			continue;
		read_debug(&pe, &src);
		read_names(&md, &src, DOTNET_NAME_BYTES);
		read_names(&md, &src, 8);
		read_code(&pe, &md, &src);
	}
	return 0;
}
