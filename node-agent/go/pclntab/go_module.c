/*
 * moduledata has no magic number, and in a stripped program no symbol. But it has a shape:
 * words 20 to 23 (10 to 13 before 1.16) are bounds of code, minpc and maxpc within text and
 * etext, and its first word points to a pclntab, which itself must be valid and agree on the
 * first and last function. Practically nothing else in writable data matches that. The scan
 * checks the bounds first, which is cheap and rejects nearly every word. It reads memory
 * rather than the file, where relocations have been applied, so position-independent programs
 * are no exception.
 *
 * The pclntab is then read from the file if that has the same one: the names it leads to are
 * the same in all processes of the file, whatever one of them may have written into its
 * memory. The file does not have it in a packed program, nor before 1.18 in a
 * position-independent one, whose table has addresses that are relocated.
 */
#include "node-agent/go/pclntab/go_module.h"

#include <errno.h>

#define WORD_BYTES 8u
#define SCAN_STEP_BYTES 65536u
#define TEXT_MAX_BYTES (UINT64_C(1) << 32)
#define TABLE_MAX_BYTES (UINT64_C(1) << 32)
#define WORDS_MAX 80u /* 1.20 and 1.21 have 74 */
/* From minpc to enoptrbss: the order of these twelve words is the same in all releases. */
#define WORDS_OF_RANGES 12u

/* Indexes of words in moduledata. */
struct module_format {
	unsigned first_minor;
	uint8_t min_pc; /* followed by maxpc, text, etext, and the four ranges of data */
	uint8_t gofunc; /* 0 if there is none */
	uint8_t next;
};

static const struct module_format formats[] = {
	{27, 20, 43, 70}, {26, 20, 40, 73}, {23, 20, 40, 72}, {21, 20, 40, 73},
	{20, 20, 40, 70}, {18, 20, 38, 68}, {16, 20, 0, 66},  {0, 10, 0, 56},
};

/* A newer release is assumed to have the format of the newest that is known. */
static const struct module_format *format_of(unsigned minor)
{
	const struct module_format *f = formats;

	while (minor < f->first_minor)
		f++;
	return f;
}

/* The cheap check, which nearly all words of memory fail. `w` are the words from min_pc on. */
static bool are_bounds(const uint64_t *w)
{
	return w[2] != 0 && w[2] <= w[0] && w[0] < w[1] && w[1] <= w[3] &&
	       w[3] - w[2] < TEXT_MAX_BYTES;
}

/* The size of the pclntab: up to the end of its last part. */
static uint64_t table_bytes(const struct module_format *f, const uint64_t *w)
{
	uint64_t end;

	if (f->min_pc == 10)
		return w[1]; /* pclntable is one slice */
	/* the header's address, then one slice per part; the fifth, pclntable, ends last */
	if (__builtin_add_overflow(w[13], w[14], &end) || end < w[0])
		return 0;
	return end - w[0];
}

static struct go_module module_of(const struct module_format *f, const uint64_t *w,
				  uint64_t address)
{
	const uint64_t *ranges = w + f->min_pc + 4;
	struct go_module m = {
		.address = address,
		.text = {ranges[-2], ranges[-1]},
		.gofunc = f->gofunc ? w[f->gofunc] : 0,
		.next = w[f->next],
	};

	for (size_t i = 0; i < ARRAY_SIZE(m.data); i++)
		m.data[i] = (struct go_range){ranges[2 * i], ranges[2 * i + 1]};
	return m;
}

static int open_table(struct go_module *m, const struct byte_source *source, const uint64_t *w,
		      const struct module_format *f)
{
	int r = gopclntab_open_at(&m->table, source, w[0], table_bytes(f, w), m->text.start);

	if (r < 0)
		return r;
	/* both have the bounds of all functions; they differ if the table's are not relocated */
	if (m->table.first != w[f->min_pc] || m->table.end != w[f->min_pc + 1])
		return -ENOENT;
	m->source = source;
	return 0;
}

/* The inline trees of its functions must be in the file as well: since 1.18 all are in gofunc. */
static int open_table_of_file(struct go_module *m, const struct byte_source *file,
			      const uint64_t *w, const struct module_format *f)
{
	uint8_t byte;
	int r = open_table(m, file, w, f);

	if (r == 0 && f->gofunc)
		r = byte_source_read(file, m->gofunc, &byte, sizeof(byte));
	m->in_file = r == 0;
	return r;
}

int go_module_parse(struct go_module *ret, const struct byte_source *memory,
		    const struct byte_source *file, uint64_t address, unsigned minor)
{
	const struct module_format *f = format_of(minor);
	uint64_t w[WORDS_MAX], size;
	struct go_module m;
	int r;

	r = byte_source_read(memory, address, w, (f->next + 1u) * WORD_BYTES);
	if (r < 0)
		return r;
	size = table_bytes(f, w);
	if (!are_bounds(w + f->min_pc) || size == 0 || size > TABLE_MAX_BYTES)
		return -ENOENT;
	m = module_of(f, w, address);
	r = file ? open_table_of_file(&m, file, w, f) : -ENOENT;
	if (r < 0 && r != -ENOMEM)
		r = open_table(&m, memory, w, f);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	*ret = m;
	return 0;
}

static struct go_range without_bias(const struct go_range *r, uint64_t bias)
{
	return (struct go_range){r->start - bias, r->end - bias};
}

struct go_module_shape go_module_shape(const struct go_module *m, uint64_t bias)
{
	struct go_module_shape s = {
		.in_file = m->in_file,
		.table = m->table.offset - bias,
		.table_bytes = m->table.size_bytes,
		.text_start = m->table.text_start - bias,
		.gofunc = m->gofunc - bias,
		.text = without_bias(&m->text, bias),
	};

	for (size_t i = 0; i < ARRAY_SIZE(s.data); i++)
		s.data[i] = without_bias(&m->data[i], bias);
	return s;
}

/*
 * Searches a chunk of memory from *at on for words that may be a moduledata, and sets *at to
 * them.
 */
static bool find_bounds(const uint8_t *chunk, size_t len, const struct module_format *f, size_t *at)
{
	size_t need = (f->min_pc + WORDS_OF_RANGES) * WORD_BYTES;

	for (; *at + need <= len; *at += WORD_BYTES) {
		uint64_t bounds[4];

		memcpy(bounds, chunk + *at + f->min_pc * WORD_BYTES, sizeof(bounds));
		if (are_bounds(bounds))
			return true;
	}
	return false;
}

int go_module_scan(struct go_module *ret, const struct byte_source *memory,
		   const struct byte_source *file, const struct go_range *range, unsigned minor)
{
	const struct module_format *f = format_of(minor);
	AUTO_FREE uint8_t *chunk = malloc(SCAN_STEP_BYTES);
	uint64_t start = (range->start + WORD_BYTES - 1) & ~(uint64_t)(WORD_BYTES - 1);
	uint64_t end = range->end;
	size_t n_tried = 0, overlap = (f->min_pc + WORDS_OF_RANGES) * WORD_BYTES - WORD_BYTES;

	if (!chunk)
		return -ENOMEM;
	if (start < range->start)
		return -ENOENT;
	if (end > start && end - start > GO_MODULE_SCAN_MAX_BYTES)
		end = start + GO_MODULE_SCAN_MAX_BYTES;
	for (uint64_t base = start; base < end; base += SCAN_STEP_BYTES - overlap) {
		size_t len = end - base < SCAN_STEP_BYTES ? (size_t)(end - base) : SCAN_STEP_BYTES;
		int r = byte_source_read(memory, base, chunk, len);

		if (r < 0)
			return r;
		for (size_t at = 0; find_bounds(chunk, len, f, &at); at += WORD_BYTES) {
			if (n_tried++ == GO_MODULE_TRIES_MAX)
				return -ENOENT;
			r = go_module_parse(ret, memory, file, base + at, minor);
			if (r == 0 || r == -ENOMEM)
				return r;
		}
	}
	return -ENOENT;
}

bool go_module_has_data(const struct go_module *m, uint64_t address, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->data); i++) {
		if (go_range_has(&m->data[i], address) && m->data[i].end - address >= len)
			return true;
	}
	return false;
}
