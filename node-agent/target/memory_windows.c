/*
 * The records of a profiler are allocated from chunks, one chunk per P, and read in the order
 * of their addresses or of their creation, so a small read is usually followed by one close
 * to it or close to one of the last few. A read of 16 KiB costs hardly more than one of 100
 * bytes.
 *
 * Windows are aligned to their size. If one cannot be read as a whole, because a page in it
 * is not mapped, that is remembered, and the exact bytes are read instead. When all windows
 * are in use, the least recently used one is replaced: the list of the hash table is in the
 * order of last use.
 */
#include "node-agent/target/memory_windows.h"

#include <errno.h>
#include <sys/mman.h>

#include "common/data/table.h"

struct window {
	UT_hash_handle hh;
	uint64_t base;
	bool readable;
};

struct memory_windows {
	const struct byte_source *memory; /* borrowed */
	uint64_t left_bytes;
	struct window *table;
	struct window *last; /* the window used last; NULL if none */
	size_t n_used;
	bool no_memory; /* for the table; until the next begin */
	struct window windows[MEMORY_WINDOWS];
	uint64_t data[MEMORY_WINDOWS][MEMORY_WINDOW_BYTES / sizeof(uint64_t)]; /* of each */
};

int memory_windows_new(struct memory_windows **ret)
{
	struct memory_windows *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*ret = w;
	return 0;
}

static void clear(struct memory_windows *w)
{
	HASH_CLEAR(hh, w->table);
	w->last = NULL;
	w->n_used = 0;
	w->no_memory = false;
}

void memory_windows_free(struct memory_windows *w)
{
	if (!w)
		return;
	clear(w);
	free(w);
}

void memory_windows_begin(struct memory_windows *w, const struct byte_source *memory,
			  uint64_t max_bytes)
{
	clear(w);
	w->memory = memory;
	w->left_bytes = max_bytes;
}

void memory_windows_end(struct memory_windows *w)
{
	char *data = (char *)w->data;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), used = w->n_used * sizeof(w->data[0]);
	size_t lead = -(uintptr_t)data & (page - 1);

	if (used > lead)
		(void)madvise(data + lead, (used - lead) & ~(page - 1), MADV_DONTNEED);
	clear(w);
}

int memory_windows_read_now(struct memory_windows *w, uint64_t address, void *to, size_t len)
{
	if (len > w->left_bytes)
		return -EFBIG;
	w->left_bytes -= len;
	return byte_source_read(w->memory, address, to, len);
}

static uint64_t *data_of(struct memory_windows *w, const struct window *v)
{
	return w->data[v - w->windows];
}

/* Takes an unused window, or else the least recently used one. */
static struct window *take_window(struct memory_windows *w)
{
	struct window *v;

	if (w->n_used < MEMORY_WINDOWS)
		return &w->windows[w->n_used++];
	v = w->table;
	HASH_DEL(w->table, v);
	return v;
}

/* Returns the window at this base, which is read if it is not there; NULL if no_memory. */
static struct window *find_window(struct memory_windows *w, uint64_t base)
{
	struct window *v;

	HASH_FIND(hh, w->table, &base, sizeof(base), v);
	if (v) {
		HASH_DEL(w->table, v);
	} else {
		v = take_window(w);
		v->base = base;
		v->readable =
			memory_windows_read_now(w, base, data_of(w, v), MEMORY_WINDOW_BYTES) == 0;
	}
	/* at the end of the list */
	HASH_ADD(hh, w->table, base, sizeof(v->base), v);
	w->no_memory = !TABLE_ADDED(hh, v);
	return w->no_memory ? NULL : v;
}

/* Returns the bytes in place, or NULL as memory_windows_words() does. */
static const char *find(struct memory_windows *w, uint64_t address, size_t len)
{
	uint64_t base = address & ~(MEMORY_WINDOW_BYTES - 1);
	uint64_t offset = address - base;

	if (w->no_memory || len > MEMORY_WINDOW_BYTES - offset)
		return NULL;
	if (!w->last || w->last->base != base)
		w->last = find_window(w, base);
	return w->last && w->last->readable ? (const char *)data_of(w, w->last) + offset : NULL;
}

const uint64_t *memory_windows_words(struct memory_windows *w, uint64_t address, size_t n)
{
	return (const uint64_t *)(const void *)find(w, address, n * sizeof(uint64_t));
}

int memory_windows_read(struct memory_windows *w, uint64_t address, void *to, size_t len)
{
	const char *from = find(w, address, len);

	if (!from)
		return w->no_memory ? -ENOMEM : memory_windows_read_now(w, address, to, len);
	memcpy(to, from, len);
	return 0;
}
