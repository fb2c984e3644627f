/*
 * JSON text piece by piece into a buf. Pure.
 *
 * Commas are put by the writer; nesting is the caller's business. Strings may
 * be any bytes: what is not UTF-8 becomes U+FFFD, so that the text is always
 * valid. The first failure sticks and turns later calls into no-ops; check
 * once, with json_writer_finish().
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

/* Appends to out, which stays the caller's. */
void json_writer_init(struct json_writer *w, struct buf *out);
/* 0; -ENOMEM; -EFBIG when out's limit was exceeded. */
int json_writer_finish(struct json_writer *w) MUST_CHECK;

/* kind is '{' or '['; closed with '}' or ']'. */
void json_open(struct json_writer *w, char kind);
void json_close(struct json_writer *w, char kind);
/* In an object, before its value. */
void json_key(struct json_writer *w, const char *key);

void json_put_string(struct json_writer *w, const char *s, size_t len);
void json_put_int(struct json_writer *w, int64_t v);
/* null when v is not finite; integers below 2^53 are written without exponent. */
void json_put_double(struct json_writer *w, double v);
void json_put_bool(struct json_writer *w, bool v);
void json_put_null(struct json_writer *w);

#endif /* COMMON_TEXT_JSON_WRITER_H */
