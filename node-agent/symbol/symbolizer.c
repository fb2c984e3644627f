/*
 * Names are asked for millions of times and found out rarely. So an address goes through
 * layers, the cheapest first: the frame of this address of this file (frame_cache.h); what is
 * known about the file (object_cache.h); its symbols, one part of the file at a time
 * (table_cache.h), Go's own table of functions before those of ELF, because Go programs are
 * often stripped of the others; the PLT; and if nothing has a name, the exception tables at
 * least say where the function begins.
 *
 * Every layer has a limit of its own, and what does not fit is evicted and read again. The
 * exception is frames: a profile that is being built points to them. When they are too many,
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
#include "common/text/utf8.h"
#include "common/thread/deadline_call.h"
#include "node-agent/elf/eh_function.h"
#include "node-agent/elf/elf_plt.h"
#include "node-agent/elf/elf_symbols.h"
#include "node-agent/symbol/demangle.h"
#include "node-agent/symbol/kernel_symbols.h"
#include "node-agent/symbol/object_cache.h"
#include "node-agent/symbol/symbol_metrics.h"
#include "node-agent/symbol/table_cache.h"
#include "node-agent/symbol/vdso_image.h"

#define DEFAULT_TABLE_BUDGET_BYTES (8 * MIB)
#define DEFAULT_FRAME_LIMIT_BYTES (8 * MIB)
#define DEFAULT_ADDRESSES 16384u
#define TABLE_BUDGET_MIN_BYTES 65536u
#define READ_TIMEOUT_NS NS_PER_S
#define HUNG_PAUSE_NS (60 * NS_PER_S)

struct symbolizer {
	struct frame_cache *frames;
	struct object_cache *objects;
	struct table_cache *tables;
	struct kernel_symbols *kernel;
	struct deadline_caller *caller; /* for files that may hang */
	enum symbol_metric outcome;     /* of the address being resolved */
	size_t table_max_bytes; /* of one table, so that a big file does not push out all others */
	void *vdso;             /* our copy of it; NULL: not needed yet, or there is none */
	size_t vdso_bytes;
	bool vdso_tried;
	char raw[DEMANGLE_INPUT_MAX_BYTES + 1]; /* name as in the file */
	char name[LIMIT_SYMBOL_NAME_BYTES + 1]; /* name as shown */
};

/* If no other can be stored. */
static const struct symbol_frame frame_of_last_resort = {"[unknown]", ""};

int symbolizer_new(struct symbolizer **ret, const struct symbolizer_config *cfg)
{
	CLEANUP(symbolizer_freep) struct symbolizer *s = calloc(1, sizeof(*s));
	size_t budget =
		cfg->table_budget_bytes ? cfg->table_budget_bytes : DEFAULT_TABLE_BUDGET_BYTES;
	int r;

	if (!s)
		return -ENOMEM;
	if (budget < TABLE_BUDGET_MIN_BYTES)
		budget = TABLE_BUDGET_MIN_BYTES;
	s->table_max_bytes = budget / 2;
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
		r = kernel_symbols_new(&s->kernel, cfg->proc_root ? cfg->proc_root : "/proc");
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	frame_cache_free(s->frames);
	object_cache_free(s->objects);
	table_cache_free(s->tables);
	kernel_symbols_free(s->kernel);
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

static const struct symbol_frame *intern(struct symbolizer *s, const char *function,
					 const char *file)
{
	const struct symbol_frame *frame;
	int r = frame_cache_intern_spare(s->frames, function, file, &frame);

	if (r == 0)
		return frame;
	s->outcome = outcome_of_full(r);
	return &frame_of_last_resort;
}

static const struct symbol_frame *unresolved(struct symbolizer *s, const struct object *o,
					     uint64_t address)
{
	snprintf(s->name, sizeof(s->name), "%s+0x%" PRIx64, o->name, address);
	return intern(s, s->name, o->label);
}

static const struct symbol_frame *unknown(struct symbolizer *s)
{
	s->outcome = SYMBOL_METRIC_NO_MAPPING;
	return intern(s, "[unknown]", "");
}

/* Whether another try later may do better. */
static bool is_passing(int error)
{
	return error == -ENOMEM || error == -ETIMEDOUT || error == -EBUSY;
}

static const struct elf_symbol_table *get_table(struct symbolizer *s, struct object *o,
						const struct byte_source *src, uint64_t vaddr,
						int *ret_error)
{
	const struct elf_symbol_table *t = table_cache_get(s->tables, o->key, vaddr);
	struct elf_symbol_table *fresh;
	int r;

	if (t)
		return t;
	if (o->symbols_failed || !elf_layout_is_text(o->layout, vaddr)) {
		*ret_error = -ENOENT;
		return NULL;
	}
	r = elf_symbol_table_new(&fresh, o->layout, src, vaddr, s->table_max_bytes);
	if (r < 0) {
		o->symbols_failed = !is_passing(r);
		*ret_error = r;
		return NULL;
	}
	table_cache_adopt(s->tables, o->key, fresh);
	return fresh;
}

static const struct gopclntab *get_go(struct object *o, const struct byte_source *src)
{
	if (!o->go_tried) {
		int r = gopclntab_open(&o->go, o->layout, src);

		if (r < 0)
			o->go.n_functions = 0;
		o->go_tried = !is_passing(r);
	}
	return o->go.n_functions > 0 ? &o->go : NULL;
}

/*
 * Stores the readable name in s->name. Returns 0, -ENOENT if there is none, or why it cannot be
 * found out.
 */
static int find_name(struct symbolizer *s, struct object *o, const struct byte_source *src,
		     uint64_t vaddr)
{
	const struct gopclntab *go = get_go(o, src);
	const struct elf_symbol_table *t;
	int r = -ENOENT;

	if (go && gopclntab_covers(go, vaddr) &&
	    gopclntab_find(go, src, vaddr, s->raw, sizeof(s->raw)) == 0) {
		/* not mangled, and "@" is no version */
		size_t len = strnlen(s->raw, sizeof(s->name) - 1);

		memcpy(s->name, s->raw, len);
		s->name[utf8_make_printable(s->name, len)] = '\0';
		return 0;
	}
	t = get_table(s, o, src, vaddr, &r);
	if (t)
		r = elf_symbol_table_find(t, o->layout, src, vaddr, s->raw, sizeof(s->raw));
	if (r == 0) {
		demangle(s->raw, s->name, sizeof(s->name));
		return 0;
	}
	if (r == -ENOENT) {
		r = elf_plt_find(o->layout, src, vaddr, s->raw, sizeof(s->raw));
		if (r == 0) {
			size_t len = demangle(s->raw, s->name, sizeof(s->name) - 4);

			memcpy(s->name + len, "@plt", 5);
		}
	}
	return r;
}

/* So that the samples of a function without a name are together; the address itself if unknown. */
static uint64_t function_start(const struct object *o, const struct byte_source *src,
			       uint64_t address)
{
	uint64_t start;

	return eh_function_start(o->layout, src, address, &start) == 0 ? start : address;
}

static enum symbol_metric outcome_of_name(int r)
{
	switch (r) {
	case 0:
		return SYMBOL_METRIC_RESOLVED;
	case -ENOENT:
		return SYMBOL_METRIC_NO_SYMBOL;
	case -EFBIG:
		return SYMBOL_METRIC_TOO_BIG;
	case -ENOMEM:
		return SYMBOL_METRIC_NO_MEMORY;
	default:
		return SYMBOL_METRIC_NO_FILE;
	}
}

/* Looks for the name of an address. *ret_final: another try would have the same result. */
static const struct symbol_frame *name_address(struct symbolizer *s, struct object *o,
					       const struct byte_source *src, uint64_t address,
					       bool *ret_final)
{
	const struct symbol_frame *frame;
	int r = find_name(s, o, src, address);

	*ret_final = !is_passing(r);
	s->outcome = outcome_of_name(r);
	if (r == 0) {
		r = frame_cache_intern(s->frames, s->name, o->label, &frame);
		if (r == 0)
			return frame;
		s->outcome = outcome_of_full(r);
		r = -ENOENT;
	}
	return unresolved(s, o, r == -ENOENT ? function_start(o, src, address) : address);
}

static const struct symbol_frame *resolve_in_object(struct symbolizer *s, struct object *o,
						    const struct byte_source *src,
						    uint64_t file_offset)
{
	const struct symbol_frame *frame;
	uint64_t address = file_offset;
	bool final = true;
	int r = o->status;

	if (r == 0)
		r = elf_layout_address(o->layout, file_offset, &address);
	frame = frame_cache_get(s->frames, o->number, address);
	if (frame) {
		s->outcome = SYMBOL_METRIC_CACHED;
		return frame;
	}
	if (r < 0) {
		s->outcome = SYMBOL_METRIC_BAD_ELF;
		frame = unresolved(s, o, address);
	} else if (!src->data && src->fd < 0) {
		s->outcome = SYMBOL_METRIC_NO_FILE;
		final = false; /* next time it may be possible to open the file */
		frame = unresolved(s, o, address);
	} else {
		frame = name_address(s, o, src, address, &final);
	}
	if (final && frame != &frame_of_last_resort)
		frame_cache_put(s->frames, o->number, address, frame);
	return frame;
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
static const struct symbol_frame *resolve_unreadable(struct symbolizer *s, const char *path,
						     uint64_t file_offset)
{
	AUTO_FREE char *name = object_name_of_path(path);
	char file[OBJECT_NAME_MAX_BYTES + 3];

	s->outcome = name ? SYMBOL_METRIC_NO_FILE : SYMBOL_METRIC_NO_MEMORY;
	if (!name)
		return &frame_of_last_resort;
	snprintf(file, sizeof(file), name[0] == '[' ? "%s" : "[%s]", name);
	snprintf(s->name, sizeof(s->name), "%s+0x%" PRIx64, name, file_offset);
	return intern(s, s->name, file);
}

static const struct symbol_frame *resolve_user(struct symbolizer *s, const struct symbol_mapping *m,
					       uint64_t address)
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
		return unknown(s);
	}
	o = object_cache_get(s->objects, &id);
	if (!o &&
	    ((!src.data && src.fd < 0) || object_cache_add(s->objects, &id, m->path, &src, &o) < 0))
		return resolve_unreadable(s, m->path, file_offset);
	return resolve_in_object(s, o, &src, file_offset);
}

/*
 * A return address may already belong to the next function: the byte before it is the call's
 * last.
 */
static uint64_t code_address(uint64_t address, enum symbol_address_kind kind)
{
	return kind == SYMBOL_ADDRESS_RETURN && address > 0 ? address - 1 : address;
}

void symbolizer_resolve_user(struct symbolizer *s, const struct symbol_mapping *mapping,
			     uint64_t address, enum symbol_address_kind kind,
			     struct symbol_frame_list *ret)
{
	*ret = (struct symbol_frame_list){resolve_user(s, mapping, code_address(address, kind)), 1};
	count(s->outcome);
}

/* Objects count up from 1, the kernel's generations down. */
static uint32_t kernel_number(const struct symbolizer *s)
{
	return UINT32_MAX - kernel_symbols_generation(s->kernel);
}

static const struct symbol_frame *resolve_kernel(struct symbolizer *s, uint64_t address)
{
	const struct symbol_frame *frame = frame_cache_get(s->frames, kernel_number(s), address);
	const char *name = NULL;

	if (frame) {
		s->outcome = SYMBOL_METRIC_CACHED;
		return frame;
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
	frame = intern(s, s->name, "[kernel]");
	if (frame != &frame_of_last_resort)
		frame_cache_put(s->frames, kernel_number(s), address, frame);
	return frame;
}

void symbolizer_resolve_kernel(struct symbolizer *s, uint64_t address,
			       enum symbol_address_kind kind, struct symbol_frame_list *ret)
{
	*ret = (struct symbol_frame_list){resolve_kernel(s, code_address(address, kind)), 1};
	count(s->outcome);
}

const struct symbol_frame *symbolizer_frame(struct symbolizer *s, const char *function,
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
	metric_set(&symbol_metrics[SYMBOL_METRIC_TABLE_BYTES], table_cache_bytes(s->tables));
	metric_set(&symbol_metrics[SYMBOL_METRIC_KERNEL_BYTES], kernel_symbols_bytes(s->kernel));
	metric_set(&symbol_metrics[SYMBOL_METRIC_FILES], object_cache_count(s->objects));
	frame_cache_end_cycle(s->frames);
	object_cache_end_cycle(s->objects);
}
