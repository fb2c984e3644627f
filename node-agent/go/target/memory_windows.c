/*
 * The records of a profiler are allocated from chunks, one chunk per P, and read in the order
 * of their addresses, so a small read is usually followed by one close to it. A read of 16
 * KiB costs hardly more than one of 100 bytes. There are as many windows as Ps that a program
 * commonly has.
 *
 * Windows are aligned to their size. If one cannot be read as a whole, because a page in it
 * is not mapped, the exact bytes are read instead.
 *
 * Not a hash table (common/data/table.h): the window that was used last answers nearly all
 * reads, and the others are searched one by one, which is nothing beside the system call that
 * follows a miss. The scan finds the least recently used window in passing.
 */
#include "node-agent/go/target/memory_windows.h"

#include <errno.h>

struct window {
	uint64_t base;
	uint64_t used; /* value of `clock` at the last use; 0 if never */
	bool readable;
};

struct memory_windows {
	const struct byte_source *memory; /* borrowed */
	uint64_t left_bytes;
	uint64_t clock;
	size_t last; /* index of the window used last */
	struct window windows[MEMORY_WINDOWS];
	uint64_t data[MEMORY_WINDOWS][MEMORY_WINDOW_BYTES / sizeof(uint64_t)];
};

int memory_windows_new(struct memory_windows **ret)
{
	struct memory_windows *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*ret = w;
	return 0;
}

void memory_windows_free(struct memory_windows *w)
{
	free(w);
}

void memory_windows_begin(struct memory_windows *w, const struct byte_source *memory,
			  uint64_t max_bytes)
{
	w->memory = memory;
	w->left_bytes = max_bytes;
	memset(w->windows, 0, sizeof(w->windows));
	w->clock = 0;
	w->last = 0;
}

int memory_windows_read_now(struct memory_windows *w, uint64_t address, void *to, size_t len)
{
	if (len > w->left_bytes)
		return -EFBIG;
	w->left_bytes -= len;
	return byte_source_read(w->memory, address, to, len);
}

static bool is_window(const struct memory_windows *w, size_t i, uint64_t base)
{
	return w->windows[i].used != 0 && w->windows[i].base == base;
}

/*
 * Returns the index of the window at this base; reads it over the least recently used one if
 * needed.
 */
static size_t find_window(struct memory_windows *w, uint64_t base)
{
	size_t oldest = 0;

	for (size_t i = 0; i < MEMORY_WINDOWS; i++) {
		if (is_window(w, i, base)) {
			w->windows[i].used = ++w->clock;
			return i;
		}
		if (w->windows[i].used < w->windows[oldest].used)
			oldest = i;
	}
	w->windows[oldest] = (struct window){
		.base = base,
		.used = ++w->clock,
		.readable =
			memory_windows_read_now(w, base, w->data[oldest], MEMORY_WINDOW_BYTES) == 0,
	};
	return oldest;
}

/* Returns the bytes in place, or NULL as memory_windows_words() does. */
static const char *find(struct memory_windows *w, uint64_t address, size_t len)
{
	uint64_t base = address & ~(MEMORY_WINDOW_BYTES - 1);
	uint64_t offset = address - base;

	if (len > MEMORY_WINDOW_BYTES - offset)
		return NULL;
	if (!is_window(w, w->last, base))
		w->last = find_window(w, base);
	return w->windows[w->last].readable ? (const char *)w->data[w->last] + offset : NULL;
}

const uint64_t *memory_windows_words(struct memory_windows *w, uint64_t address, size_t n)
{
	return (const uint64_t *)(const void *)find(w, address, n * sizeof(uint64_t));
}

int memory_windows_read(struct memory_windows *w, uint64_t address, void *to, size_t len)
{
	const char *from = find(w, address, len);

	if (!from)
		return memory_windows_read_now(w, address, to, len);
	memcpy(to, from, len);
	return 0;
}
