/*
 * Header, pages, rules. A page is the number of its rows and then its rows, 4 bytes each; rules
 * come last, because they are complete only when all pages are. The header is written last of all.
 *
 * Reading takes two passes through a buffer, one for the checksum and one for the pages: a table
 * may have tens of megabytes, which the agent must not hold in memory at once. The second pass
 * checks whatever a walk relies on, in case the file changes meanwhile.
 */
#include "node-agent/unwind/cfi/table_file.h"

#include <errno.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC UINT64_C(0x31656c6261542d55) /* "U-Table1" */
#define BUFFER_BYTES 65536u

struct header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	struct table_file_key key;
	uint64_t body_bytes;
	uint64_t body_sum;
	uint64_t first_page;
	uint32_t n_pages;
	uint32_t n_rules;
	uint64_t n_rows;
	uint64_t n_functions;
	uint64_t n_bad_functions;
	uint64_t n_unknown_rows;
	uint64_t n_dropped_rows;
	uint64_t origin;
	uint64_t header_sum; /* of all before */
};

static uint64_t sum_of_header(const struct header *h)
{
	return XXH3_64bits(h, offsetof(struct header, header_sum));
}

/* ---- writing ---- */

struct table_file_writer {
	XXH3_state_t sum;
	table_file_write_fn *write;
	void *ctx;
	uint64_t body_bytes;
	size_t len;
	uint8_t buffer[BUFFER_BYTES];
};

int table_file_writer_new(struct table_file_writer **ret, table_file_write_fn *write, void *ctx)
{
	struct table_file_writer *w = NULL;
	struct header none = {.magic = 0};

	/* the state of a checksum is aligned to 64 bytes */
	if (posix_memalign((void **)&w, 64, sizeof(*w)) != 0)
		return -ENOMEM;
	memset(w, 0, sizeof(*w));
	w->write = write;
	w->ctx = ctx;
	XXH3_64bits_reset(&w->sum);
	/* room for the header */
	memcpy(w->buffer, &none, sizeof(none));
	w->len = sizeof(none);
	*ret = w;
	return 0;
}

void table_file_writer_free(struct table_file_writer *w)
{
	free(w);
}

static int flush(struct table_file_writer *w)
{
	size_t len = w->len;

	w->len = 0;
	return len > 0 ? w->write(w->ctx, false, w->buffer, len) : 0;
}

static int put(struct table_file_writer *w, const void *data, size_t len)
{
	const uint8_t *p = data;

	w->body_bytes += len;
	if (w->body_bytes > TABLE_FILE_MAX_BYTES)
		return -EFBIG;
	XXH3_64bits_update(&w->sum, data, len);
	while (len > 0) {
		size_t n = BUFFER_BYTES - w->len;

		if (n > len)
			n = len;
		memcpy(w->buffer + w->len, p, n);
		w->len += n;
		p += n;
		len -= n;
		if (w->len == BUFFER_BYTES) {
			int r = flush(w);

			if (r != 0)
				return r;
		}
	}
	return 0;
}

int table_file_writer_page(struct table_file_writer *w, const struct unwind_row *rows, uint32_t n)
{
	int r = put(w, &n, sizeof(n));

	return r == 0 ? put(w, rows, n * sizeof(*rows)) : r;
}

int table_file_writer_finish(struct table_file_writer *w, const struct table_file_key *key,
			     const struct cfi_table *table)
{
	struct header h = {
		.magic = MAGIC,
		.version = TABLE_FILE_VERSION,
		.header_bytes = sizeof(h),
		.key = *key,
		.first_page = table->extent.first_page,
		.n_pages = table->extent.n_pages,
		.n_rules = table->n_rules,
		.n_rows = table->n_rows,
		.n_functions = table->n_functions,
		.n_bad_functions = table->n_bad_functions,
		.n_unknown_rows = table->n_unknown_rows,
		.n_dropped_rows = table->n_dropped_rows,
		.origin = table->origin,
	};
	int r = put(w, table->rules, table->n_rules * sizeof(*table->rules));

	if (r == 0)
		r = flush(w);
	if (r != 0)
		return r;
	h.body_bytes = w->body_bytes;
	h.body_sum = XXH3_64bits_digest(&w->sum);
	h.header_sum = sum_of_header(&h);
	return w->write(w->ctx, true, &h, sizeof(h));
}

/* ---- reading ---- */

struct reader {
	XXH3_state_t sum;
	const struct byte_source *src;
	uint64_t offset, end;
	size_t at, len;
	uint8_t buffer[BUFFER_BYTES];
	struct unwind_row rows[UNWIND_BLOCK_ROWS];
};

static int get(struct reader *f, void *to, size_t len)
{
	uint8_t *p = to;

	while (len > 0) {
		size_t n = f->len - f->at;

		if (n == 0) {
			uint64_t left = f->end - f->offset;
			int r;

			n = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
			if (n == 0)
				return -EBADMSG;
			r = byte_source_read(f->src, f->offset, f->buffer, n);
			if (r < 0)
				return r == -ENODATA ? -EBADMSG : r;
			f->offset += n;
			f->at = 0;
			f->len = n;
		}
		if (n > len)
			n = len;
		memcpy(p, f->buffer + f->at, n);
		f->at += n;
		p += n;
		len -= n;
	}
	return 0;
}

static int read_header(struct header *h, const struct byte_source *src,
		       const struct table_file_key *key)
{
	int r = byte_source_read(src, 0, h, sizeof(*h));

	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (h->magic != MAGIC || h->version != TABLE_FILE_VERSION ||
	    h->header_bytes != sizeof(*h) || h->header_sum != sum_of_header(h) ||
	    memcmp(&h->key, key, sizeof(*key)) != 0)
		return -EBADMSG;
	if (h->body_bytes != src->size_bytes - sizeof(*h) || h->n_pages == 0 ||
	    h->n_pages > CFI_TABLE_PAGES_MAX || h->n_rules == 0 ||
	    h->n_rules > UNWIND_TABLE_RULES || h->origin >= CFI_ORIGIN_MAX ||
	    h->first_page > UINT64_MAX >> (UNWIND_PAGE_SHIFT + 1))
		return -EBADMSG;
	return 0;
}

static int check_sum(struct reader *f, const struct header *h)
{
	XXH3_64bits_reset(&f->sum);
	for (uint64_t offset = sizeof(*h); offset < f->end;) {
		uint64_t left = f->end - offset;
		size_t n = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
		int r = byte_source_read(f->src, offset, f->buffer, n);

		if (r < 0)
			return r == -ENODATA ? -EBADMSG : r;
		XXH3_64bits_update(&f->sum, f->buffer, n);
		offset += n;
	}
	return XXH3_64bits_digest(&f->sum) == h->body_sum ? 0 : -EBADMSG;
}

static bool is_page(const struct unwind_row *rows, uint32_t n, uint32_t n_rules)
{
	if (rows[0].address != 0)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (rows[i].rule >= n_rules || rows[i].address >= UNWIND_PAGE_BYTES ||
		    (i > 0 && rows[i].address <= rows[i - 1].address))
			return false;
	}
	return true;
}

static int read_pages(struct reader *f, const struct header *h, cfi_page_fn *on_page, void *ctx)
{
	uint64_t n_rows = 0;

	for (uint32_t page = 0; page < h->n_pages; page++) {
		uint32_t n;
		int r = get(f, &n, sizeof(n));

		if (r == 0 && (n == 0 || n > UNWIND_BLOCK_ROWS))
			r = -EBADMSG;
		if (r == 0)
			r = get(f, f->rows, n * sizeof(*f->rows));
		if (r == 0 && !is_page(f->rows, n, h->n_rules))
			r = -EBADMSG;
		if (r == 0)
			r = on_page(ctx, page, f->rows, n);
		if (r != 0)
			return r;
		n_rows += n;
	}
	return n_rows == h->n_rows ? 0 : -EBADMSG;
}

static int read_body(struct reader *f, const struct header *h, struct cfi_table *ret,
		     cfi_page_fn *on_page, void *ctx)
{
	AUTO_FREE struct unwind_rule *rules = calloc(h->n_rules, sizeof(*rules));
	int r;

	if (!rules)
		return -ENOMEM;
	r = check_sum(f, h);
	if (r == 0)
		r = read_pages(f, h, on_page, ctx);
	if (r == 0)
		r = get(f, rules, h->n_rules * sizeof(*rules));
	if (r == 0 && (f->offset != f->end || f->at != f->len))
		r = -EBADMSG;
	if (r != 0)
		return r;
	*ret = (struct cfi_table){
		.extent = {.first_page = h->first_page, .n_pages = h->n_pages},
		.origin = (enum cfi_origin)h->origin,
		.rules = TAKE_PTR(rules),
		.n_rules = h->n_rules,
		.n_rows = h->n_rows,
		.n_functions = h->n_functions,
		.n_bad_functions = h->n_bad_functions,
		.n_unknown_rows = h->n_unknown_rows,
		.n_dropped_rows = h->n_dropped_rows,
	};
	return 0;
}

int table_file_read(struct cfi_table *ret, const struct byte_source *src,
		    const struct table_file_key *key, cfi_page_fn *on_page, void *ctx)
{
	AUTO_FREE struct reader *f = NULL;
	struct header h;
	int r;

	if (src->size_bytes < sizeof(h))
		return -EBADMSG;
	r = read_header(&h, src, key);
	if (r < 0)
		return r;
	if (posix_memalign((void **)&f, 64, sizeof(*f)) != 0)
		return -ENOMEM;
	f->src = src;
	f->offset = sizeof(h);
	f->end = src->size_bytes;
	f->at = 0;
	f->len = 0;
	return read_body(f, &h, ret, on_page, ctx);
}
