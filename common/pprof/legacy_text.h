/*
 * Reads words and numbers of the old text formats of profiles (legacy_profile.h), from the begin
 * of a text that need not end in NUL. Each function moves the begin past what it read. Pure.
 */
#ifndef COMMON_PPROF_LEGACY_TEXT_H
#define COMMON_PPROF_LEGACY_TEXT_H

#include "common/base.h"

/* Borrowed. */
struct legacy_text {
	const char *at;
	const char *end;
};

/* The next line, without blanks around it. Returns false at the end. */
bool legacy_next_line(struct legacy_text *t, struct legacy_text *ret);

/* Up to the next blank; may be empty. */
struct legacy_text legacy_next_word(struct legacy_text *t);

void legacy_skip_blanks(struct legacy_text *t);

/* Returns whether it was there; the second one allows blanks before it. */
bool legacy_skip_text(struct legacy_text *t, const char *what);
bool legacy_skip_mark(struct legacy_text *t, const char *what);

/* Return false if there is no number or it is too large; the second one allows blanks and "-". */
bool legacy_read_number(struct legacy_text *t, unsigned int base, uint64_t *ret);
bool legacy_read_signed(struct legacy_text *t, int64_t *ret);

/* An empty line is one as well. */
bool legacy_is_comment(const struct legacy_text *line);

/* Whether the maps of the process follow. */
bool legacy_is_map_mark(const struct legacy_text *line);

#endif /* COMMON_PPROF_LEGACY_TEXT_H */
