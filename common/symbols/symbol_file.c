/*
 * Only every 64th start is kept in memory, so that a browser's million functions take 64 KiB; what
 * is between two of them is read when an address is asked for, which the page cache makes cheap.
 */
#include "common/symbols/symbol_file.h"

#include <errno.h>

#define XXH_INLINE_ALL
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

#include "common/text/utf8.h"

#define FUNCTIONS_PER_BLOCK 64u
#define CHECKED_AT_ONCE 65536u

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are read as they are");
_Static_assert(sizeof(struct symbol_file_header) == 72 &&
		       sizeof(struct symbol_file_segment) == 24 &&
		       sizeof(struct symbol_file_function) == 16,
	       "the format has no padding");

struct symbol_file {
	struct symbol_file_source src;
	struct symbol_file_header header;
	struct symbol_file_segment segments[SYMBOL_FILE_SEGMENTS_MAX];
	uint64_t functions_offset;
	uint64_t text_offset;
	uint32_t n_blocks;
	uint32_t starts[]; /* of the first function of each block */
};

/* Reads len bytes, all or none. */
static int read_at(const struct symbol_file_source *src, uint64_t offset, void *to, size_t len)
{
	size_t done = 0;

	if (offset > src->n_bytes || len > src->n_bytes - offset)
		return -ENODATA;
	if (src->data) {
		memcpy(to, (const char *)src->data + offset, len);
		return 0;
	}
	while (done < len) {
		ssize_t n = pread(src->fd, (char *)to + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -ENODATA;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int wrong(struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "not a table of symbols: %s", what);
}

static int check_header(const struct symbol_file_header *h, uint64_t n_bytes, struct err *err)
{
	if (memcmp(h->magic, SYMBOL_FILE_MAGIC, sizeof(h->magic)) != 0)
		return wrong(err, "it begins with something else");
	if (h->build_id_bytes == 0 || h->build_id_bytes > SYMBOL_BUILD_ID_MAX_BYTES)
		return wrong(err, "it has no build id");
	if (h->n_segments > SYMBOL_FILE_SEGMENTS_MAX ||
	    h->n_functions > SYMBOL_FILE_FUNCTIONS_MAX || n_bytes > SYMBOL_FILE_MAX_BYTES)
		return wrong(err, "it is too large");
	if (n_bytes != sizeof(*h) + h->n_segments * sizeof(struct symbol_file_segment) +
			       (uint64_t)h->n_functions * sizeof(struct symbol_file_function) +
			       h->text_bytes)
		return wrong(err, "it is incomplete");
	return 0;
}

/* Whether every name ends before the end, and the first one is "". */
static int check_text(const struct symbol_file *f, struct err *err)
{
	char first = 1, last = 1;
	uint64_t end = f->text_offset + f->header.text_bytes;
	int r = 0;

	if (f->header.text_bytes > 0)
		r = read_at(&f->src, f->text_offset, &first, 1);
	if (r == 0 && f->header.text_bytes > 0)
		r = read_at(&f->src, end - 1, &last, 1);
	if (r < 0)
		return r;
	return first || last ? wrong(err, "its text does not end") : 0;
}

static int check_segments(const struct symbol_file *f, struct err *err)
{
	for (uint32_t i = 0; i < f->header.n_segments; i++) {
		const struct symbol_file_segment *s = &f->segments[i];
		uint64_t end;

		if (__builtin_add_overflow(s->vaddr, s->n_bytes, &end) ||
		    __builtin_add_overflow(s->offset, s->n_bytes, &end))
			return wrong(err, "a segment has no end");
	}
	return 0;
}

static uint32_t functions_of(const struct symbol_file *f, uint32_t block)
{
	uint32_t left = f->header.n_functions - block * FUNCTIONS_PER_BLOCK;

	return left < FUNCTIONS_PER_BLOCK ? left : FUNCTIONS_PER_BLOCK;
}

static int read_block(const struct symbol_file *f, uint32_t block,
		      struct symbol_file_function to[static FUNCTIONS_PER_BLOCK])
{
	uint64_t at = (uint64_t)block * FUNCTIONS_PER_BLOCK * sizeof(*to);

	return read_at(&f->src, f->functions_offset + at, to, functions_of(f, block) * sizeof(*to));
}

static int check_functions(struct symbol_file *f, struct err *err)
{
	struct symbol_file_function items[FUNCTIONS_PER_BLOCK];
	uint64_t end = 0;

	for (uint32_t i = 0; i < f->n_blocks; i++) {
		int r = read_block(f, i, items);

		if (r < 0)
			return r;
		for (uint32_t j = 0; j < functions_of(f, i); j++) {
			const struct symbol_file_function *e = &items[j];

			if (e->n_bytes == 0 || e->start < end)
				return wrong(err, "its functions are not in order");
			if (e->name == 0 || e->name >= f->header.text_bytes ||
			    e->file >= f->header.text_bytes)
				return wrong(err, "a name is outside of its text");
			end = (uint64_t)e->start + e->n_bytes;
		}
		f->starts[i] = items[0].start;
	}
	return 0;
}

int symbol_file_open(struct symbol_file **ret, const struct symbol_file_source *src,
		     struct err *err)
{
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	struct symbol_file_header h;
	uint32_t n_blocks;
	int r = read_at(src, 0, &h, sizeof(h));

	if (r == -ENODATA)
		return wrong(err, "it is too short");
	if (r == 0)
		r = check_header(&h, src->n_bytes, err);
	if (r < 0)
		return r;
	n_blocks = (h.n_functions + FUNCTIONS_PER_BLOCK - 1) / FUNCTIONS_PER_BLOCK;
	f = calloc(1, sizeof(*f) + n_blocks * sizeof(f->starts[0]));
	if (!f)
		return -ENOMEM;
	f->src = *src;
	f->header = h;
	f->n_blocks = n_blocks;
	f->functions_offset = sizeof(h) + h.n_segments * sizeof(f->segments[0]);
	f->text_offset = src->n_bytes - h.text_bytes;
	r = read_at(src, sizeof(h), f->segments, h.n_segments * sizeof(f->segments[0]));
	if (r == 0)
		r = check_segments(f, err);
	if (r == 0)
		r = check_text(f, err);
	if (r == 0)
		r = check_functions(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void symbol_file_free(struct symbol_file *f)
{
	free(f);
}

int symbol_file_check(const struct symbol_file *f, struct err *err)
{
	AUTO_FREE char *piece = malloc(CHECKED_AT_ONCE);
	XXH3_state_t state;
	int r = 0;

	if (!piece)
		return -ENOMEM;
	XXH3_64bits_reset(&state);
	for (uint64_t at = sizeof(f->header); r == 0 && at < f->src.n_bytes;) {
		uint64_t left = f->src.n_bytes - at;
		size_t n = left < CHECKED_AT_ONCE ? (size_t)left : CHECKED_AT_ONCE;

		r = read_at(&f->src, at, piece, n);
		if (r == 0)
			XXH3_64bits_update(&state, piece, n);
		at += n;
	}
	if (r == 0 && XXH3_64bits_digest(&state) != f->header.checksum)
		return wrong(err, "its checksum is of other bytes");
	return r;
}

const struct symbol_file_header *symbol_file_header(const struct symbol_file *f)
{
	return &f->header;
}

/* ---- lookups ---- */

/* The last block that starts at or before an address; -1: none. */
static int64_t find_block(const struct symbol_file *f, uint32_t start)
{
	uint32_t low = 0, high = f->n_blocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->starts[middle] <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low - 1;
}

static int read_text(const struct symbol_file *f, uint32_t at,
		     char to[static LIMIT_SYMBOL_NAME_BYTES + 1])
{
	uint32_t left = f->header.text_bytes - at;
	size_t n = left < LIMIT_SYMBOL_NAME_BYTES ? left : LIMIT_SYMBOL_NAME_BYTES;
	int r = read_at(&f->src, f->text_offset + at, to, n);

	if (r < 0)
		return r;
	to[n] = '\0';
	to[utf8_make_printable(to, strlen(to))] = '\0';
	return 0;
}

static int read_name(const struct symbol_file *f, const struct symbol_file_function *e,
		     struct symbol_name *ret)
{
	int r = read_text(f, e->name, ret->name);

	ret->file[0] = '\0';
	if (r == 0 && e->file > 0)
		r = read_text(f, e->file, ret->file);
	if (r < 0)
		return r;
	for (char *c = ret->file; *c; c++)
		if (*c == ' ')
			*c = '_';
	return ret->name[0] ? 0 : -ENOENT;
}

int symbol_file_find(const struct symbol_file *f, uint64_t vaddr, struct symbol_name *ret)
{
	struct symbol_file_function items[FUNCTIONS_PER_BLOCK];
	uint32_t start;
	int64_t block;
	int r;

	if (vaddr < f->header.base || vaddr - f->header.base > UINT32_MAX)
		return -ENOENT;
	start = (uint32_t)(vaddr - f->header.base);
	block = find_block(f, start);
	if (block < 0)
		return -ENOENT;
	r = read_block(f, (uint32_t)block, items);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < functions_of(f, (uint32_t)block); i++)
		if (start >= items[i].start && start - items[i].start < items[i].n_bytes)
			return read_name(f, &items[i], ret);
	return -ENOENT;
}

int symbol_file_address(const struct symbol_file *f, uint64_t offset, uint64_t *ret_vaddr)
{
	for (uint32_t i = 0; i < f->header.n_segments; i++) {
		const struct symbol_file_segment *s = &f->segments[i];

		if (offset >= s->offset && offset - s->offset < s->n_bytes) {
			*ret_vaddr = s->vaddr + (offset - s->offset);
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- build ids ---- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t symbol_build_id_parse(const char *text, size_t len,
			     uint8_t ret[static SYMBOL_BUILD_ID_MAX_BYTES])
{
	if (len == 0 || len % 2 != 0 || len > 2 * SYMBOL_BUILD_ID_MAX_BYTES)
		return 0;
	for (size_t i = 0; i < len / 2; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return 0;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return len / 2;
}

void symbol_build_id_text(const uint8_t *id, size_t n_bytes,
			  char ret[static 2 * SYMBOL_BUILD_ID_MAX_BYTES + 1])
{
	ret[0] = '\0';
	for (size_t i = 0; i < n_bytes && i < SYMBOL_BUILD_ID_MAX_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}
