#include "node-agent/symbol/object_names.h"

#include <errno.h>

#include "common/elf/eh_function.h"
#include "common/elf/elf_plt.h"
#include "common/elf/elf_symbols.h"
#include "common/text/utf8.h"
#include "node-agent/gopclntab/gopclntab_module.h"
#include "node-agent/lines/line_reader.h"
#include "node-agent/symbol/debug_symbols.h"
#include "node-agent/symbol/table_cache.h"

bool object_names_may_change(int error)
{
	return error == -ENOMEM || error == -ETIMEDOUT || error == -EBUSY || error == -EAGAIN;
}

/* Where the symbols of the file itself are. */
static struct symbol_place own_place(const struct object_use *u)
{
	struct object *o = u->object;

	return (struct symbol_place){
		.layout = o->layout, .src = *u->src, .key = o->key, .failed = &o->symbols_failed};
}

static const struct elf_symbol_table *
get_table(struct object_names *n, const struct symbol_place *p, uint64_t vaddr, int *ret_error)
{
	const struct elf_symbol_table *t = table_cache_get(n->tables, p->key, vaddr);
	struct elf_symbol_table *fresh;
	int r;

	if (t)
		return t;
	if (*p->failed || !elf_layout_is_text(p->layout, vaddr)) {
		*ret_error = -ENOENT;
		return NULL;
	}
	r = elf_symbol_table_new(&fresh, p->layout, &p->src, vaddr, n->table_max_bytes);
	if (r < 0) {
		*p->failed = !object_names_may_change(r);
		*ret_error = r;
		return NULL;
	}
	table_cache_adopt(n->tables, p->key, fresh);
	return fresh;
}

/*
 * Whether an address belongs to the symbol without a size that starts before it: no function that
 * the exception tables know begins or ends in between.
 */
static bool is_reached(const struct object_use *u, uint64_t start, uint64_t vaddr)
{
	uint64_t function, end;

	if (eh_function_before(u->object->layout, u->src, vaddr, &function, &end) < 0)
		return true;
	return function <= start && (vaddr < end || start >= end);
}

/* Stores the name that a place has for the address in n->raw. Returns as object_names_find(). */
static int find_symbol(struct object_names *n, const struct object_use *u,
		       const struct symbol_place *p, uint64_t vaddr)
{
	int r = -ENOENT;
	const struct elf_symbol_table *t = get_table(n, p, vaddr, &r);
	uint64_t start;

	if (!t)
		return r;
	if (elf_symbol_table_guesses(t, vaddr, &start) && !is_reached(u, start, vaddr))
		return -ENOENT;
	return elf_symbol_table_find(t, p->layout, &p->src, vaddr, n->raw, sizeof(n->raw));
}

static struct debug_symbols_user user_of(const struct object_use *u)
{
	return (struct debug_symbols_user){
		.layout = u->object->layout,
		.src = u->src,
		.key = u->object->key,
		.path = u->mapping->path,
		.pid = u->mapping->pid,
		.start_time = u->mapping->start_time,
	};
}

/* The same in what belongs to a stripped file. Returns -EAGAIN if a later cycle may know more. */
static int find_debug_symbol(struct object_names *n, const struct object_use *u, uint64_t vaddr)
{
	const struct debug_symbols_user user = user_of(u);
	int result = -ENOENT;

	for (unsigned kind = 0; kind < DEBUG_SYMBOLS_KINDS; kind++) {
		struct symbol_place place;
		int r = debug_symbols_get(n->debug, &u->object->debug, &user,
					  (enum debug_symbols_kind)kind, &place);

		if (r == 0)
			r = find_symbol(n, u, &place, vaddr);
		if (r == 0)
			return 0;
		if (object_names_may_change(r))
			result = -EAGAIN;
	}
	return result;
}

const struct gopclntab *object_names_go(const struct object_use *u)
{
	struct object *o = u->object;

	if (!o->go_tried) {
		int r = gopclntab_open(&o->go, o->layout, u->src);

		if (r == 0)
			r = gopclntab_find_gofunc(&o->go, o->layout, u->src, &o->gofunc);
		else
			o->go.n_functions = 0;
		o->go_tried = !object_names_may_change(r);
	}
	return o->go.n_functions > 0 ? &o->go : NULL;
}

/* Such names are not mangled, and "@" is no version. */
static int find_go_name(struct object_names *n, const struct object_use *u, uint64_t vaddr)
{
	const struct gopclntab *go = object_names_go(u);
	size_t len;

	if (!go || !gopclntab_covers(go, vaddr) ||
	    gopclntab_find(go, u->src, vaddr, n->raw, sizeof(n->raw)) < 0)
		return -ENOENT;
	len = strnlen(n->raw, sizeof(n->name) - 1);
	memcpy(n->name, n->raw, len);
	n->name[utf8_make_printable(n->name, len)] = '\0';
	return 0;
}

/* The name of the function that an entry of the PLT jumps to, with "@plt". */
static int find_plt_name(struct object_names *n, const struct object_use *u, uint64_t vaddr)
{
	int r = elf_plt_find(u->object->layout, u->src, vaddr, n->raw, sizeof(n->raw));
	size_t len;

	if (r < 0)
		return r;
	len = demangle(n->raw, n->name, sizeof(n->name) - 4);
	memcpy(n->name + len, "@plt", 5);
	return 0;
}

static bool is_stripped(const struct object *o)
{
	return o->layout->sections[ELF_SECTION_SYMTAB].size_bytes == 0;
}

int object_names_find(struct object_names *n, const struct object_use *u, uint64_t vaddr)
{
	const struct symbol_place own = own_place(u);
	int r, later = -ENOENT;

	if (find_go_name(n, u, vaddr) == 0)
		return 0;
	r = find_symbol(n, u, &own, vaddr);
	if (r == -ENOENT && is_stripped(u->object))
		r = later = find_debug_symbol(n, u, vaddr);
	if (r == 0) {
		demangle(n->raw, n->name, sizeof(n->name));
		return 0;
	}
	if (r == -ENOENT || r == -EAGAIN)
		r = find_plt_name(n, u, vaddr);
	if (r < 0)
		n->name[0] = '\0';
	return r == -ENOENT ? later : r;
}

int object_names_find_dwarf(struct object_names *n, const struct object_use *u,
			    struct debug_file *ret)
{
	const struct debug_symbols_user user = user_of(u);
	const struct symbol_mapping *m = u->mapping;
	struct debug_file file = {
		.fd = m->fd, .may_hang = m->may_hang, .id.size_bytes = m->id.size_bytes};
	int r = 0;

	if (u->object->layout->sections[ELF_SECTION_DEBUG_INFO].size_bytes == 0)
		r = debug_symbols_get_dwarf(n->debug, &u->object->debug, &user, &file);
	/* a process that waits for a file system could not be ended */
	if (r < 0 || file.may_hang || file.fd < 0)
		return r < 0 ? r : -ENOENT;
	*ret = file;
	return 0;
}

int object_names_find_package(struct object_names *n, const struct object_use *u)
{
	const struct debug_symbols_user user = user_of(u);
	struct debug_file file;

	return debug_symbols_get_package(n->debug, &u->object->debug, &user, &file) == 0 &&
			       !file.may_hang && file.id.size_bytes <= LINE_READER_PACKAGE_MAX_BYTES
		       ? file.fd
		       : -1;
}
