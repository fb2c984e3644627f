/*
 * Symbols overlap: labels lie within functions, functions have several names. So the places where
 * any begins or ends divide the code into ranges, each of which is asked about as an address is,
 * and neighbours with one name become one function again.
 */
#include "common/symbols/symbol_export.h"

#include <errno.h>

#include "common/elf/eh_function.h"
#include "common/elf/elf_debug_data.h"
#include "common/elf/elf_layout.h"
#include "common/elf/elf_symbols.h"
#include "common/symbols/demangle.h"
#include "common/symbols/symbol_file_writer.h"

/* As many entries as elf_symbols.c reads, of 12 bytes. */
#define TABLE_MAX_BYTES ((size_t)256 << 20)
/* Of what .gnu_debugdata has, decompressed. */
#define MINI_MAX_BYTES ((size_t)64 << 20)

struct exporter {
	const struct byte_source *src; /* has the symbols */
	struct elf_layout *layout;     /* of the addresses of code, and of the symbols in src */
	struct elf_layout *file;       /* with the bytes of the file … */
	const struct byte_source *file_src; /* … which are here */
	struct elf_symbol_table *table;
	struct symbol_file_writer *writer;
	uint64_t *borders;
	struct buf mini; /* what .gnu_debugdata has, decompressed */
	struct byte_source mini_src;
	/* the function that the ranges so far are of; name "": none */
	uint64_t start, end;
	char raw[DEMANGLE_INPUT_MAX_BYTES + 1];
	char name[DEMANGLE_INPUT_MAX_BYTES + 1];
	char shown[LIMIT_SYMBOL_NAME_BYTES + 1];
};

static void exporter_fini(struct exporter *e)
{
	free(e->layout);
	free(e->file);
	elf_symbol_table_free(e->table);
	symbol_file_writer_free(e->writer);
	free(e->borders);
	buf_fini(&e->mini);
}

/*
 * Takes the symbols from .gnu_debugdata, which Fedora and its relatives put into stripped files.
 * Returns 0, -ENODATA if there are none, or -ENOMEM.
 */
static int open_mini(struct exporter *e)
{
	AUTO_FREE struct elf_layout *l = malloc(sizeof(*l));
	int r = l ? elf_debug_data_read(e->file, e->src, &e->mini) : -ENOMEM;

	if (r < 0)
		return r == -ENOMEM ? r : -ENODATA;
	byte_source_from_memory(&e->mini_src, e->mini.data, e->mini.len);
	r = elf_layout_parse_debug(l, &e->mini_src);
	if (r < 0 || l->sections[ELF_SECTION_SYMTAB].size_bytes == 0)
		return r == -ENOMEM ? r : -ENODATA;
	memcpy(&e->layout->sections[ELF_SECTION_SYMTAB], &l->sections[ELF_SECTION_SYMTAB],
	       2 * sizeof(l->sections[0]));
	e->src = &e->mini_src;
	return 0;
}

static int open_file(struct exporter *e, struct err *err)
{
	int r;

	e->layout = calloc(1, sizeof(*e->layout));
	e->file = calloc(1, sizeof(*e->file));
	if (!e->layout || !e->file)
		return -ENOMEM;
	r = elf_layout_parse_code(e->layout, e->src);
	if (r == -ENOEXEC)
		return err_set(err, r, "not a 64-bit little-endian program or library");
	if (r == -EBADMSG || r == -ENODATA)
		return err_set(err, -EBADMSG, "damaged or incomplete");
	if (r < 0)
		return r;
	if (e->layout->gnu_build_id_bytes == 0)
		return err_set(err, -ENODATA, "it has no build id (ld --build-id makes one)");
	if (elf_layout_parse(e->file, e->src) < 0)
		memset(e->file, 0, sizeof(*e->file));
	if (e->layout->sections[ELF_SECTION_SYMTAB].size_bytes > 0)
		return 0;
	r = open_mini(e);
	return r == -ENODATA ? err_set(err, r,
				       "it is stripped: its symbols are in the file before it was "
				       "stripped, or in a separate debug file")
			     : r;
}

/* Takes the bytes of code from the program, if it is of the same build. */
static void open_program(struct exporter *e, const struct byte_source *program)
{
	struct elf_layout *l = calloc(1, sizeof(*l));
	const struct elf_layout *own = e->layout;

	if (!l)
		return;
	if (e->file->n_texts == 0 && elf_layout_parse(l, program) == 0 &&
	    l->gnu_build_id_bytes == own->gnu_build_id_bytes &&
	    memcmp(l->gnu_build_id, own->gnu_build_id, own->gnu_build_id_bytes) == 0) {
		*e->file = *l;
		e->file_src = program;
	}
	free(l);
}

static int read_table(struct exporter *e, struct err *err)
{
	const struct elf_layout *l = e->layout;
	int r;

	if (l->text_end <= l->text_start)
		return err_set(err, -ENODATA, "it has no code");
	r = elf_symbol_table_new(&e->table, l, e->src, l->text_start, TABLE_MAX_BYTES);
	if (r == -EFBIG || (r == 0 && !elf_symbol_table_covers(e->table, l->text_end - 1)))
		return err_set(err, -EFBIG, "it has too many symbols");
	if (r == -ENODATA)
		return err_set(err, -EBADMSG, "damaged or incomplete");
	return r;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int list_borders(struct exporter *e, size_t *ret_n)
{
	size_t n = elf_symbol_table_count(e->table), n_distinct = 0;

	e->borders = calloc(2 * n + 1, sizeof(*e->borders));
	if (!e->borders)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		elf_symbol_table_range(e->table, i, &e->borders[2 * i], &e->borders[2 * i + 1]);
	qsort(e->borders, 2 * n, sizeof(*e->borders), compare);
	for (size_t i = 0; i < 2 * n; i++)
		if (n_distinct == 0 || e->borders[i] != e->borders[n_distinct - 1])
			e->borders[n_distinct++] = e->borders[i];
	*ret_n = n_distinct;
	return 0;
}

static int end_function(struct exporter *e)
{
	if (!e->name[0])
		return 0;
	demangle(e->name, e->shown, sizeof(e->shown));
	e->name[0] = '\0';
	return e->shown[0] ? symbol_file_writer_add(e->writer, e->start, e->end, e->shown, NULL)
			   : 0;
}

/*
 * How far from `from` on a symbol without a size has the code, which is up to `end` at most:
 * exception tables may know a function that begins or ends in between.
 */
static uint64_t guessed_end(const struct exporter *e, uint64_t symbol, uint64_t from, uint64_t end)
{
	uint64_t function, function_end;

	while (end > from &&
	       eh_function_before(e->file, e->file_src, end - 1, &function, &function_end) == 0) {
		if (function > from)
			end = function;
		else if (function > symbol || (symbol < function_end && function_end <= from))
			return from;
		else
			return symbol < function_end && function_end < end ? function_end : end;
	}
	return end;
}

/* Adds the code at [from, end), which one symbol has, or none. */
static int add_range(struct exporter *e, uint64_t from, uint64_t end)
{
	uint64_t symbol;
	int r = elf_symbol_table_find(e->table, e->layout, e->src, from, e->raw, sizeof(e->raw));

	if (r == 0 && elf_symbol_table_guesses(e->table, from, &symbol))
		end = guessed_end(e, symbol, from, end);
	if (r == -ENOENT || (r == 0 && end == from))
		return end_function(e);
	if (r < 0)
		return r;
	if (e->name[0] && e->end == from && strcmp(e->name, e->raw) == 0) {
		e->end = end;
		return 0;
	}
	r = end_function(e);
	if (r < 0)
		return r;
	memcpy(e->name, e->raw, sizeof(e->name));
	e->start = from;
	e->end = end;
	return 0;
}

static void add_segments(struct exporter *e)
{
	/* those of a debug file lie somewhere else in the program */
	if (e->file->n_texts == 0)
		return;
	for (uint32_t i = 0; i < e->file->n_segments; i++) {
		const struct elf_segment *g = &e->file->segments[i];
		const struct symbol_file_segment s = {g->vaddr, g->offset, g->file_bytes};

		if (g->executable)
			symbol_file_writer_add_segment(e->writer, &s);
	}
}

static int add_functions(struct exporter *e)
{
	size_t n = 0;
	int r = list_borders(e, &n);

	for (size_t i = 0; r == 0 && i + 1 < n; i++)
		r = add_range(e, e->borders[i], e->borders[i + 1]);
	return r == 0 ? end_function(e) : r;
}

int symbol_export(const struct byte_source *src, struct buf *out, struct symbol_export *ret,
		  struct err *err)
{
	return symbol_export_with(src, NULL, out, ret, err);
}

int symbol_export_with(const struct byte_source *src, const struct byte_source *program,
		       struct buf *out, struct symbol_export *ret, struct err *err)
{
	CLEANUP(exporter_fini) struct exporter e = {.src = src, .file_src = src};
	int r;

	buf_init(&e.mini, MINI_MAX_BYTES);
	r = open_file(&e, err);
	if (r == 0 && program)
		open_program(&e, program);
	if (r == 0)
		r = read_table(&e, err);
	if (r == 0)
		r = symbol_file_writer_new(&e.writer, e.layout->text_start, e.layout->gnu_build_id,
					   e.layout->gnu_build_id_bytes);
	if (r < 0)
		return r;
	add_segments(&e);
	r = add_functions(&e);
	ret->n_functions = symbol_file_writer_count(e.writer);
	if (r == 0 && ret->n_functions == 0)
		return err_set(err, -ENODATA, "it has no functions with names");
	if (r == 0)
		r = symbol_file_writer_finish(e.writer, out);
	if (r == -EFBIG)
		return err_set(err, r, "its symbols are more than %llu MiB",
			       (unsigned long long)(SYMBOL_FILE_MAX_BYTES / MIB));
	elf_layout_build_id_text(e.layout, ret->build_id);
	return r;
}
