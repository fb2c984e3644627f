/*
 * The image has its functions in the order of their code, but says of a method which function it
 * is: by row of MethodDef, and for generic methods with arguments in a hash table by their
 * signature. So both are read once, and turned around: 8 bytes for each method that has code.
 *
 * A method's handlers of exceptions are functions of their own right behind it, so a function
 * belongs to the last method that begins at it or before.
 */
#include "node-agent/dotnet/ready_to_run.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/data/word_sort.h"
#include "common/elf/file_windows.h"
#include "node-agent/dotnet/debug_bounds.h"
#include "node-agent/dotnet/dotnet_names.h"
#include "node-agent/dotnet/method_signature.h"
#include "node-agent/dotnet/native_reader.h"

#define SIGNATURE UINT32_C(0x00525452) /* "RTR" */
#define HEADER_BYTES 16u
#define SECTION_BYTES 12u
#define SECTIONS_MAX 64u
#define MAJOR_MIN 2u /* of .NET Core 2; their tables are the same since */
#define MAJOR_MAX 26u
#define FUNCTION_BYTES_X86_64 12u
#define FUNCTION_BYTES_ARM64 8u
#define BUCKETS_MAX 65536u
#define MAJOR_PACKED 16u /* of the debug information; .NET 10's */
#define MAJOR_PACKED_WIDE 17u
#define COLD_MAX_BYTES (16u * 1024 * 1024)

enum section_type {
	SECTION_FUNCTIONS = 102,
	SECTION_METHODS = 103,
	SECTION_DEBUG = 105,
	SECTION_INSTANCES = 109,
	SECTION_COMPONENTS = 115,
	SECTION_OWNER_COMPOSITE = 116,
	SECTION_COLD = 120,
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- the header ---- */

static int add_section(struct ready_to_run *r, const uint8_t *raw)
{
	struct pe_range range = {get32(raw + 4), get32(raw + 8)};

	switch (get32(raw)) {
	case SECTION_FUNCTIONS:
		r->functions = range;
		return 0;
	case SECTION_METHODS:
		r->methods = range;
		return 0;
	case SECTION_INSTANCES:
		r->instances = range;
		return 0;
	case SECTION_COLD:
		r->cold = range;
		return 0;
	case SECTION_DEBUG:
		r->debug = range;
		return 0;
	case SECTION_COMPONENTS:
	case SECTION_OWNER_COMPOSITE:
		return -ENOTSUP;
	default:
		return 0;
	}
}

static int check(struct ready_to_run *r, const struct pe_image *pe)
{
	if (r->flags & READY_TO_RUN_COMPONENT || r->major < MAJOR_MIN || r->major > MAJOR_MAX)
		return -ENOTSUP;
	if (pe->machine == PE_MACHINE_X86_64)
		r->function_bytes = FUNCTION_BYTES_X86_64;
	else if (pe->machine == PE_MACHINE_ARM64)
		r->function_bytes = FUNCTION_BYTES_ARM64;
	else
		return -ENOTSUP;
	r->n_functions = r->functions.size_bytes / r->function_bytes;
	if (r->n_functions > READY_TO_RUN_FUNCTIONS_MAX)
		return -EBADMSG;
	return r->n_functions == 0 ? -ENOENT : 0;
}

int ready_to_run_open(struct ready_to_run *ret, const struct pe_image *pe,
		      const struct byte_source *src)
{
	uint8_t head[HEADER_BYTES], raw[SECTIONS_MAX * SECTION_BYTES];
	struct ready_to_run r = {0};
	uint32_t n;
	int e;

	if (pe->native_header.rva == 0)
		return pe->metadata.rva == 0 ? -ENOTSUP : -ENOENT;
	e = pe_image_read(pe, src, pe->native_header.rva, head, sizeof(head));
	if (e < 0)
		return e == -ENODATA ? -EBADMSG : e;
	if (get32(head) != SIGNATURE)
		return -ENOENT;
	r.major = get16(head + 4);
	r.minor = get16(head + 6);
	r.flags = get32(head + 8);
	n = get32(head + 12);
	if (n == 0 || n > SECTIONS_MAX)
		return -EBADMSG;
	e = pe_image_read(pe, src, pe->native_header.rva + HEADER_BYTES, raw, n * SECTION_BYTES);
	for (uint32_t i = 0; e == 0 && i < n; i++)
		e = add_section(&r, raw + (size_t)i * SECTION_BYTES);
	if (e == 0)
		e = check(&r, pe);
	if (e < 0)
		return e == -ENODATA ? -EBADMSG : e;
	*ret = r;
	return 0;
}

/* ---- functions ---- */

int ready_to_run_function(const struct ready_to_run *r, const struct pe_image *pe,
			  const struct byte_source *src, uint32_t index,
			  struct ready_to_run_function *ret)
{
	uint8_t raw[2 * FUNCTION_BYTES_X86_64];
	bool has_end = r->function_bytes == FUNCTION_BYTES_X86_64,
	     last = index + 1 >= r->n_functions;
	int e;

	if (index >= r->n_functions)
		return -EBADMSG;
	e = pe_image_read(pe, src, r->functions.rva + index * r->function_bytes, raw,
			  has_end || last ? r->function_bytes : 2 * r->function_bytes);
	if (e < 0)
		return e == -ENODATA ? -EBADMSG : e;
	*ret = (struct ready_to_run_function){.index = index, .start = get32(raw)};
	if (has_end) {
		ret->end = get32(raw + 4);
		ret->unwind = get32(raw + 8);
	} else {
		ret->end = last ? UINT32_MAX : get32(raw + r->function_bytes);
		ret->unwind = get32(raw + 4);
	}
	return ret->end < ret->start ? -EBADMSG : 0;
}

int ready_to_run_find(const struct ready_to_run *r, const struct pe_image *pe,
		      const struct byte_source *src, uint32_t rva,
		      struct ready_to_run_function *ret)
{
	uint32_t low = 0, high = r->n_functions; /* the first that begins behind it is in between */
	int e;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		e = ready_to_run_function(r, pe, src, middle, ret);
		if (e < 0)
			return e;
		if (ret->start <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return -ENOENT;
	e = ready_to_run_function(r, pe, src, low - 1, ret);
	if (e < 0)
		return e;
	return rva < ret->end ? 0 : -ENOENT;
}

/* ---- methods ---- */

struct ready_to_run_methods {
	size_t n;
	size_t n_cold;
	uint64_t *methods; /* function << 32 | method; ascending */
	uint64_t *cold;    /* likewise, the function that it was split off */
};

struct collector {
	struct native_reader reader;
	const struct ready_to_run *r;
	uint64_t *methods;
	size_t n, cap, max;
};

static int add(struct collector *c, uint32_t function, uint32_t method)
{
	int e;

	if (function >= c->r->n_functions)
		return -EBADMSG;
	if (c->n >= c->max)
		return -EFBIG;
	e = ARRAY_RESERVE(c->methods, c->cap, c->n + 1);
	if (e == 0)
		c->methods[c->n++] = (uint64_t)function << 32 | method;
	return e;
}

/* What is said of a method: the number of its function, and maybe where its fixups are. */
static uint32_t read_entry(struct native_reader *reader, uint32_t at)
{
	uint32_t id = 0;

	(void)native_read_unsigned(reader, at, &id);
	return id & 1 ? id >> 2 : id >> 1;
}

static int collect_methods(struct collector *c, const struct dotnet_metadata *md)
{
	struct native_array array;
	int e = 0;

	if (c->r->methods.rva == 0)
		return 0;
	native_array_open(&array, &c->reader, c->r->methods.rva);
	if (c->reader.error == 0 && array.n > md->n_rows[DOTNET_METHOD_DEF])
		return -EBADMSG;
	for (uint32_t i = 0; e == 0 && c->reader.error == 0 && i < array.n; i++) {
		uint32_t at = native_array_find(&array, &c->reader, i);

		if (at != 0 && c->reader.error == 0) {
			uint32_t function = read_entry(&c->reader, at);

			e = c->reader.error < 0 ? c->reader.error : add(c, function, i + 1);
		}
	}
	return e;
}

/* Those of one bucket of the hash table. */
static int collect_bucket(struct collector *c, uint32_t at, uint32_t end)
{
	int e = 0;

	while (e == 0 && at < end && c->reader.error == 0) {
		int32_t delta = 0;
		uint32_t to, next = native_read_signed(&c->reader, at + 1, &delta);
		uint32_t length = 0;

		if (c->reader.error < 0)
			break;
		to = at + 1 + (uint32_t)delta;
		e = method_signature_length(&c->reader, to, &length);
		if (e == 0) {
			uint32_t function = read_entry(&c->reader, to + length);

			e = c->reader.error;
			if (e == 0)
				e = to & READY_TO_RUN_INSTANCE
					    ? -EBADMSG
					    : add(c, function, to | READY_TO_RUN_INSTANCE);
		}
		at = next;
	}
	return e;
}

static int collect_instances(struct collector *c)
{
	uint32_t base = c->r->instances.rva, head, n, width;
	int e = 0;

	if (base == 0)
		return 0;
	head = native_read_number(&c->reader, base++, 1);
	n = UINT32_C(1) << (head >> 2 & 31);
	width = UINT32_C(1) << (head & 3);
	if (c->reader.error < 0 || n > BUCKETS_MAX || width > 4)
		return -EBADMSG;
	for (uint32_t i = 0; e == 0 && c->reader.error == 0 && i < n; i++) {
		uint32_t at = native_read_number(&c->reader, base + i * width, width);
		uint32_t end = native_read_number(&c->reader, base + (i + 1) * width, width);

		if (c->reader.error == 0)
			e = collect_bucket(c, base + at, base + end);
	}
	return e;
}

/* Pairs of a function that was split off, and that of the method. */
static int read_cold(struct ready_to_run_methods *m, struct native_reader *reader,
		     const struct ready_to_run *r)
{
	uint32_t n = r->cold.size_bytes / 8;

	if (r->cold.rva == 0 || n == 0 || r->cold.size_bytes > COLD_MAX_BYTES)
		return 0;
	m->cold = calloc(n, sizeof(*m->cold));
	if (!m->cold)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		m->cold[i] = (uint64_t)native_read_number(reader, r->cold.rva + 8 * i, 4) << 32 |
			     native_read_number(reader, r->cold.rva + 8 * i + 4, 4);
	if (reader->error < 0)
		return reader->error;
	word_sort(m->cold, n, sizeof(*m->cold));
	m->n_cold = n;
	return 0;
}

static int collect(struct ready_to_run_methods *m, struct collector *c,
		   const struct dotnet_metadata *md)
{
	int e = collect_methods(c, md);

	if (e == 0)
		e = collect_instances(c);
	if (e == 0)
		e = read_cold(m, &c->reader, c->r);
	if (e == 0)
		e = c->reader.error;
	m->methods = c->methods;
	m->n = c->n;
	if (e == 0 && m->n > 0)
		word_sort(m->methods, m->n, sizeof(*m->methods));
	return e == -ENODATA ? -EBADMSG : e;
}

int ready_to_run_methods_new(struct ready_to_run_methods **ret, const struct ready_to_run *r,
			     const struct pe_image *pe, const struct dotnet_metadata *md,
			     const struct byte_source *src, size_t max_bytes)
{
	CLEANUP(ready_to_run_methods_freep) struct ready_to_run_methods *m = calloc(1, sizeof(*m));
	CLEANUP(file_windows_freep) struct file_windows *windows = NULL;
	struct collector c = {.r = r, .max = max_bytes / sizeof(uint64_t) / 2};
	int e;

	if (!m)
		return -ENOMEM;
	e = file_windows_new(&windows, src);
	if (e < 0)
		return e;
	c.reader = (struct native_reader){.pe = pe, .src = src, .windows = windows};
	e = collect(m, &c, md);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(m);
	return 0;
}

void ready_to_run_methods_free(struct ready_to_run_methods *m)
{
	if (!m)
		return;
	free(m->methods);
	free(m->cold);
	free(m);
}

size_t ready_to_run_methods_bytes(const struct ready_to_run_methods *m)
{
	return sizeof(*m) + (m->n + m->n_cold) * sizeof(uint64_t);
}

/* The last of n words whose function is this one or one before it; UINT64_MAX: there is none. */
static uint64_t last_at(const uint64_t *words, size_t n, uint32_t function)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (words[middle] >> 32 <= function)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? words[low - 1] : UINT64_MAX;
}

int ready_to_run_methods_find(const struct ready_to_run_methods *m, uint32_t function,
			      uint32_t *ret, uint32_t *ret_first)
{
	uint32_t hot = (uint32_t)last_at(m->cold, m->n_cold, function);
	bool was_split_off = hot != UINT32_MAX;
	uint64_t found = last_at(m->methods, m->n, was_split_off ? hot : function);

	if ((uint32_t)found == UINT32_MAX)
		return -ENOENT;
	*ret = (uint32_t)found;
	*ret_first = was_split_off ? UINT32_MAX : (uint32_t)(found >> 32);
	return 0;
}

int ready_to_run_method_name(uint32_t method, const struct pe_image *pe,
			     const struct dotnet_metadata *md, const struct byte_source *src,
			     char *to, size_t cap)
{
	struct native_reader reader = {.pe = pe, .src = src};
	struct method_signature s;
	int e;

	if (!(method & READY_TO_RUN_INSTANCE))
		return dotnet_method_name(md, src, method, to, cap);
	e = method_signature_read(&reader, method & ~READY_TO_RUN_INSTANCE, &s);
	if (e < 0)
		return e;
	if (s.elsewhere)
		return -ENOTSUP;
	return s.member_ref ? dotnet_member_name(md, src, s.row, to, cap)
			    : dotnet_method_name(md, src, s.row, to, cap);
}

/* ---- lines ---- */

int ready_to_run_method_row(uint32_t method, const struct pe_image *pe,
			    const struct byte_source *src, uint32_t *ret)
{
	struct native_reader reader = {.pe = pe, .src = src};
	struct method_signature s = {.row = method};
	int e = 0;

	if (method & READY_TO_RUN_INSTANCE)
		e = method_signature_read(&reader, method & ~READY_TO_RUN_INSTANCE, &s);
	if (e < 0)
		return e;
	if (s.elsewhere || s.member_ref)
		return -ENOTSUP;
	*ret = s.row;
	return 0;
}

/*
 * The array has a place for each function. Functions whose information is the same share it: what
 * is there begins with how far it is back, or with 0 in front of its own.
 */
static uint32_t find_debug_info(const struct ready_to_run *r, struct native_reader *reader,
				uint32_t function)
{
	struct native_array array;
	uint32_t at, back = 0, next;

	native_array_open(&array, reader, r->debug.rva);
	at = native_array_find(&array, reader, function);
	if (at == 0)
		return 0;
	next = native_read_unsigned(reader, at, &back);
	return back == 0 ? next : back < at ? at - back : 0;
}

int ready_to_run_il_offset(const struct ready_to_run *r, const struct pe_image *pe,
			   const struct byte_source *src, uint32_t first, uint32_t native_offset,
			   uint32_t *ret)
{
	struct native_reader reader = {.pe = pe, .src = src};
	struct debug_info d = {
		.src = src,
		.form = r->major >= MAJOR_PACKED_WIDE ? DEBUG_BOUNDS_PACKED_WIDE
			: r->major >= MAJOR_PACKED    ? DEBUG_BOUNDS_PACKED
						      : DEBUG_BOUNDS_NIBBLES,
	};
	uint32_t rva = r->debug.rva == 0 ? 0 : find_debug_info(r, &reader, first);

	if (reader.error < 0)
		return reader.error == -ENODATA ? -EBADMSG : reader.error;
	if (rva == 0 || pe_image_offset(pe, rva, 1, &d.at) < 0)
		return -ENOENT;
	return debug_bounds_find(&d, native_offset, ret);
}
