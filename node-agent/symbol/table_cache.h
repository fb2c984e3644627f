/*
 * Symbol tables of ELF files, and those of .NET's compiled methods, within a budget of bytes; the
 * least recently used one is evicted first.
 *
 * The key identifies the content that a table was made from, so that one table serves every
 * copy of a library. A large file has several tables with one key, each for a part of it.
 */
#ifndef NODE_AGENT_SYMBOL_TABLE_CACHE_H
#define NODE_AGENT_SYMBOL_TABLE_CACHE_H

#include "common/base.h"
#include "common/elf/elf_symbols.h"
#include "node-agent/dotnet/ready_to_run.h"

#define TABLE_CACHE_TABLES_MAX 512u

struct table_key {
	uint64_t low, high;
};

struct table_cache;

/* -ENOMEM is the only failure. */
int table_cache_new(struct table_cache **ret, size_t budget_bytes) MUST_CHECK;
void table_cache_free(struct table_cache *c);
DEFINE_CLEANUP(struct table_cache *, table_cache_free);

/* Borrowed; valid until the next table_cache_adopt(). NULL: absent. */
const struct elf_symbol_table *table_cache_get(struct table_cache *c, struct table_key key,
					       uint64_t vaddr);

/* Takes t, whose size is at most the budget. */
void table_cache_adopt(struct table_cache *c, struct table_key key, struct elf_symbol_table *t);

/* The same for methods; their keys are others than those of ELF files. */
const struct ready_to_run_methods *table_cache_get_methods(struct table_cache *c,
							   struct table_key key);
void table_cache_adopt_methods(struct table_cache *c, struct table_key key,
			       struct ready_to_run_methods *m);

/*
 * Evicts the least recently used tables until the others have at most keep_bytes. One that alone
 * has more goes first, so that it does not push the others out.
 */
void table_cache_shrink(struct table_cache *c, size_t keep_bytes);
size_t table_cache_bytes(const struct table_cache *c);

#endif /* NODE_AGENT_SYMBOL_TABLE_CACHE_H */
