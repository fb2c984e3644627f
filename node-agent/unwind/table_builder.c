#include "node-agent/unwind/table_builder.h"

#include <errno.h>

#include "common/elf/elf_debug_link.h"
#include "common/elf/elf_layout.h"
#include "node-agent/unwind/cfi/cfi_dotnet.h"

struct build {
	const struct table_builder *builder;
	struct built_table *table;
	struct unwind_cache_file *file; /* that is written; NULL: none */
};

static int add_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct build *b = ctx;

	if (b->builder->on_pause && b->builder->on_pause(b->builder->ctx))
		return -ECANCELED;
	if (b->table->bytes > b->builder->max_table_bytes)
		return -EFBIG;
	unwind_cache_page(b->file, rows, n);
	return built_table_add_page(b->table, b->builder->slabs, page, rows, n);
}

static int load(struct build *b, const struct table_file_key *key, const struct cfi_extent *extent,
		struct cfi_table *ret)
{
	int r = built_table_begin(b->table, b->builder->slabs, extent);

	if (r == 0)
		r = unwind_cache_load(b->builder->cache, key, ret, add_page, b);
	if (r < 0 || (ret->extent.first_page == extent->first_page &&
		      ret->extent.n_pages == extent->n_pages))
		return r;
	cfi_table_fini(ret);
	return -ENOENT;
}

/* Whether a sixteenth of the code is not described: more than start-up code, a PLT and stubs. */
static bool lacks_descriptions(const struct elf_layout *l, uint64_t bare_bytes)
{
	return bare_bytes > (l->text_end - l->text_start) / 16;
}

/*
 * A table that a debug file could complete is not kept on disk: the next search may find it. Nor is
 * one with deferred code, whose parts come later.
 */
static int parse_once(struct build *b, const struct table_file_key *key, const struct cfi_input *in,
		      const struct cfi_extent *extent, struct cfi_table *ret)
{
	int r = built_table_begin(b->table, b->builder->slabs, extent);

	if (r < 0)
		return r;
	if (key && unwind_cache_begin(b->builder->cache, &b->file) < 0)
		b->file = NULL;
	r = cfi_table_build(ret, in, add_page, b);
	if (r == 0 && b->builder->is_current && !b->builder->is_current(b->builder->check_ctx)) {
		cfi_table_fini(ret);
		r = -ESTALE;
	}
	/* a debug file is no part of the key */
	if (r == 0 && !in->debug_layout && !lacks_descriptions(in->layout, ret->bare_bytes) &&
	    ret->deferred.n == 0)
		unwind_cache_finish(b->file, key, ret);
	else
		unwind_cache_file_free(b->file);
	b->file = NULL;
	return r;
}

/* The file, and if it lacks descriptions, once more with its debug file. */
static int parse(struct build *b, const struct table_file_key *key, const struct cfi_input *in,
		 const struct cfi_extent *extent, struct cfi_table *ret)
{
	CLEANUP(debug_cfi_freep) struct debug_cfi *debug = NULL;
	struct cfi_input both = *in;
	int r = parse_once(b, key, in, extent, ret);

	if (r < 0 || !b->builder->debug || !lacks_descriptions(in->layout, ret->bare_bytes) ||
	    debug_cfi_open(&debug, b->builder->debug, in->layout, in->src) < 0)
		return r;
	both.debug_layout = &debug->layout;
	both.debug_src = &debug->src;
	built_table_discard(b->table, b->builder->slabs);
	cfi_table_fini(ret);
	r = parse_once(b, key, &both, extent, ret);
	b->table->has_debug_file = true;
	return r;
}

/* Whether parsing the file would fail as loading its table has. */
static bool is_final(int error)
{
	return error == -ENOSPC || error == -EFBIG || error == -ECANCELED || error == -ENOMEM;
}

static bool may_open(const struct build *b, const struct cfi_input *in)
{
	uint64_t n_functions = b->builder->open_functions;

	return n_functions > 0 && cfi_table_may_open(in, n_functions);
}

static int open_table(struct build *b, const struct cfi_extent *extent)
{
	int r = built_table_open(b->table, b->builder->slabs, extent);

	b->table->has_parts = true;
	return r < 0 ? r : hot_code_new_empty(&b->table->hot, extent);
}

static int make(struct build *b, const struct table_file_key *key, const struct cfi_input *in)
{
	struct unwind_slabs *slabs = b->builder->slabs;
	struct cfi_extent extent;
	struct cfi_table table = {0};
	bool is_loaded;
	int r = cfi_table_extent(in->layout, &extent);

	if (r < 0)
		return r;
	r = -ENOENT;
	if (key && !(b->builder->opens_kept && may_open(b, in)))
		r = load(b, key, &extent, &table);
	if (is_final(r))
		return r;
	is_loaded = r == 0;
	if (r < 0) {
		built_table_discard(b->table, slabs);
		if (may_open(b, in))
			return open_table(b, &extent);
		r = parse(b, key, in, &extent, &table);
	}
	if (r < 0)
		return r;
	r = built_table_add_rules(b->table, slabs, table.rules, table.n_rules);
	/* those that were parsed at once have none */
	b->table->has_parts = is_loaded && may_open(b, in);
	if (r == 0 && (table.deferred.n > 0 || b->table->has_parts))
		r = hot_code_new(&b->table->hot, &extent, &table.deferred);
	cfi_table_fini(&table);
	return r;
}

int table_builder_build(const struct table_builder *b, const struct byte_source *src,
			const struct table_file_key *key, struct built_table *ret)
{
	AUTO_FREE struct elf_layout *layout = malloc(sizeof(*layout));
	struct cfi_input in = {.layout = layout, .src = src};
	struct pe_image pe;
	struct build build = {.builder = b, .table = ret};
	uint64_t bytes;
	int r;

	*ret = (struct built_table){0};
	if (!layout)
		return -ENOMEM;
	r = elf_layout_parse(layout, src);
	if (r == -ENOEXEC) {
		in.pe = &pe;
		r = cfi_dotnet_open(&pe, layout, src);
	}
	if (r == 0)
		r = make(&build, b->cache ? key : NULL, &in);
	if (r == 0)
		return 0;
	bytes = ret->bytes;
	built_table_discard(ret, b->slabs);
	ret->bytes = bytes;
	return r;
}

/* ---- parts ---- */

struct part_build {
	const struct table_builder *builder;
	struct built_part part;
};

static int add_part_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct part_build *b = ctx;

	if (b->builder->on_pause && b->builder->on_pause(b->builder->ctx))
		return -ECANCELED;
	return built_part_add_page(&b->part, b->builder->slabs, page, rows, n);
}

/* Returns like cfi_table_build(). */
static int parse_part(struct part_build *b, const struct built_table *table, struct cfi_input *in,
		      struct cfi_table *ret)
{
	CLEANUP(debug_cfi_freep) struct debug_cfi *debug = NULL;
	int r = 0;

	if (table->has_debug_file && b->builder->debug) {
		r = debug_cfi_open(&debug, b->builder->debug, in->layout, in->src);
		if (r < 0)
			return r; /* without it, less would be known than is now */
		in->debug_layout = &debug->layout;
		in->debug_src = &debug->src;
	}
	r = cfi_table_build(ret, in, add_part_page, b);
	if (r == 0 && b->builder->is_current && !b->builder->is_current(b->builder->check_ctx)) {
		cfi_table_fini(ret);
		return -ESTALE;
	}
	return r;
}

int table_builder_build_part(const struct table_builder *b, const struct byte_source *src,
			     struct built_table *table, const struct hot_part *hot,
			     struct unwind_table *published, uint64_t now_ns)
{
	AUTO_FREE struct unwind_rule *rules = calloc(UNWIND_TABLE_RULES, sizeof(*rules));
	AUTO_FREE struct elf_layout *layout = malloc(sizeof(*layout));
	struct cfi_part part = {.extent = hot->extent,
				.rules = rules,
				.n_rules = table->n_rules,
				.fills = hot->fills};
	struct cfi_input in = {.layout = layout, .src = src, .part = &part};
	struct part_build build = {.builder = b};
	struct cfi_table found = {0};
	int r = -ENOMEM;

	build.part.first = (uint32_t)(hot->extent.first_page - table->extent.first_page);
	build.part.n = hot->extent.n_pages;
	if (rules && layout)
		r = built_table_read_rules(table, b->slabs, rules);
	if (r == 0)
		r = elf_layout_parse(layout, src);
	if (r == 0)
		r = parse_part(&build, table, &in, &found);
	if (r == 0 && table->bytes + build.part.bytes > b->max_table_bytes)
		r = -EFBIG;
	build.part.rules = found.rules;
	build.part.n_rules = found.n_rules;
	if (r == 0)
		r = built_table_replace(table, b->slabs, &build.part, published, now_ns);
	if (r == 0 && hot->fills) {
		table->bare_bytes += hot->again ? 0 : found.bare_bytes;
		hot_code_defer(table->hot, &found.deferred);
	}
	cfi_table_fini(&found);
	built_part_discard(&build.part, b->slabs);
	return r;
}

void table_builder_end_parts(const struct table_builder *b, const struct byte_source *src,
			     struct built_table *table)
{
	AUTO_FREE struct elf_layout *layout = malloc(sizeof(*layout));
	CLEANUP(debug_cfi_freep) struct debug_cfi *debug = NULL;
	struct hot_code *again;

	table->lacks_descriptions = !layout || elf_layout_parse(layout, src) < 0 ||
				    lacks_descriptions(layout, table->bare_bytes);
	if (!b->debug || table->has_debug_file || !layout || !table->lacks_descriptions ||
	    debug_cfi_open(&debug, b->debug, layout, src) < 0 ||
	    hot_code_new_empty(&again, &table->extent) < 0)
		return;
	hot_code_free(table->hot);
	table->hot = again;
	table->bare_bytes = 0;
	table->has_debug_file = true;
}

void table_builder_keep(const struct table_builder *b, const struct built_table *table,
			const struct table_file_key *key)
{
	static const struct unwind_row unknown = {.rule = 0};
	AUTO_FREE struct unwind_rule *rules = calloc(UNWIND_TABLE_RULES, sizeof(*rules));
	struct cfi_table t = {
		.extent = table->extent,
		.origin = CFI_ORIGIN_EH_FRAME,
		.rules = rules,
		.n_rules = table->n_rules,
	};
	struct unwind_cache_file *file;

	if (!rules || !b->cache || (table->hot && hot_code_has_more(table->hot)) ||
	    table->has_debug_file || table->lacks_descriptions ||
	    built_table_read_rules(table, b->slabs, rules) < 0 ||
	    unwind_cache_begin(b->cache, &file) < 0)
		return;
	for (uint32_t page = 0; page < table->extent.n_pages; page++) {
		uint32_t n;
		const struct unwind_row *rows = built_table_rows(table, b->slabs, page, &n);

		if (n > 0 && !rows) {
			unwind_cache_file_free(file);
			return;
		}
		unwind_cache_page(file, rows ?: &unknown, rows ? n : 1);
		t.n_rows += rows ? n : 1;
	}
	unwind_cache_finish(file, key, &t);
}

/* ---- separate debug files ---- */

void debug_cfi_free(struct debug_cfi *d)
{
	if (!d)
		return;
	closep(&d->file.fd);
	free(d);
}

static int find(struct debug_cfi *d, const struct debug_cfi_query *q,
		const struct elf_layout *layout, const struct byte_source *src)
{
	struct debug_file_query query = {
		.proc_root = q->proc_root,
		.pid = q->pid,
		.start_time = q->start_time,
		.path = q->path,
		.layout = layout,
	};
	struct elf_debug_link link;
	int r = elf_debug_link_read(layout, src, &link);

	if (r == 0)
		query.link = &link;
	else if (r != -ENOENT)
		return r;
	return debug_file_open(q->caller, &query, &d->file);
}

int debug_cfi_open(struct debug_cfi **ret, const struct debug_cfi_query *q,
		   const struct elf_layout *layout, const struct byte_source *src)
{
	CLEANUP(debug_cfi_freep) struct debug_cfi *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->file.fd = -1;
	r = find(d, q, layout, src);
	if (r < 0)
		return r;
	if (d->file.may_hang)
		byte_source_from_slow_fd(&d->src, d->file.fd, d->file.id.size_bytes, q->caller,
					 d->file.id.dev);
	else
		byte_source_from_fd(&d->src, d->file.fd, d->file.id.size_bytes);
	r = elf_layout_parse_debug(&d->layout, &d->src);
	if (r < 0)
		return r;
	if (d->layout.sections[ELF_SECTION_DEBUG_FRAME].size_bytes == 0)
		return -ENOENT;
	*ret = TAKE_PTR(d);
	return 0;
}
