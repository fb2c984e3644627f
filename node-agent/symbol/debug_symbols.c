/*
 * A debug file has no code and no usable segments, only symbols, whose addresses are those of the
 * stripped file. So its symbols are read by the layout of the stripped file in which the places of
 * the symbol sections are replaced: everything that knows how to find a function in a file then
 * works unchanged.
 *
 * Most files in production have neither kind. That must cost nothing: the search is a handful of
 * path lookups, once for each file.
 */
#include "node-agent/symbol/debug_symbols.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/debuginfod/debuginfod_client.h"
#include "common/elf/elf_debug_data.h"
#include "node-agent/symbol/symbol_metrics.h"

/* A library of which each user has exited by the time of its first sample is given up then. */
#define TRIES_MAX 5u

struct debug_symbols {
	const char *proc_root;
	struct deadline_caller *caller;
	struct debuginfod_client *debuginfod; /* NULL: none is asked */
	uint32_t cycle;
	unsigned n_open;
	size_t data_bytes;
};

int debug_symbols_new(struct debug_symbols **ret, const char *proc_root,
		      struct deadline_caller *caller)
{
	struct debug_symbols *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->proc_root = proc_root;
	d->caller = caller;
	*ret = d;
	return 0;
}

void debug_symbols_set_debuginfod(struct debug_symbols *d, struct debuginfod_client *client)
{
	d->debuginfod = client;
}

void debug_symbols_free(struct debug_symbols *d)
{
	free(d);
}

static void drop_data(struct debug_companion *c)
{
	if (!c->data)
		return;
	c->owner->data_bytes -= c->data_bytes;
	freep(&c->data);
	c->data = NULL;
	free(TAKE_PTR(c->layouts[DEBUG_SYMBOLS_DATA]));
}

void debug_companion_fini(struct debug_companion *c)
{
	if (!c->owner)
		return;
	drop_data(c);
	if (c->layouts[DEBUG_SYMBOLS_FILE]) {
		closep(&c->file.fd);
		c->owner->n_open--;
	}
	if (c->has_package) {
		closep(&c->package.fd);
		c->owner->n_open--;
	}
	free(c->layouts[DEBUG_SYMBOLS_FILE]);
}

/* The layout of the stripped file with the symbols of another one. -ENOENT: that has none. */
static int make_layout(const struct elf_layout *stripped, const struct byte_source *src,
		       struct elf_layout **ret)
{
	AUTO_FREE struct elf_layout *l = malloc(sizeof(*l));
	struct elf_section symbols[2], dwarf;
	int r;

	if (!l)
		return -ENOMEM;
	r = elf_layout_parse_debug(l, src);
	if (r < 0)
		return r;
	memcpy(symbols, &l->sections[ELF_SECTION_SYMTAB], sizeof(symbols));
	dwarf = l->sections[ELF_SECTION_DEBUG_INFO];
	if (symbols[0].size_bytes == 0 && dwarf.size_bytes == 0)
		return -ENOENT;
	*l = *stripped;
	memset(l->sections, 0, sizeof(l->sections));
	memcpy(&l->sections[ELF_SECTION_SYMTAB], symbols, sizeof(symbols));
	l->sections[ELF_SECTION_DEBUG_INFO] = dwarf;
	*ret = TAKE_PTR(l);
	return 0;
}

static void source_of(const struct debug_symbols *d, const struct debug_file *f,
		      struct byte_source *ret)
{
	if (f->may_hang)
		byte_source_from_slow_fd(ret, f->fd, f->id.size_bytes, d->caller, f->id.dev);
	else
		byte_source_from_fd(ret, f->fd, f->id.size_bytes);
}

/* ---- a separate file ---- */

static int open_file(struct debug_symbols *d, const struct debug_symbols_user *user,
		     struct debug_file *ret)
{
	struct debug_file_query query = {
		.proc_root = d->proc_root,
		.pid = user->pid,
		.start_time = user->start_time,
		.path = user->path,
		.layout = user->layout,
	};
	struct elf_debug_link link;
	int r = elf_debug_link_read(user->layout, user->src, &link);

	if (r == 0)
		query.link = &link;
	else if (r != -ENOENT)
		return r;
	return debug_file_open(d->caller, &query, ret);
}

/* Whether the file is in the cache now. */
static bool receive_file(const struct debug_symbols *d, const struct debug_symbols_user *user)
{
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1];

	if (!d->debuginfod || user->layout->gnu_build_id_bytes == 0)
		return false;
	elf_layout_build_id_text(user->layout, build_id);
	return debuginfod_client_get(d->debuginfod, build_id) == 0;
}

static int find_file(struct debug_symbols *d, struct debug_companion *c,
		     const struct debug_symbols_user *user)
{
	struct debug_file file = {.fd = -1};
	struct byte_source src;
	int r;

	if (d->n_open == DEBUG_SYMBOLS_OPEN_MAX)
		return -EMFILE;
	r = open_file(d, user, &file);
	if ((r == -ENOENT || r == -ESRCH) && receive_file(d, user))
		r = open_file(d, user, &file);
	if (r < 0)
		return r;
	source_of(d, &file, &src);
	r = make_layout(user->layout, &src, &c->layouts[DEBUG_SYMBOLS_FILE]);
	if (r < 0) {
		close(file.fd);
		return r;
	}
	c->file = file;
	d->n_open++;
	return 0;
}

static enum symbol_metric outcome_of(int r)
{
	switch (r) {
	case 0:
		return SYMBOL_METRIC_DEBUG_FILE_FOUND;
	case -ENOENT:
		return SYMBOL_METRIC_DEBUG_FILE_NONE;
	case -ESRCH:
		return SYMBOL_METRIC_DEBUG_FILE_EXITED;
	case -ETIMEDOUT:
	case -EBUSY:
		return SYMBOL_METRIC_DEBUG_FILE_HANGS;
	default:
		return SYMBOL_METRIC_DEBUG_FILE_FAILED;
	}
}

/* Returns 0, -ENOENT, or -EAGAIN. */
static int try_file(struct debug_symbols *d, struct debug_companion *c,
		    const struct debug_symbols_user *user)
{
	int r;

	r = find_file(d, c, user);
	metric_add(&symbol_metrics[outcome_of(r)], 1);
	c->final[DEBUG_SYMBOLS_FILE] = r == 0 || r == -ENOENT || ++c->n_tries == TRIES_MAX;
	if (r == 0)
		return 0;
	return c->final[DEBUG_SYMBOLS_FILE] ? -ENOENT : -EAGAIN;
}

/* ---- in the file itself ---- */

static int read_data(struct debug_symbols *d, struct debug_companion *c,
		     const struct debug_symbols_user *user)
{
	CLEANUP(buf_fini) struct buf data;
	struct byte_source src;
	uint8_t *exact;
	int r;

	buf_init(&data, DEBUG_SYMBOLS_DATA_MAX_BYTES - d->data_bytes);
	r = elf_debug_data_read(user->layout, user->src, &data);
	if (r < 0)
		return r;
	byte_source_from_memory(&src, data.data, data.len);
	r = make_layout(user->layout, &src, &c->layouts[DEBUG_SYMBOLS_DATA]);
	if (r < 0)
		return r;
	c->data = (uint8_t *)buf_take(&data, &c->data_bytes);
	exact = realloc(c->data, c->data_bytes);
	if (exact)
		c->data = exact;
	d->data_bytes += c->data_bytes;
	return 0;
}

/* Returns 0, -ENOENT, or -EAGAIN. */
static int try_data(struct debug_symbols *d, struct debug_companion *c,
		    const struct debug_symbols_user *user)
{
	size_t others = d->data_bytes;
	int r = read_data(d, c, user);

	if (r == 0)
		return 0;
	/* what is too large beside others may fit later */
	if (r == -ENOMEM || r == -ETIMEDOUT || r == -EBUSY || (r == -EFBIG && others > 0))
		return -EAGAIN;
	c->final[DEBUG_SYMBOLS_DATA] = true;
	return -ENOENT;
}

/* Makes sure that there is a layout. Returns 0, -ENOENT, or -EAGAIN. */
static int require(struct debug_symbols *d, struct debug_companion *c,
		   const struct debug_symbols_user *user, enum debug_symbols_kind kind)
{
	c->owner = d;
	if (c->layouts[kind])
		return 0;
	if (c->final[kind])
		return -ENOENT;
	if (c->tried_cycle[kind] == d->cycle + 1)
		return -EAGAIN;
	c->tried_cycle[kind] = d->cycle + 1;
	return kind == DEBUG_SYMBOLS_FILE ? try_file(d, c, user) : try_data(d, c, user);
}

int debug_symbols_get(struct debug_symbols *d, struct debug_companion *c,
		      const struct debug_symbols_user *user, enum debug_symbols_kind kind,
		      struct symbol_place *ret)
{
	struct table_key key = user->key;
	const struct elf_section *symbols;
	int r = require(d, c, user, kind);

	if (r < 0)
		return r;
	symbols = &c->layouts[kind]->sections[ELF_SECTION_SYMTAB];
	if (symbols->size_bytes == 0)
		return -ENOENT;
	/* not those of the stripped file, and of another debug file with the same build id */
	key.low ^= (symbols->offset + 1) * UINT64_C(0x9e3779b97f4a7c15);
	key.high ^= symbols->size_bytes + (uint64_t)kind;
	*ret = (struct symbol_place){
		.layout = c->layouts[kind], .key = key, .failed = &c->failed[kind]};
	if (kind == DEBUG_SYMBOLS_FILE)
		source_of(d, &c->file, &ret->src);
	else
		byte_source_from_memory(&ret->src, c->data, c->data_bytes);
	c->used_cycle = d->cycle;
	return 0;
}

int debug_symbols_get_dwarf(struct debug_symbols *d, struct debug_companion *c,
			    const struct debug_symbols_user *user, struct debug_file *ret)
{
	int r = require(d, c, user, DEBUG_SYMBOLS_FILE);

	if (r < 0)
		return r;
	if (c->layouts[DEBUG_SYMBOLS_FILE]->sections[ELF_SECTION_DEBUG_INFO].size_bytes == 0)
		return -ENOENT;
	*ret = c->file;
	return 0;
}

/* ---- the package of split DWARF ---- */

static int try_package(struct debug_symbols *d, struct debug_companion *c,
		       const struct debug_symbols_user *user)
{
	const struct debug_file_query query = {
		.proc_root = d->proc_root,
		.pid = user->pid,
		.start_time = user->start_time,
		.path = user->path,
		.layout = user->layout,
		.package = true,
	};
	int r = d->n_open < DEBUG_SYMBOLS_OPEN_MAX ? debug_file_open(d->caller, &query, &c->package)
						   : -EMFILE;

	c->has_package = r == 0;
	d->n_open += r == 0;
	c->package_final = r == 0 || r == -ENOENT || ++c->n_package_tries == TRIES_MAX;
	if (r == 0)
		return 0;
	return c->package_final ? -ENOENT : -EAGAIN;
}

int debug_symbols_get_package(struct debug_symbols *d, struct debug_companion *c,
			      const struct debug_symbols_user *user, struct debug_file *ret)
{
	int r = 0;

	c->owner = d;
	if (!c->has_package && c->package_final)
		return -ENOENT;
	if (!c->has_package) {
		if (c->package_cycle == d->cycle + 1)
			return -EAGAIN;
		c->package_cycle = d->cycle + 1;
		r = try_package(d, c, user);
	}
	if (r == 0)
		*ret = c->package;
	return r;
}

void debug_companion_end_cycle(struct debug_companion *c)
{
	if (c->owner && c->used_cycle != c->owner->cycle)
		drop_data(c);
}

void debug_symbols_end_cycle(struct debug_symbols *d)
{
	d->cycle++;
}

size_t debug_symbols_bytes(const struct debug_symbols *d)
{
	return d->data_bytes;
}
