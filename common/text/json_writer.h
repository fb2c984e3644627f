/*
 * Writes JSON piece by piece into a buf. Pure.
 *
 * The writer inserts commas; the caller sees to it that brackets match. Strings may hold any
 * bytes: those that are not UTF-8 become U+FFFD, so that the text is always valid. After the
 * first failure, later calls do nothing; check once, with json_writer_finish().
 *
 * The functions are called json_… rather than json_writer_… because answers consist of little
 * else.
 */
#ifndef COMMON_TEXT_JSON_WRITER_H
#define COMMON_TEXT_JSON_WRITER_H

#include "common/base.h"
#include "common/data/buf.h"

struct json_writer {
	struct buf *out; /* borrowed */
	int error;
	bool comma; /* the next value is not the first of its container */
};

/* The JSON is appended to out, which the caller keeps. */
void json_writer_init(struct json_writer *w, struct buf *out);
/* Returns 0, -ENOMEM, or -EFBIG if out's limit was exceeded. */
int json_writer_finish(struct json_writer *w) MUST_CHECK;

/* kind is '{' or '[' to open, '}' or ']' to close. */
void json_open(struct json_writer *w, char kind);
void json_close(struct json_writer *w, char kind);
/* In an object, before its value. */
void json_key(struct json_writer *w, const char *key);

void json_put_string(struct json_writer *w, const char *s, size_t len);
void json_put_int(struct json_writer *w, int64_t v);
/* Writes null if v is not finite, and integers below 2^53 without an exponent. */
void json_put_double(struct json_writer *w, double v);
void json_put_bool(struct json_writer *w, bool v);
void json_put_null(struct json_writer *w);

/* A key with its value; text is NUL-terminated. */
void json_member_text(struct json_writer *w, const char *key, const char *text);
void json_member_int(struct json_writer *w, const char *key, int64_t v);

#endif /* COMMON_TEXT_JSON_WRITER_H */
