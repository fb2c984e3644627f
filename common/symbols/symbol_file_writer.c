#include "common/symbols/symbol_file_writer.h"

#include <errno.h>

#define XXH_INLINE_ALL
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

#include "common/data/array.h"
#include "common/data/intern.h"

struct symbol_file_writer {
	struct symbol_file_header header;
	struct symbol_file_segment segments[SYMBOL_FILE_SEGMENTS_MAX];
	struct symbol_file_function *functions; /* name and file are numbers in texts for now */
	size_t max_functions;
	uint64_t end; /* of the last function, relative to the base */
	struct intern *texts;
};

int symbol_file_writer_new(struct symbol_file_writer **ret, uint64_t base, const uint8_t *id,
			   size_t id_bytes)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	memcpy(w->header.magic, SYMBOL_FILE_MAGIC, sizeof(w->header.magic));
	w->header.base = base;
	w->header.build_id_bytes = (uint32_t)id_bytes;
	memcpy(w->header.build_id, id, id_bytes);
	r = intern_new(&w->texts, SYMBOL_FILE_MAX_BYTES);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void symbol_file_writer_free(struct symbol_file_writer *w)
{
	if (!w)
		return;
	intern_free(w->texts);
	free(w->functions);
	free(w);
}

void symbol_file_writer_add_segment(struct symbol_file_writer *w,
				    const struct symbol_file_segment *s)
{
	if (w->header.n_segments < SYMBOL_FILE_SEGMENTS_MAX)
		w->segments[w->header.n_segments++] = *s;
}

int symbol_file_writer_add(struct symbol_file_writer *w, uint64_t start, uint64_t end,
			   const char *name, const char *file)
{
	struct symbol_file_function *f;
	uint32_t n = w->header.n_functions;
	int r;

	if (start < w->header.base || end - w->header.base > UINT32_MAX ||
	    n == SYMBOL_FILE_FUNCTIONS_MAX)
		return -EFBIG;
	if (end <= start || start - w->header.base < w->end || !name[0])
		return -EINVAL;
	r = ARRAY_RESERVE(w->functions, w->max_functions, (size_t)n + 1);
	if (r < 0)
		return r;
	f = &w->functions[n];
	r = intern_add(w->texts, name, strlen(name), &f->name);
	if (r == 0)
		r = intern_add(w->texts, file ?: "", file ? strlen(file) : 0, &f->file);
	if (r < 0)
		return r;
	f->start = (uint32_t)(start - w->header.base);
	f->n_bytes = (uint32_t)(end - start);
	w->end = end - w->header.base;
	w->header.n_functions++;
	return 0;
}

uint32_t symbol_file_writer_count(const struct symbol_file_writer *w)
{
	return w->header.n_functions;
}

/* Replaces numbers of texts by where they begin, and sets how long all are. */
static int place_texts(struct symbol_file_writer *w)
{
	uint32_t n = intern_count(w->texts);
	AUTO_FREE uint32_t *offsets = calloc(n, sizeof(*offsets));
	uint64_t at = 0;

	if (!offsets)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		size_t len = 0;

		(void)intern_get(w->texts, i, &len);
		offsets[i] = (uint32_t)at;
		at += len + 1;
	}
	if (at > SYMBOL_FILE_MAX_BYTES)
		return -EFBIG;
	w->header.text_bytes = (uint32_t)at;
	for (uint32_t i = 0; i < w->header.n_functions; i++) {
		w->functions[i].name = offsets[w->functions[i].name];
		w->functions[i].file = offsets[w->functions[i].file];
	}
	return 0;
}

int symbol_file_writer_finish(struct symbol_file_writer *w, struct buf *out)
{
	struct symbol_file_header *h = &w->header;
	size_t from = out->len;
	int r = place_texts(w);

	if (r == 0)
		r = buf_add(out, h, sizeof(*h));
	if (r == 0)
		r = buf_add(out, w->segments, h->n_segments * sizeof(w->segments[0]));
	if (r == 0 && h->n_functions > 0)
		r = buf_add(out, w->functions, h->n_functions * sizeof(w->functions[0]));
	for (uint32_t i = 0; r == 0 && i < intern_count(w->texts); i++) {
		size_t len = 0;
		const char *text = intern_get(w->texts, i, &len);

		r = buf_add(out, text, len + 1);
	}
	if (r < 0)
		return r;
	h->checksum = XXH3_64bits(out->data + from + sizeof(*h), out->len - from - sizeof(*h));
	memcpy(out->data + from, h, sizeof(*h));
	return out->len - from > SYMBOL_FILE_MAX_BYTES ? -EFBIG : 0;
}
