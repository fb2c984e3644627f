#include "node-agent/symbol/table_cache.h"

#include "node-agent/symbol/symbol_metrics.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define TEXT 0x1000u
#define SYMBOLS 50u

static struct elf_symbol_table *make_table_of(unsigned n_symbols)
{
	struct elf_builder elf;
	struct elf_symbol_table *t;
	struct elf_layout layout;
	struct byte_source src;

	elf_builder_init(&elf, EM_X86_64);
	elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL,
			    0x1000);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, elf.sections[1].sh_offset, TEXT, 0x1000);
	for (unsigned i = 0; i < n_symbols; i++)
		elf_builder_symbol(&elf, "f", STB_GLOBAL, STT_FUNC, TEXT + i * 16, 16);
	elf_builder_symbol_table(&elf, SHT_SYMTAB);
	elf_builder_finish(&elf);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	assert_int_equal(elf_symbol_table_new(&t, &layout, &src, TEXT, 65536), 0);
	return t;
}

static struct elf_symbol_table *make_table(void)
{
	return make_table_of(SYMBOLS);
}

TEST(the_least_recently_used_goes_first)
{
	CLEANUP(table_cache_freep) struct table_cache *c = NULL;
	struct elf_symbol_table *t = make_table();
	size_t bytes = elf_symbol_table_bytes(t);
	uint64_t evicted = metric_get(&symbol_metrics[SYMBOL_METRIC_TABLES_EVICTED]);

	assert_int_equal(table_cache_new(&c, 3 * bytes), 0);
	table_cache_adopt(c, (struct table_key){1, 1}, t);
	table_cache_adopt(c, (struct table_key){2, 1}, make_table());
	table_cache_adopt(c, (struct table_key){3, 1}, make_table());
	assert_non_null(table_cache_get(c, (struct table_key){1, 1}, TEXT));
	table_cache_adopt(c, (struct table_key){4, 1}, make_table());
	assert_null(table_cache_get(c, (struct table_key){2, 1}, TEXT));
	assert_non_null(table_cache_get(c, (struct table_key){1, 1}, TEXT));
	assert_non_null(table_cache_get(c, (struct table_key){3, 1}, TEXT));
	assert_non_null(table_cache_get(c, (struct table_key){4, 1}, TEXT));
	assert_int_equal(table_cache_bytes(c), 3 * bytes);
	assert_int_equal(metric_get(&symbol_metrics[SYMBOL_METRIC_TABLES_EVICTED]), evicted + 1);
}

TEST(a_table_answers_for_its_key_and_its_addresses)
{
	CLEANUP(table_cache_freep) struct table_cache *c = NULL;

	assert_int_equal(table_cache_new(&c, 65536), 0);
	table_cache_adopt(c, (struct table_key){1, 1}, make_table());
	assert_null(table_cache_get(c, (struct table_key){1, 2}, TEXT));
	assert_null(table_cache_get(c, (struct table_key){1, 1}, 0x9000));
	assert_non_null(table_cache_get(c, (struct table_key){1, 1}, TEXT + 5));
}

TEST(the_number_of_tables_is_bounded)
{
	CLEANUP(table_cache_freep) struct table_cache *c = NULL;
	size_t n = 0;

	assert_int_equal(table_cache_new(&c, SIZE_MAX / 2), 0);
	for (uint64_t i = 0; i < TABLE_CACHE_TABLES_MAX + 10; i++)
		table_cache_adopt(c, (struct table_key){i, 0}, make_table());
	for (uint64_t i = 0; i < TABLE_CACHE_TABLES_MAX + 10; i++)
		n += table_cache_get(c, (struct table_key){i, 0}, TEXT) != NULL;
	assert_int_equal(n, TABLE_CACHE_TABLES_MAX);
}

TEST(shrinking_keeps_what_was_used_last)
{
	CLEANUP(table_cache_freep) struct table_cache *c = NULL;
	struct elf_symbol_table *t = make_table();
	size_t bytes = elf_symbol_table_bytes(t);

	assert_int_equal(table_cache_new(&c, 65536), 0);
	table_cache_adopt(c, (struct table_key){1, 1}, t);
	table_cache_adopt(c, (struct table_key){2, 1}, make_table());
	table_cache_adopt(c, (struct table_key){3, 1}, make_table());
	assert_non_null(table_cache_get(c, (struct table_key){1, 1}, TEXT));
	table_cache_shrink(c, 3 * bytes);
	assert_int_equal(table_cache_bytes(c), 3 * bytes);
	table_cache_shrink(c, 2 * bytes - 1);
	assert_int_equal(table_cache_bytes(c), bytes);
	assert_non_null(table_cache_get(c, (struct table_key){1, 1}, TEXT));
	table_cache_shrink(c, 0);
	assert_int_equal(table_cache_bytes(c), 0);
}

TEST(one_large_table_does_not_push_out_all_others)
{
	CLEANUP(table_cache_freep) struct table_cache *c = NULL;
	struct elf_symbol_table *t = make_table();
	size_t bytes = elf_symbol_table_bytes(t);

	assert_int_equal(table_cache_new(&c, 65536), 0);
	table_cache_adopt(c, (struct table_key){1, 1}, t);
	table_cache_adopt(c, (struct table_key){2, 1}, make_table_of(4 * SYMBOLS));
	table_cache_adopt(c, (struct table_key){3, 1}, make_table());
	table_cache_adopt(c, (struct table_key){4, 1}, make_table_of(4 * SYMBOLS));
	table_cache_shrink(c, 2 * bytes);
	assert_int_equal(table_cache_bytes(c), 2 * bytes);
	assert_non_null(table_cache_get(c, (struct table_key){1, 1}, TEXT));
	assert_non_null(table_cache_get(c, (struct table_key){3, 1}, TEXT));
}
