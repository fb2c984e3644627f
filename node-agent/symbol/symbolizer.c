/*
 * Names are asked for millions of times and found out rarely. So an address goes through layers,
 * the cheapest first: the location of this address of this file (frame_cache.h); what is known
 * about the file (object_cache.h); Go's functions and lines (go_location.h); the names of the
 * file's functions (object_names.h), with the lines of DWARF (native_lines.h), or of an assembly of
 * .NET those of its methods (dotnet_image.h); and if nothing has a name, the exception tables at
 * least say where the function begins, or its code does (unnamed_functions.h).
 *
 * Every layer has a limit of its own, and what does not fit is evicted and read again. Most symbol
 * tables go at the end of a cycle: they serve addresses that are sampled for the first time, and a
 * build machine runs hundreds of programs once. The exception is locations: a profile that is
 * being built points to them. When they are too many, further functions are shown as
 * "<file>+0x<start>", which is short enough for some spare memory and still tells them apart in a
 * flame graph. The reasons are counted, one per address.
 *
 * Files belong to other people: they are read with pread(2) and a size limit, and if their
 * file system may hang, on a thread with a deadline.
 */
#include "node-agent/symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>

#include "common/debuginfod/debuginfod_client.h"
#include "common/elf/eh_function.h"
#include "common/elf/signal_return.h"
#include "common/limits.h"
#include "common/symbols/demangle.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/text/utf8.h"
#include "common/thread/deadline_call.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/symbol/debug_symbols.h"
#include "node-agent/symbol/dotnet_image.h"
#include "node-agent/symbol/go_location.h"
#include "node-agent/symbol/kernel_symbols.h"
#include "node-agent/symbol/line_budget.h"
#include "node-agent/symbol/native_lines.h"
#include "node-agent/symbol/object_cache.h"
#include "node-agent/symbol/object_names.h"
#include "node-agent/symbol/perf_map_files.h"
#include "node-agent/symbol/symbol_metrics.h"
#include "node-agent/symbol/table_cache.h"
#include "node-agent/symbol/unnamed_functions.h"

#define DEFAULT_TABLE_BUDGET_BYTES (8 * MIB)
#define DEFAULT_FRAME_LIMIT_BYTES (3 * MIB)
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
	struct debuginfod_client *debuginfod; /* NULL: none */
	struct unnamed_functions *unnamed;
	struct native_lines *lines;     /* NULL: without line numbers of native code */
	struct deadline_caller *caller; /* for files that may hang */
	enum symbol_metric outcome;     /* of the address being resolved */
	size_t kept_tables_bytes;
	void *vdso; /* our copy of it; NULL: not needed yet, or there is none */
	size_t vdso_bytes;
	bool vdso_tried;
	uint32_t weight; /* of what is being resolved */
	struct object_names names;
	struct image_pdbs *pdbs;
	struct dotnet_image_names dotnet_names;
	struct perf_map_name jit_name;
	struct gopclntab_line go_line;
};

/* If no other can be stored. */
static const struct symbol_location location_of_last_resort = {
	.n = 1, .frames = {{.function = "[unknown]", .file = ""}}};

static void start_lines(struct symbolizer *s, const struct symbolizer_config *cfg)
{
	int r = native_lines_new(&s->lines, s->frames, cfg->line_program);

	if (r == 0 && cfg->line_patience > 0)
		native_lines_set_patience(s->lines, cfg->line_patience);
	else if (r == 0)
		native_lines_limit(s->lines, LINE_BUDGET_NS);
	if (r < 0)
		log_warn("cannot start the process that reads line numbers; native code has none",
			 "error=\"%s\"", strerror(-r));
}

static void stop_lines(struct symbolizer *s)
{
	log_warn("the process that reads line numbers and the one that restarts it have ended; "
		 "native code has no lines until the agent is restarted",
		 NULL);
	native_lines_free(TAKE_PTR(s->lines));
}

int symbolizer_new(struct symbolizer **ret, const struct symbolizer_config *cfg)
{
	CLEANUP(symbolizer_freep) struct symbolizer *s = calloc(1, sizeof(*s));
	size_t budget =
		cfg->table_budget_bytes ? cfg->table_budget_bytes : DEFAULT_TABLE_BUDGET_BYTES;
	const char *proc_root = cfg->proc_root ?: "/proc";
	int r;

	if (!s) {
		debuginfod_client_free(cfg->debuginfod);
		return -ENOMEM;
	}
	s->debuginfod = cfg->debuginfod;
	if (budget < TABLE_BUDGET_MIN_BYTES)
		budget = TABLE_BUDGET_MIN_BYTES;
	s->names.table_max_bytes = budget / 2;
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
		r = unnamed_functions_new(&s->unnamed);
	if (r == 0)
		r = image_pdbs_new(&s->pdbs, proc_root, s->caller);
	if (r == 0)
		r = perf_map_files_new(&s->perf_maps, proc_root, s->caller, budget);
	if (r < 0)
		return r;
	s->names.tables = s->tables;
	s->names.debug = s->debug;
	debug_symbols_set_debuginfod(s->debug, s->debuginfod);
	s->dotnet_names = (struct dotnet_image_names){
		.tables = s->tables, .table_max_bytes = s->names.table_max_bytes, .pdbs = s->pdbs};
	if (cfg->line_numbers)
		start_lines(s, cfg);
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
	debuginfod_client_free(s->debuginfod);
	table_cache_free(s->tables);
	kernel_symbols_free(s->kernel);
	perf_map_files_free(s->perf_maps);
	unnamed_functions_free(s->unnamed);
	image_pdbs_free(s->pdbs);
	native_lines_free(s->lines);
	deadline_caller_free(s->caller);
	free(s->vdso);
	free(s);
}

int symbolizer_register_metrics(struct metrics *ms)
{
	return symbol_metrics_register(ms);
}

void symbolizer_set_weight(struct symbolizer *s, uint64_t weight)
{
	s->weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
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
	snprintf(s->names.name, sizeof(s->names.name), "%s+0x%" PRIx64, o->name, address);
	return intern(s, s->names.name, o->unnamed_label ?: o->label);
}

static const struct symbol_location *unknown(struct symbolizer *s)
{
	s->outcome = SYMBOL_METRIC_NO_MAPPING;
	return intern(s, "[unknown]", "");
}

/*
 * The location of an address of Go code. Returns 0, -ENOENT if it is none or lines cannot be found,
 * or why the file cannot be read.
 */
static int find_go(struct symbolizer *s, const struct object_use *u, uint64_t vaddr,
		   const struct symbol_location **ret)
{
	const struct gopclntab *go = object_names_go(u);
	const struct go_location_file f = {
		.table = go,
		.layout = u->object->layout,
		.src = u->src,
		.gofunc = u->object->gofunc,
		.label = u->object->label,
		.extra_bytes = &u->object->lines_bytes,
	};

	if (!go || !gopclntab_covers(go, vaddr) || frame_cache_is_filling(s->frames))
		return -ENOENT;
	return go_location_find(s->frames, &f, vaddr, &s->go_line, ret);
}

/*
 * So that the samples of a function without a name are together; the address itself if unknown.
 * Exception tables say it, or else the code itself.
 */
static uint64_t function_start(struct symbolizer *s, const struct object_use *u, uint64_t address,
			       bool *final)
{
	const struct unnamed_file f = {u->object->number, u->object->layout, u->src};
	uint64_t start, end = 0;
	int r;

	if (eh_function_before(f.layout, f.src, address, &start, &end) == 0 && address < end)
		return start;
	r = unnamed_functions_find(s->unnamed, &f, address, end, &start);
	*final &= r != -EAGAIN && !object_names_may_change(r);
	return r == 0 ? start : address;
}

/*
 * The location of an address of native code with DWARF, whose name is in s->names.name or is "".
 * Returns 0, -EAGAIN if a later cycle may know it, -EINPROGRESS if it will replace the one in the
 * cache, or another error.
 */
static int find_lines(struct symbolizer *s, const struct object_use *u, uint64_t vaddr,
		      const struct symbol_location **ret)
{
	struct object *o = u->object;
	struct native_lines_file file = {
		.number = o->number,
		.label = o->label,
		.weight = s->weight,
		.left_ns = &o->lines_ns,
	};
	struct debug_file dwarf;
	int r;

	if (!s->lines || o->lines_failed || frame_cache_is_filling(s->frames))
		return -ENOENT;
	r = object_names_find_dwarf(&s->names, u, &dwarf);
	if (r < 0)
		return r;
	file.fd = dwarf.fd;
	file.package_fd = object_names_find_package(&s->names, u);
	file.size_bytes = dwarf.id.size_bytes;
	r = native_lines_find(s->lines, &file, vaddr, *s->names.name ? s->names.name : NULL, ret);
	o->lines_failed = r == -EFBIG || r == -EIO;
	if (r == -EPIPE)
		stop_lines(s);
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
	case -ENOTSUP:
		return SYMBOL_METRIC_NOT_SUPPORTED;
	case -ENOMEM:
		return SYMBOL_METRIC_NO_MEMORY;
	default:
		return SYMBOL_METRIC_NO_FILE;
	}
}

/* Looks for what an address stands for. *ret_final: another try would have the same result. */
static const struct symbol_location *name_address(struct symbolizer *s, const struct object_use *u,
						  uint64_t address, bool *ret_final)
{
	const struct symbol_location *location;
	int r = find_go(s, u, address, &location), lines;

	*ret_final = true;
	s->outcome = SYMBOL_METRIC_RESOLVED;
	if (r == 0)
		return location;
	r = object_names_find(&s->names, u, address);
	*ret_final = !object_names_may_change(r);
	s->outcome = outcome_of_name(r);
	lines = find_lines(s, u, address, &location);
	if (lines == 0) {
		s->outcome = SYMBOL_METRIC_RESOLVED;
		return location;
	}
	*ret_final &= lines != -EAGAIN;
	if (r == 0) {
		const struct symbol_frame frame = {.function = s->names.name,
						   .file = u->object->label};

		r = frame_cache_intern(s->frames, &frame, 1, &location);
		if (r == 0)
			return location;
		s->outcome = outcome_of_full(r);
		r = -ENOENT;
	}
	if (r == -ENOENT || r == -EAGAIN)
		address = function_start(s, u, address, ret_final);
	return unresolved(s, u->object, address);
}

/*
 * The same for a return address, or rather the byte before it. If a signal handler returns to it,
 * that byte is not of the code that it stands for, which only some files have a symbol for.
 */
static const struct symbol_location *name_caller(struct symbolizer *s, const struct object_use *u,
						 uint64_t address, bool *ret_final)
{
	const struct symbol_location *location;
	const struct symbol_frame signal_return = {.function = SYMBOL_SIGNAL_RETURN,
						   .file = u->object->label};

	if (!signal_return_is_at(u->object->layout, u->src, address + 1))
		return name_address(s, u, address, ret_final);
	location = name_address(s, u, address + 1, ret_final);
	if (s->outcome == SYMBOL_METRIC_NO_SYMBOL &&
	    frame_cache_intern_spare(s->frames, &signal_return, &location) == 0)
		s->outcome = SYMBOL_METRIC_RESOLVED;
	return location;
}

/* The location of a method of .NET that was compiled ahead of time, at an RVA of its image. */
static const struct symbol_location *name_method(struct symbolizer *s, const struct object_use *u,
						 uint32_t rva, bool *ret_final)
{
	struct symbol_frame frame = {.function = s->dotnet_names.name, .file = u->object->label};
	const struct symbol_location *location;
	int r;

	s->dotnet_names.use = (struct image_use){
		.number = u->object->number,
		.path = u->mapping->path,
		.pid = u->mapping->pid,
		.start_time = u->mapping->start_time,
	};
	r = dotnet_image_find(&s->dotnet_names, u->object->dotnet, u->src, rva);
	*ret_final = !object_names_may_change(r);
	s->outcome = outcome_of_name(r);
	if (r == 0 && s->dotnet_names.at.line > 0) {
		frame.file = s->dotnet_names.at.file;
		frame.line = s->dotnet_names.at.line;
	}
	if (r == 0) {
		r = frame_cache_intern(s->frames, &frame, 1, &location);
		if (r == 0)
			return location;
		s->outcome = outcome_of_full(r);
	}
	return unresolved(s, u->object, s->dotnet_names.start);
}

/* What an address in an object is called by the file: a virtual address, or an RVA. */
static int find_address(const struct object *o, uint64_t file_offset, uint64_t *ret)
{
	uint32_t rva;
	int r = o->status;

	if (o->dotnet) {
		r = pe_image_rva(&o->dotnet->pe, file_offset, &rva);
		if (r == 0)
			*ret = rva;
		return r;
	}
	return r == 0 ? elf_layout_address(o->layout, file_offset, ret) : r;
}

static const struct symbol_location *resolve_in_object(struct symbolizer *s,
						       const struct object_use *u,
						       uint64_t file_offset,
						       enum symbol_address_kind kind)
{
	const struct object *o = u->object;
	const struct symbol_location *location;
	uint64_t address = file_offset;
	bool final = true;
	int r = find_address(o, file_offset, &address);

	location = frame_cache_get(s->frames, o->number, address);
	if (location) {
		s->outcome = SYMBOL_METRIC_CACHED;
		return location;
	}
	if (r < 0) {
		s->outcome = SYMBOL_METRIC_BAD_ELF;
		location = unresolved(s, o, address);
	} else if (!u->src->data && u->src->fd < 0) {
		s->outcome = SYMBOL_METRIC_NO_FILE;
		final = false; /* next time it may be possible to open the file */
		location = unresolved(s, o, address);
	} else if (o->dotnet) {
		location = name_method(s, u, (uint32_t)address, &final);
	} else if (kind == SYMBOL_ADDRESS_RETURN) {
		location = name_caller(s, u, address, &final);
	} else {
		location = name_address(s, u, address, &final);
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
	snprintf(s->names.name, sizeof(s->names.name), "%s+0x%" PRIx64, name, file_offset);
	return intern(s, s->names.name, file);
}

/*
 * The program has made this code while it ran. Not remembered by address: another function may be
 * there in the next cycle.
 */
static const struct symbol_location *resolve_jit(struct symbolizer *s,
						 const struct symbol_mapping *m, uint64_t address)
{
	const struct jit_process process = {m->pid, m->start_time, m->jit_files};
	const struct symbol_location *location;
	struct symbol_frame frame;

	if (m->pid <= 0 || perf_map_files_find(s->perf_maps, &process, address,
					       clock_monotonic_ns(), &s->jit_name) < 0)
		return unknown(s);
	frame = (struct symbol_frame){s->jit_name.function, s->jit_name.file, s->jit_name.line};
	if (s->jit_name.at_line > 0)
		frame = (struct symbol_frame){s->jit_name.function, s->jit_name.file,
					      s->jit_name.at_line, s->jit_name.line};
	s->outcome = SYMBOL_METRIC_JIT;
	if (frame_cache_intern(s->frames, &frame, 1, &location) == 0)
		return location;
	s->outcome = SYMBOL_METRIC_FRAMES_FULL;
	return intern(s, "[unknown]", "");
}

static const struct symbol_location *resolve_user(struct symbolizer *s,
						  const struct symbol_mapping *m, uint64_t address,
						  enum symbol_address_kind kind)
{
	struct file_id id;
	uint64_t file_offset;
	struct byte_source src;
	struct object_use use;
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
	use = (struct object_use){o, &src, m};
	return resolve_in_object(s, &use, file_offset, kind);
}

const struct symbol_location *symbolizer_resolve_user(struct symbolizer *s,
						      const struct symbol_mapping *mapping,
						      uint64_t address,
						      enum symbol_address_kind kind)
{
	const struct symbol_location *l =
		resolve_user(s, mapping, symbol_code_address(address, kind), kind);

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
	demangle(name, s->names.name, sizeof(s->names.name));
	/*
	 * there is no shorter text for a function of the kernel; its addresses stay in the
	 * kernel
	 */
	location = intern(s, s->names.name, "[kernel]");
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
	elf_layout_build_id_text(o->layout, ret->build_id);
	return 0;
}

static void make_printable(char to[LIMIT_SYMBOL_NAME_BYTES + 1], const char *from)
{
	size_t len = strnlen(from, LIMIT_SYMBOL_NAME_BYTES);

	memcpy(to, from, len);
	to[utf8_make_printable(to, len)] = '\0';
}

const struct symbol_location *symbolizer_known_frame(struct symbolizer *s,
						     const struct symbol_frame *frame)
{
	char function[LIMIT_SYMBOL_NAME_BYTES + 1], file[LIMIT_SYMBOL_NAME_BYTES + 1];
	const struct symbol_frame safe = {function, file, frame->line, frame->start_line};
	const struct symbol_location *location;

	make_printable(function, frame->function);
	make_printable(file, frame->file);
	for (char *p = file; *p; p++) {
		if (*p == ' ')
			*p = '_';
	}
	if (frame->line > 0 && frame_cache_intern(s->frames, &safe, 1, &location) == 0)
		return location;
	return intern(s, function, file);
}

const struct symbol_location *symbolizer_frame(struct symbolizer *s, const char *function,
					       const char *file)
{
	return symbolizer_known_frame(s,
				      &(struct symbol_frame){.function = function, .file = file});
}

bool symbolizer_work(struct symbolizer *s, uint64_t timeout_ns)
{
	int r = s->lines ? native_lines_work(s->lines, timeout_ns) : 0;

	if (r == -EPIPE)
		stop_lines(s);
	return r > 0;
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
	unnamed_functions_end_cycle(s->unnamed);
	image_pdbs_end_cycle(s->pdbs);
	metric_set(&symbol_metrics[SYMBOL_METRIC_DEBUG_DATA_BYTES], debug_symbols_bytes(s->debug));
	perf_map_files_end_cycle(s->perf_maps);
	if (s->lines)
		native_lines_end_cycle(s->lines);
	metric_set(&symbol_metrics[SYMBOL_METRIC_PERF_MAP_BYTES],
		   perf_map_files_bytes(s->perf_maps));
	metric_set(&symbol_metrics[SYMBOL_METRIC_PERF_MAPS], perf_map_files_count(s->perf_maps));
}
