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

/* Longer files than this are not shortened. */
#define FRAME_FILE_KEY_MAX ((size_t)512)

/*
 * What of a file says which function of several of one name it is, wherever and from whichever
 * release it was built: its name and the last folder, without the folder's version.
 *
 *   /root/go/pkg/mod/github.com/x/yaml@v1.2.3/scan.go → yaml/scan.go
 *   /usr/lib/go-1.19/src/runtime/proc.go, runtime/proc.go → runtime/proc.go
 *   /usr/lib/python3.11/threading.py → python/threading.py
 *
 * A file without a folder is its own key. Returns the length; the key is in buf or is the file.
 */
size_t frame_file_key(const char *file, size_t len, char buf[FRAME_FILE_KEY_MAX], const char **ret);

/*
 * The file of a native function whose source is not known: that of its program or library,
 * "[libc.so.6]".
 */
bool frame_file_is_label(const char *file, size_t len);

/* Whether such a function may be of this source file: it is of a language that is compiled. */
bool frame_file_is_native(const char *file, size_t len);

#endif /* COMMON_FLAME_FRAME_TEXT_H */
