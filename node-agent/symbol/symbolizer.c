/*
 * Names are asked for millions of times and found out rarely. So an address goes through
 * layers, the cheapest first: the location of this address of this file (frame_cache.h); what is
 * known about the file (object_cache.h); Go's own table of functions and lines (go_location.h)
 * before ELF's symbols, because Go programs are often stripped of those; ELF's symbols, one part
 * of the file at a time (table_cache.h); for a stripped file, symbols that are kept elsewhere
 * (debug_symbols.h); the PLT; and if nothing has a name, the exception tables at least say where
 * the function begins. They also decide how far a symbol without a size reaches.
 *
 * Every layer has a limit of its own, and what does not fit is evicted and read again. Most symbol
 * tables go at the end of a cycle: they serve addresses that are sampled for the first time, and a
 * build machine runs hundreds of programs once. The
 * exception is locations: a profile that is being built points to them. When they are too many,
 * further functions are shown as "<file>+0x<start>", which is short enough for some spare memory
 * and still tells them apart in a flame graph. The reasons are counted, one per address.
 *
 * Files belong to other people: they are read with pread(2) and a size limit, and if their
 * file system may hang, on a thread with a deadline.
 */
#include "node-agent/symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/text/utf8.h"
#include "common/thread/deadline_call.h"
#include "node-agent/elf/eh_function.h"
#include "node-agent/elf/elf_plt.h"
#include "node-agent/elf/elf_symbols.h"
#include "node-agent/symbol/debug_symbols.h"
#include "node-agent/symbol/demangle.h"
#include "node-agent/symbol/dwarf_location.h"
#include "node-agent/symbol/go_location.h"
#include "node-agent/symbol/gopclntab_module.h"
#include "node-agent/symbol/kernel_symbols.h"
#include "node-agent/symbol/object_cache.h"
#include "node-agent/symbol/perf_map_files.h"
#include "node-agent/symbol/symbol_metrics.h"
#include "node-agent/symbol/table_cache.h"
#include "node-agent/symbol/vdso_image.h"

#define DEFAULT_TABLE_BUDGET_BYTES (8 * MIB)
#define DEFAULT_FRAME_LIMIT_BYTES (6 * MIB)
#define KEPT_TABLES_PART 4u /* of the budget; what tables may have between two cycles */
#define DEFAULT_ADDRESSES 16384u
#define TABLE_BUDGET_MIN_BYTES 65536u
#define READ_TIMEOUT_NS NS_PER_S
#define HUNG_PAUSE_NS (60 * NS_PER_S)

struct symbolizer {
	struct frame_cache *frames;
	struct object_cache *objects;
	struct table_cache *tables;
	struct kernel_symbols *kernel;
	struct perf_map_files *perf_maps;
	struct debug_symbols *debug;
	struct line_reader *lines;      /* NULL: without line numbers of native code */
	struct deadline_caller *caller; /* for files that may hang */
	enum symbol_metric outcome;     /* of the address being resolved */
	size_t table_max_bytes; /* of one table, so that a big file does not push out all others */
	size_t kept_tables_bytes;
	void *vdso; /* our copy of it; NULL: not needed yet, or there is none */
	size_t vdso_bytes;
	bool vdso_tried;
	char raw[DEMANGLE_INPUT_MAX_BYTES + 1]; /* name as in the file */
	char name[LIMIT_SYMBOL_NAME_BYTES + 1]; /* name as shown */
	struct perf_map_name jit_name;
	struct gopclntab_line go_line;
	struct dwarf_location_memory line_memory;
};

/* If no other can be stored. */
static const struct symbol_location location_of_last_resort = {
	.n = 1, .frames = {{.function = "[unknown]", .file = ""}}};

static void start_line_reader(struct symbolizer *s)
{
	int r = line_reader_new(&s->lines);

	if (r < 0)
		log_warn("cannot start the process that reads line numbers; native code has none",
			 "error=\"%s\"", strerror(-r));
}

static void stop_line_reader(struct symbolizer *s)
{
	log_warn("the process that reads line numbers has ended; native code has none from here on",
		 NULL);
	line_reader_free(TAKE_PTR(s->lines));
}

int symbolizer_new(struct symbolizer **ret, const struct symbolizer_config *cfg)
{
	CLEANUP(symbolizer_freep) struct symbolizer *s = calloc(1, sizeof(*s));
	size_t budget =
		cfg->table_budget_bytes ? cfg->table_budget_bytes : DEFAULT_TABLE_BUDGET_BYTES;
	const char *proc_root = cfg->proc_root ?: "/proc";
	int r;

	if (!s)
		return -ENOMEM;
	if (budget < TABLE_BUDGET_MIN_BYTES)
		budget = TABLE_BUDGET_MIN_BYTES;
	s->table_max_bytes = budget / 2;
	s->kept_tables_bytes = budget / KEPT_TABLES_PART;
	r = frame_cache_new(&s->frames,
			    cfg->frame_limit_bytes ? cfg->frame_limit_bytes
						   : DEFAULT_FRAME_LIMIT_BYTES,
			    cfg->n_addresses ? cfg->n_addresses : DEFAULT_ADDRESSES);
	if (r == 0)
		r = object_cache_new(&s->objects);
	if (r == 0)
		r = table_cache_new(&s->tables, budget);
	if (r == 0)
		r = deadline_caller_new(&s->caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS);
	if (r == 0)
		r = kernel_symbols_new(&s->kernel, proc_root);
	if (r == 0)
		r = debug_symbols_new(&s->debug, proc_root, s->caller);
	if (r == 0)
		r = perf_map_files_new(&s->perf_maps, proc_root, s->caller, budget);
	if (r < 0)
		return r;
	if (cfg->line_numbers)
		start_line_reader(s);
	*ret = TAKE_PTR(s);
	return 0;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	frame_cache_free(s->frames);
	object_cache_free(s->objects);
	debug_symbols_free(s->debug);
	table_cache_free(s->tables);
	kernel_symbols_free(s->kernel);
	perf_map_files_free(s->perf_maps);
	line_reader_free(s->lines);
	deadline_caller_free(s->caller);
	free(s->vdso);
	free(s);
}

int symbolizer_register_metrics(struct metrics *ms)
{
	return symbol_metrics_register(ms);
}

static void count(enum symbol_metric m)
{
	metric_add(&symbol_metrics[m], 1);
}

static enum symbol_metric outcome_of_full(int error)
{
	return error == -EFBIG ? SYMBOL_METRIC_FRAMES_FULL : SYMBOL_METRIC_NO_MEMORY;
}

static const struct symbol_location *intern(struct symbolizer *s, const char *function,
					    const char *file)
{
	const struct symbol_frame frame = {.function = function, .file = file};
	const struct symbol_location *location;
	int r = frame_cache_intern_spare(s->frames, &frame, &location);

	if (r == 0)
		return location;
	s->outcome = outcome_of_full(r);
	return &location_of_last_resort;
}

static const struct symbol_location *unresolved(struct symbolizer *s, const struct object *o,
						uint64_t address)
{
	snprintf(s->name, sizeof(s->name), "%s+0x%" PRIx64, o->name, address);
	return intern(s, s->name, o->label);
}

static const struct symbol_location *unknown(struct symbolizer *s)
{
	s->outcome = SYMBOL_METRIC_NO_MAPPING;
	return intern(s, "[unknown]", "");
}

/* Whether another try later may do better. */
static bool is_passing(int error)
{
	return error == -ENOMEM || error == -ETIMEDOUT || error == -EBUSY;
}

/* Where the symbols of the file itself are. */
static struct symbol_place own_place(struct object *o, const struct byte_source *src)
{
	return (struct symbol_place){
		.layout = o->layout, .src = *src, .key = o->key, .failed = &o->symbols_failed};
}

static const struct elf_symbol_table *get_table(struct symbolizer *s, const struct symbol_place *p,
						uint64_t vaddr, int *ret_error)
{
	const struct elf_symbol_table *t = table_cache_get(s->tables, p->key, vaddr);
	struct elf_symbol_table *fresh;
	int r;

	if (t)
		return t;
	if (*p->failed || !elf_layout_is_text(p->layout, vaddr)) {
		*ret_error = -ENOENT;
		return NULL;
	}
	r = elf_symbol_table_new(&fresh, p->layout, &p->src, vaddr, s->table_max_bytes);
	if (r < 0) {
		*p->failed = !is_passing(r);
		*ret_error = r;
		return NULL;
	}
	table_cache_adopt(s->tables, p->key, fresh);
	return fresh;
}

/*
 * Whether an address belongs to the symbol without a size that starts before it: no function that
 * the exception tables know begins or ends in between.
 */
static bool is_reached(const struct object *o, const struct byte_source *src, uint64_t start,
		       uint64_t vaddr)
{
	uint64_t function, end;

	if (eh_function_before(o->layout, src, vaddr, &function, &end) < 0)
		return true;
	return function <= start && (vaddr < end || start >= end);
}

/* Stores the name that a place has for the address in s->raw. As find_name(). */
static int find_symbol(struct symbolizer *s, const struct object *o, const struct byte_source *src,
		       const struct symbol_place *p, uint64_t vaddr)
{
	int r = -ENOENT;
	const struct elf_symbol_table *t = get_table(s, p, vaddr, &r);
	uint64_t start;

	if (!t)
		return r;
	if (elf_symbol_table_guesses(t, vaddr, &start) && !is_reached(o, src, start, vaddr))
		return -ENOENT;
	return elf_symbol_table_find(t, p->layout, &p->src, vaddr, s->raw, sizeof(s->raw));
}

static struct debug_symbols_user user_of(const struct object *o, const struct byte_source *src,
					 const struct symbol_mapping *m)
{
	return (struct debug_symbols_user){
		.layout = o->layout,
		.src = src,
		.key = o->key,
		.path = m->path,
		.pid = m->pid,
		.start_time = m->start_time,
	};
}

/* The same in what belongs to a stripped file. Returns -EAGAIN if a later cycle may know more. */
static int find_debug_symbol(struct symbolizer *s, struct object *o, const struct byte_source *src,
			     const struct symbol_mapping *m, uint64_t vaddr)
{
	const struct debug_symbols_user user = user_of(o, src, m);
	int result = -ENOENT;

	for (unsigned kind = 0; kind < DEBUG_SYMBOLS_KINDS; kind++) {
		struct symbol_place place;
		int r = debug_symbols_get(s->debug, &o->debug, &user, (enum debug_symbols_kind)kind,
					  &place);

		if (r == 0)
			r = find_symbol(s, o, src, &place, vaddr);
		if (r == 0)
			return 0;
		if (r == -EAGAIN || is_passing(r))
			result = -EAGAIN;
	}
	return result;
}

static const struct gopclntab *get_go(struct object *o, const struct byte_source *src)
{
	if (!o->go_tried) {
		int r = gopclntab_open(&o->go, o->layout, src);

		if (r == 0)
			r = gopclntab_find_gofunc(&o->go, o->layout, src, &o->gofunc);
		else
			o->go.n_functions = 0;
		o->go_tried = !is_passing(r);
	}
	return o->go.n_functions > 0 ? &o->go : NULL;
}

/*
 * The location of an address of Go code. Returns 0, -ENOENT if it is none or lines cannot be found,
 * or why the file cannot be read.
 */
static int find_go(struct symbolizer *s, struct object *o, const struct byte_source *src,
		   uint64_t vaddr, const struct symbol_location **ret)
{
	const struct gopclntab *go = get_go(o, src);
	const struct go_location_file f = {
		.table = go,
		.layout = o->layout,
		.src = src,
		.gofunc = o->gofunc,
		.label = o->label,
		.extra_bytes = &o->lines_bytes,
	};

	if (!go || !gopclntab_covers(go, vaddr) || frame_cache_is_filling(s->frames))
		return -ENOENT;
	return go_location_find(s->frames, &f, vaddr, &s->go_line, ret);
}

static bool is_stripped(const struct object *o)
{
	return o->layout->sections[ELF_SECTION_SYMTAB].size_bytes == 0;
}

/*
 * Stores the readable name in s->name. Returns 0, -ENOENT if there is none, -EAGAIN if there is
 * none yet, or why it cannot be found out.
 */
static int find_name(struct symbolizer *s, struct object *o, const struct byte_source *src,
		     const struct symbol_mapping *m, uint64_t vaddr)
{
	const struct symbol_place own = own_place(o, src);
	const struct gopclntab *go = get_go(o, src);
	int r, later = -ENOENT;

	if (go && gopclntab_covers(go, vaddr) &&
	    gopclntab_find(go, src, vaddr, s->raw, sizeof(s->raw)) == 0) {
		/* not mangled, and "@" is no version */
		size_t len = strnlen(s->raw, sizeof(s->name) - 1);

		memcpy(s->name, s->raw, len);
		s->name[utf8_make_printable(s->name, len)] = '\0';
		return 0;
	}
	r = find_symbol(s, o, src, &own, vaddr);
	if (r == -ENOENT && is_stripped(o))
		r = later = find_debug_symbol(s, o, src, m, vaddr);
	if (r == 0) {
		demangle(s->raw, s->name, sizeof(s->name));
		return 0;
	}
	if (r == -ENOENT || r == -EAGAIN) {
		r = elf_plt_find(o->layout, src, vaddr, s->raw, sizeof(s->raw));
		if (r == 0) {
			size_t len = demangle(s->raw, s->name, sizeof(s->name) - 4);

			memcpy(s->name + len, "@plt", 5);
		}
	}
	return r == -ENOENT ? later : r;
}

/* So that the samples of a function without a name are together; the address itself if unknown. */
static uint64_t function_start(const struct object *o, const struct byte_source *src,
			       uint64_t address)
{
	uint64_t start;

	return eh_function_start(o->layout, src, address, &start) == 0 ? start : address;
}

/* Finds the file that has the DWARF. Returns as debug_symbols_get(). */
static int find_dwarf(struct symbolizer *s, struct object *o, const struct byte_source *src,
		      const struct symbol_mapping *m, struct dwarf_location_file *ret)
{
	const struct debug_symbols_user user = user_of(o, src, m);
	struct debug_file file = {
		.fd = m->fd, .may_hang = m->may_hang, .id.size_bytes = m->id.size_bytes};
	int r = 0;

	if (o->layout->sections[ELF_SECTION_DEBUG_INFO].size_bytes == 0)
		r = debug_symbols_get_dwarf(s->debug, &o->debug, &user, &file);
	/* a process that waits for a file system could not be ended */
	if (r < 0 || file.may_hang || file.fd < 0)
		return r < 0 ? r : -ENOENT;
	*ret = (struct dwarf_location_file){
		.reader = s->lines,
		.number = o->number,
		.fd = file.fd,
		.size_bytes = file.id.size_bytes,
		.label = o->label,
	};
	return 0;
}

static enum symbol_metric outcome_of_lines(int r)
{
	switch (r) {
	case 0:
		return SYMBOL_METRIC_LINES_FOUND;
	case -ENOENT:
		return SYMBOL_METRIC_LINES_NONE;
	case -EAGAIN:
		return SYMBOL_METRIC_LINES_LATE;
	case -EFBIG:
		return SYMBOL_METRIC_LINES_TOO_BIG;
	default:
		return SYMBOL_METRIC_LINES_FAILED;
	}
}

/*
 * The location of an address of native code with DWARF, whose name is in s->name or is "". Returns
 * 0, -EAGAIN if a later cycle may know it, or another error.
 */
static int find_lines(struct symbolizer *s, struct object *o, const struct byte_source *src,
		      const struct symbol_mapping *m, uint64_t vaddr,
		      const struct symbol_location **ret)
{
	struct dwarf_location_file file;
	int r;

	if (!s->lines || o->lines_failed || frame_cache_is_filling(s->frames))
		return -ENOENT;
	r = find_dwarf(s, o, src, m, &file);
	if (r < 0)
		return r;
	r = dwarf_location_find(s->frames, &file, vaddr, *s->name ? s->name : NULL, &s->line_memory,
				ret);
	count(outcome_of_lines(r));
	o->lines_failed = r == -EFBIG || r == -EIO;
	if (r == -EPIPE)
		stop_line_reader(s);
	return r;
}

static enum symbol_metric outcome_of_name(int r)
{
	switch (r) {
	case 0:
		return SYMBOL_METRIC_RESOLVED;
	case -ENOENT:
	case -EAGAIN:
		return SYMBOL_METRIC_NO_SYMBOL;
	case -EFBIG:
		return SYMBOL_METRIC_TOO_BIG;
	case -ENOMEM:
		return SYMBOL_METRIC_NO_MEMORY;
	default:
		return SYMBOL_METRIC_NO_FILE;
	}
}

/* Looks for what an address stands for. *ret_final: another try would have the same result. */
static const struct symbol_location *name_address(struct symbolizer *s, struct object *o,
						  const struct byte_source *src,
						  const struct symbol_mapping *m, uint64_t address,
						  bool *ret_final)
{
	const struct symbol_location *location;
	int r = find_go(s, o, src, address, &location), lines;

	*ret_final = true;
	s->outcome = SYMBOL_METRIC_RESOLVED;
	if (r == 0)
		return location;
	r = find_name(s, o, src, m, address);
	*ret_final = !is_passing(r) && r != -EAGAIN;
	s->outcome = outcome_of_name(r);
	if (r < 0)
		*s->name = '\0';
	lines = find_lines(s, o, src, m, address, &location);
	if (lines == 0) {
		s->outcome = SYMBOL_METRIC_RESOLVED;
		return location;
	}
	*ret_final &= lines != -EAGAIN;
	if (r == 0) {
		const struct symbol_frame frame = {.function = s->name, .file = o->label};

		r = frame_cache_intern(s->frames, &frame, 1, &location);
		if (r == 0)
			return location;
		s->outcome = outcome_of_full(r);
		r = -ENOENT;
	}
	return unresolved(s, o,
			  r == -ENOENT || r == -EAGAIN ? function_start(o, src, address) : address);
}

static const struct symbol_location *resolve_in_object(struct symbolizer *s, struct object *o,
						       const struct byte_source *src,
						       const struct symbol_mapping *m,
						       uint64_t file_offset)
{
	const struct symbol_location *location;
	uint64_t address = file_offset;
	bool final = true;
	int r = o->status;

	if (r == 0)
		r = elf_layout_address(o->layout, file_offset, &address);
	location = frame_cache_get(s->frames, o->number, address);
	if (location) {
		s->outcome = SYMBOL_METRIC_CACHED;
		return location;
	}
	if (r < 0) {
		s->outcome = SYMBOL_METRIC_BAD_ELF;
		location = unresolved(s, o, address);
	} else if (!src->data && src->fd < 0) {
		s->outcome = SYMBOL_METRIC_NO_FILE;
		final = false; /* next time it may be possible to open the file */
		location = unresolved(s, o, address);
	} else {
		location = name_address(s, o, src, m, address, &final);
	}
	if (final && location != &location_of_last_resort)
		frame_cache_put(s->frames, o->number, address, location);
	return location;
}

static bool open_vdso(struct symbolizer *s, struct byte_source *src)
{
	if (!s->vdso_tried) {
		s->vdso_tried = true;
		if (vdso_image_copy(&s->vdso, &s->vdso_bytes) < 0)
			s->vdso = NULL;
	}
	if (s->vdso)
		byte_source_from_memory(src, s->vdso, s->vdso_bytes);
	return s->vdso != NULL;
}

/* The file was never readable, so there is no object that has its name. */
static const struct symbol_location *resolve_unreadable(struct symbolizer *s, const char *path,
							uint64_t file_offset)
{
	AUTO_FREE char *name = object_name_of_path(path);
	char file[OBJECT_NAME_MAX_BYTES + 3];

	s->outcome = name ? SYMBOL_METRIC_NO_FILE : SYMBOL_METRIC_NO_MEMORY;
	if (!name)
		return &location_of_last_resort;
	snprintf(file, sizeof(file), name[0] == '[' ? "%s" : "[%s]", name);
	snprintf(s->name, sizeof(s->name), "%s+0x%" PRIx64, name, file_offset);
	return intern(s, s->name, file);
}

/*
 * The program has made this code while it ran. Not remembered by address: another function may be
 * there in the next cycle.
 */
static const struct symbol_location *resolve_jit(struct symbolizer *s,
						 const struct symbol_mapping *m, uint64_t address)
{
	const struct symbol_location *location;
	struct symbol_frame frame;

	if (m->pid <= 0 || perf_map_files_find(s->perf_maps, m->pid, m->start_time, address,
					       clock_monotonic_ns(), &s->jit_name) < 0)
		return unknown(s);
	frame = (struct symbol_frame){s->jit_name.function, s->jit_name.file, s->jit_name.line};
	s->outcome = SYMBOL_METRIC_JIT;
	if (frame_cache_intern(s->frames, &frame, 1, &location) == 0)
		return location;
	s->outcome = SYMBOL_METRIC_FRAMES_FULL;
	return intern(s, "[unknown]", "");
}

static const struct symbol_location *resolve_user(struct symbolizer *s,
						  const struct symbol_mapping *m, uint64_t address)
{
	struct file_id id;
	uint64_t file_offset;
	struct byte_source src;
	struct object *o;

	if (!m || address < m->start)
		return unknown(s);
	id = m->id;
	file_offset = address - m->start + m->file_offset;
	if (strcmp(m->path, "[vdso]") == 0) {
		id = (struct file_id){.dev = UINT64_MAX}; /* no file system's */
		if (!open_vdso(s, &src))
			return resolve_unreadable(s, m->path, file_offset);
	} else if (m->path[0] == '/') {
		if (m->may_hang)
			byte_source_from_slow_fd(&src, m->fd, m->id.size_bytes, s->caller,
						 m->id.dev);
		else
			byte_source_from_fd(&src, m->fd, m->id.size_bytes);
	} else {
		return resolve_jit(s, m, address);
	}
	o = object_cache_get(s->objects, &id);
	if (!o &&
	    ((!src.data && src.fd < 0) || object_cache_add(s->objects, &id, m->path, &src, &o) < 0))
		return resolve_unreadable(s, m->path, file_offset);
	return resolve_in_object(s, o, &src, m, file_offset);
}

const struct symbol_location *symbolizer_resolve_user(struct symbolizer *s,
						      const struct symbol_mapping *mapping,
						      uint64_t address,
						      enum symbol_address_kind kind)
{
	const struct symbol_location *l =
		resolve_user(s, mapping, symbol_code_address(address, kind));

	count(s->outcome);
	return l;
}

/* Objects count up from 1, the kernel's generations down. */
static uint32_t kernel_number(const struct symbolizer *s)
{
	return UINT32_MAX - kernel_symbols_generation(s->kernel);
}

static const struct symbol_location *resolve_kernel(struct symbolizer *s, uint64_t address)
{
	const struct symbol_location *location =
		frame_cache_get(s->frames, kernel_number(s), address);
	const char *name = NULL;

	if (location) {
		s->outcome = SYMBOL_METRIC_CACHED;
		return location;
	}
	switch (kernel_symbols_find(s->kernel, address, clock_monotonic_ns(), &name)) {
	case KERNEL_SYMBOLS_FOUND:
		break;
	case KERNEL_SYMBOLS_HIDDEN:
		s->outcome = SYMBOL_METRIC_KERNEL_HIDDEN;
		return intern(s, "[kernel]", "[kernel]");
	case KERNEL_SYMBOLS_UNKNOWN:
		s->outcome = SYMBOL_METRIC_KERNEL_UNKNOWN;
		return intern(s, "[unknown]", "[kernel]");
	}
	s->outcome = SYMBOL_METRIC_RESOLVED;
	demangle(name, s->name, sizeof(s->name));
	/*
	 * there is no shorter text for a function of the kernel; its addresses stay in the
	 * kernel
	 */
	location = intern(s, s->name, "[kernel]");
	if (location != &location_of_last_resort)
		frame_cache_put(s->frames, kernel_number(s), address, location);
	return location;
}

const struct symbol_location *symbolizer_resolve_kernel(struct symbolizer *s, uint64_t address,
							enum symbol_address_kind kind)
{
	const struct symbol_location *l = resolve_kernel(s, symbol_code_address(address, kind));

	count(s->outcome);
	return l;
}

#define PAGE_BYTES UINT64_C(4096)

/* The executable segment that the pages around vaddr are of, or NULL. */
static const struct elf_segment *find_segment(const struct elf_layout *l, uint64_t vaddr)
{
	for (uint32_t i = 0; i < l->n_segments; i++) {
		const struct elf_segment *g = &l->segments[i];
		uint64_t first_page = g->vaddr & ~(PAGE_BYTES - 1);

		if (g->executable && vaddr >= first_page &&
		    vaddr - first_page < g->file_bytes + (g->vaddr - first_page))
			return g;
	}
	return NULL;
}

int symbolizer_find_file(struct symbolizer *s, const struct symbol_mapping *m,
			 struct symbol_file *ret)
{
	const struct object *o = m->path[0] == '/' ? object_cache_get(s->objects, &m->id) : NULL;
	const struct elf_segment *g;
	uint64_t vaddr, lead;

	if (!o || o->status != 0 || elf_layout_address(o->layout, m->file_offset, &vaddr) < 0)
		return -ENOENT;
	g = find_segment(o->layout, vaddr);
	if (!g)
		return -ENOENT;
	lead = g->vaddr & (PAGE_BYTES - 1);
	*ret = (struct symbol_file){
		.number = o->number,
		.path = m->path,
		.name = o->name,
		.start = g->vaddr - lead,
		.end = (g->vaddr + g->file_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1),
		.offset = g->offset & ~(PAGE_BYTES - 1),
		.to_address = vaddr - m->start,
		.relocatable = o->layout->relocatable,
	};
	for (size_t i = 0; i < o->layout->gnu_build_id_bytes; i++)
		snprintf(ret->build_id + 2 * i, 3, "%02x", o->layout->gnu_build_id[i]);
	return 0;
}

const struct symbol_location *symbolizer_frame(struct symbolizer *s, const char *function,
					       const char *file)
{
	char safe_function[LIMIT_SYMBOL_NAME_BYTES + 1], safe_file[LIMIT_SYMBOL_NAME_BYTES + 1];
	size_t len;

	len = strnlen(function, sizeof(safe_function) - 1);
	memcpy(safe_function, function, len);
	safe_function[utf8_make_printable(safe_function, len)] = '\0';
	len = strnlen(file, sizeof(safe_file) - 1);
	memcpy(safe_file, file, len);
	safe_file[utf8_make_printable(safe_file, len)] = '\0';
	for (char *p = safe_file; *p; p++) {
		if (*p == ' ')
			*p = '_';
	}
	return intern(s, safe_function, safe_file);
}

void symbolizer_end_profile(struct symbolizer *s)
{
	frame_cache_end_profile(s->frames);
}

void symbolizer_end_cycle(struct symbolizer *s)
{
	metric_set(&symbol_metrics[SYMBOL_METRIC_FRAME_BYTES], frame_cache_bytes(s->frames));
	table_cache_shrink(s->tables, s->kept_tables_bytes);
	metric_set(&symbol_metrics[SYMBOL_METRIC_TABLE_BYTES], table_cache_bytes(s->tables));
	metric_set(&symbol_metrics[SYMBOL_METRIC_KERNEL_BYTES], kernel_symbols_bytes(s->kernel));
	metric_set(&symbol_metrics[SYMBOL_METRIC_FILES], object_cache_count(s->objects));
	frame_cache_end_cycle(s->frames);
	object_cache_end_cycle(s->objects);
	debug_symbols_end_cycle(s->debug);
	metric_set(&symbol_metrics[SYMBOL_METRIC_DEBUG_DATA_BYTES], debug_symbols_bytes(s->debug));
	perf_map_files_end_cycle(s->perf_maps);
	if (s->lines)
		line_reader_end_cycle(s->lines);
	metric_set(&symbol_metrics[SYMBOL_METRIC_PERF_MAP_BYTES],
		   perf_map_files_bytes(s->perf_maps));
	metric_set(&symbol_metrics[SYMBOL_METRIC_PERF_MAPS], perf_map_files_count(s->perf_maps));
}
