/*
 * An array that is searched from end to end: a node has some hundred libraries, and lookups
 * are only for addresses that are not in the frame cache. A hash table would not serve, as a
 * key has several tables.
 */
#include "node-agent/symbol/table_cache.h"

#include <assert.h>
#include <errno.h>

#include "node-agent/symbol/symbol_metrics.h"

struct cached_table {
	struct table_key key;
	uint64_t last_use;
	struct elf_symbol_table *table;       /* owned */
	struct ready_to_run_methods *methods; /* instead of table; owned */
};

struct table_cache {
	size_t budget_bytes;
	size_t used_bytes;
	uint64_t uses;
	size_t n;
	struct cached_table tables[TABLE_CACHE_TABLES_MAX];
};

static size_t bytes_of(const struct cached_table *t)
{
	return t->table ? elf_symbol_table_bytes(t->table) : ready_to_run_methods_bytes(t->methods);
}

static void free_tables(struct cached_table *t)
{
	elf_symbol_table_free(t->table);
	ready_to_run_methods_free(t->methods);
}

int table_cache_new(struct table_cache **ret, size_t budget_bytes)
{
	struct table_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->budget_bytes = budget_bytes;
	*ret = c;
	return 0;
}

void table_cache_free(struct table_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		free_tables(&c->tables[i]);
	free(c);
}

const struct elf_symbol_table *table_cache_get(struct table_cache *c, struct table_key key,
					       uint64_t vaddr)
{
	for (size_t i = 0; i < c->n; i++) {
		struct cached_table *t = &c->tables[i];

		if (t->key.low == key.low && t->key.high == key.high && t->table &&
		    elf_symbol_table_covers(t->table, vaddr)) {
			t->last_use = ++c->uses;
			return t->table;
		}
	}
	return NULL;
}

const struct ready_to_run_methods *table_cache_get_methods(struct table_cache *c,
							   struct table_key key)
{
	for (size_t i = 0; i < c->n; i++) {
		struct cached_table *t = &c->tables[i];

		if (t->key.low == key.low && t->key.high == key.high && t->methods) {
			t->last_use = ++c->uses;
			return t->methods;
		}
	}
	return NULL;
}

static void evict(struct table_cache *c, size_t i)
{
	c->used_bytes -= bytes_of(&c->tables[i]);
	free_tables(&c->tables[i]);
	c->tables[i] = c->tables[--c->n];
	metric_add(&symbol_metrics[SYMBOL_METRIC_TABLES_EVICTED], 1);
}

static void evict_oldest(struct table_cache *c)
{
	size_t oldest = 0;

	for (size_t i = 1; i < c->n; i++) {
		if (c->tables[i].last_use < c->tables[oldest].last_use)
			oldest = i;
	}
	evict(c, oldest);
}

static void adopt(struct table_cache *c, const struct cached_table *t)
{
	size_t bytes = bytes_of(t);

	assert(bytes <= c->budget_bytes);
	while (c->n == TABLE_CACHE_TABLES_MAX || bytes > c->budget_bytes - c->used_bytes)
		evict_oldest(c);
	c->tables[c->n] = *t;
	c->tables[c->n++].last_use = ++c->uses;
	c->used_bytes += bytes;
	metric_add(&symbol_metrics[SYMBOL_METRIC_TABLES_LOADED], 1);
	metric_set(&symbol_metrics[SYMBOL_METRIC_TABLE_BYTES], c->used_bytes);
}

void table_cache_adopt(struct table_cache *c, struct table_key key, struct elf_symbol_table *t)
{
	adopt(c, &(struct cached_table){.key = key, .table = t});
}

void table_cache_adopt_methods(struct table_cache *c, struct table_key key,
			       struct ready_to_run_methods *m)
{
	adopt(c, &(struct cached_table){.key = key, .methods = m});
}

void table_cache_shrink(struct table_cache *c, size_t keep_bytes)
{
	for (size_t i = c->n; i > 0; i--) {
		if (bytes_of(&c->tables[i - 1]) > keep_bytes)
			evict(c, i - 1);
	}
	while (c->used_bytes > keep_bytes)
		evict_oldest(c);
}

size_t table_cache_bytes(const struct table_cache *c)
{
	return c->used_bytes;
}
