#include "node-agent/symbol/dwarf_location.h"

#include <errno.h>

#include "common/text/utf8.h"
#include "node-agent/symbol/demangle.h"

_Static_assert(LINE_ANSWER_FRAMES_MAX <= SYMBOL_LOCATION_FRAMES_MAX, "all have a place");

/* Paths have no blanks, as files of frames have none. */
static const char *clean_path(struct dwarf_location_memory *m, const char *path)
{
	size_t len = strnlen(path, sizeof(m->path) - 1);

	memcpy(m->path, path, len);
	m->path[utf8_make_printable(m->path, len)] = '\0';
	for (char *p = m->path; *p; p++) {
		if (*p == ' ')
			*p = '_';
	}
	return m->path;
}

static int add_frame(struct frame_cache *cache, const char *label, struct dwarf_location_memory *m,
		     const struct line_frame *from, const char *function, struct symbol_frame *ret)
{
	const char *file = from->file[0] ? clean_path(m, from->file) : label;
	int r;

	if (!function) {
		demangle(from->function, m->name, sizeof(m->name));
		function = m->name;
	}
	ret->line = from->file[0] ? from->line : 0;
	ret->start_line = 0;
	r = frame_cache_text(cache, function, &ret->function);
	return r == 0 ? frame_cache_text(cache, file, &ret->file) : r;
}

int dwarf_location_store(struct frame_cache *cache, const struct line_answer *a, const char *label,
			 const char *function, struct dwarf_location_memory *memory,
			 const struct symbol_location **ret)
{
	struct symbol_frame frames[LINE_ANSWER_FRAMES_MAX];
	int r = a->n > 0 ? 0 : -ENOENT;

	for (uint32_t i = 0; r == 0 && i < a->n; i++) {
		/* the name is the same whether there is DWARF or not */
		const char *name = i + 1 == a->n ? function : NULL;

		if (!name && a->frames[i].function[0] == '\0')
			return -ENOENT;
		r = add_frame(cache, label, memory, &a->frames[i], name, &frames[i]);
	}
	if (r == 0)
		r = frame_cache_intern(cache, frames, a->n, ret);
	return r == -EFBIG ? -ENOSPC : r; /* -EFBIG is said of the file */
}
