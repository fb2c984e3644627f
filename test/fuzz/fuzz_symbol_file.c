/*
 * Any bytes as a table of symbols, and as an ELF file that becomes one. What opens answers every
 * address with a printable name or none; what is exported opens, and has what was counted.
 */
#include <assert.h>

#include "common/symbols/symbol_export.h"
#include "common/symbols/symbol_file.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct symbol_file *f, uint64_t vaddr)
{
	struct symbol_name name;

	if (symbol_file_find(f, vaddr, &name) < 0)
		return;
	assert(name.name[0] && strlen(name.name) <= LIMIT_SYMBOL_NAME_BYTES);
	assert(utf8_is_valid(name.name, strlen(name.name)) && !strchr(name.file, ' '));
}

static void read_table(const void *data, size_t size)
{
	const struct symbol_file_source src = {.data = data, .fd = -1, .n_bytes = size};
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	struct err err = {.msg = ""};
	uint64_t vaddr;

	if (symbol_file_open(&f, &src, &err) < 0)
		return;
	(void)!symbol_file_check(f, &err);
	for (uint64_t i = 0; i < 300; i++) {
		ask(f, symbol_file_header(f)->base + i * 7);
		if (symbol_file_address(f, i * 16, &vaddr) == 0)
			ask(f, vaddr);
	}
	ask(f, 0);
	ask(f, UINT64_MAX);
}

static void make_table(const uint8_t *data, size_t size)
{
	const struct symbol_file_source made = {.data = NULL};
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct symbol_file_source table = made;
	struct symbol_export ret;
	struct byte_source src;
	struct err err = {.msg = ""};

	buf_init(&out, 1 << 20);
	byte_source_from_memory(&src, data, size);
	/* as its own program, too, which changes nothing if it knows where its code is */
	if (symbol_export_with(&src, size % 2 ? &src : NULL, &out, &ret, &err) < 0)
		return;
	table.data = out.data;
	table.n_bytes = out.len;
	assert(symbol_file_open(&f, &table, &err) == 0);
	assert(symbol_file_check(f, &err) == 0);
	assert(symbol_file_header(f)->n_functions == ret.n_functions);
	read_table(out.data, out.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_table(data, size);
	make_table(data, size);
	return 0;
}
