/*
 * A window is twice as long as the distance between the places where windows begin, so that every
 * piece of up to half its length lies within one window as a whole. A place belongs to one of a few
 * sets of windows, of which the one that was used longest ago makes way.
 */
#include "common/elf/file_windows.h"

#include <errno.h>

#define STEP_BYTES UINT64_C(65536)
#define WINDOW_BYTES (2 * STEP_BYTES)
#define SETS 2u
#define WAYS 4u
_Static_assert(FILE_WINDOWS_LENGTH_MAX == STEP_BYTES, "a piece lies in the window it begins in");

struct window {
	uint8_t *data;
	uint64_t offset;
	size_t len; /* 0: it has no content */
	uint64_t used;
};

struct file_windows {
	const struct byte_source *src;
	uint8_t *memory;
	uint64_t n_uses;
	struct window sets[SETS][WAYS];
};

int file_windows_new(struct file_windows **ret, const struct byte_source *src)
{
	AUTO_FREE struct file_windows *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	/* touched only as windows are used */
	w->memory = malloc(SETS * WAYS * WINDOW_BYTES);
	if (!w->memory)
		return -ENOMEM;
	for (size_t i = 0; i < SETS * WAYS; i++)
		w->sets[i / WAYS][i % WAYS].data = w->memory + i * WINDOW_BYTES;
	w->src = src;
	*ret = TAKE_PTR(w);
	return 0;
}

void file_windows_free(struct file_windows *w)
{
	if (!w)
		return;
	free(w->memory);
	free(w);
}

static int fill(struct file_windows *w, struct window *win, uint64_t offset)
{
	uint64_t left = w->src->size_bytes - offset;
	size_t len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	int r;

	win->len = 0;
	r = byte_source_read(w->src, offset, win->data, len);
	if (r < 0)
		return r;
	win->offset = offset;
	win->len = len;
	return 0;
}

/* The window that begins at this offset, or the one to be replaced by it. */
static struct window *find(struct file_windows *w, uint64_t begin)
{
	struct window *set = w->sets[begin / STEP_BYTES % SETS], *oldest = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].offset == begin && set[i].len > 0)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return oldest;
}

int file_windows_get(struct file_windows *w, uint64_t offset, size_t len, const uint8_t **ret)
{
	uint64_t begin = offset & ~(STEP_BYTES - 1);
	struct window *win = find(w, begin);
	int r;

	if (len > FILE_WINDOWS_LENGTH_MAX)
		return -EMSGSIZE;
	if (offset > w->src->size_bytes || len > w->src->size_bytes - offset)
		return -ENODATA;
	if (win->len == 0 || win->offset != begin) {
		r = fill(w, win, begin);
		if (r < 0)
			return r;
	}
	win->used = ++w->n_uses;
	*ret = win->data + (offset - begin);
	return 0;
}
