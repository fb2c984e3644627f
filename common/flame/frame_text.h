/*
 * Splits stored frame texts: "name file:line", or "name file:line:inlined" if the frame is inlined
 * into the next one. Pure.
 *
 * The text is read from the right, because names contain spaces ("operator new(unsigned long)")
 * and files do not. Rows of other writers are tolerated: "name :0" has an empty file, and a
 * text that does not end in "file:line" is all name.
 */
#ifndef COMMON_FLAME_FRAME_TEXT_H
#define COMMON_FLAME_FRAME_TEXT_H

#include "common/base.h"

/* Points into the text that was split; not NUL-terminated. */
struct frame_text {
	const char *name;
	size_t name_len;
	const char *file;
	size_t file_len;
	int64_t line; /* 0: unknown */
	bool inlined;
};

/* Cannot fail: every byte of text except separators, line and mark is in name or file. */
void frame_text_split(struct frame_text *ret, const char *text, size_t len);

#endif /* COMMON_FLAME_FRAME_TEXT_H */
