/*
 * Walks over JSON text without building anything, so that the memory for a large file does not
 * depend on how many values it has: objects and arrays give the text of their members, one by one.
 * Pure; foreign data.
 *
 * What is stepped over is matched by brackets and quotes only, so broken JSON there is not noticed.
 * Nothing is read beyond the text, and depth costs nothing.
 */
#ifndef CLUSTER_AGENT_PUSH_JSON_SPANS_H
#define CLUSTER_AGENT_PUSH_JSON_SPANS_H

#include "common/base.h"

/* A value, or a name without its quotes. Borrowed from the text. */
struct json_span {
	const char *p;
	const char *end;
};

struct json_walk {
	const char *p;
	const char *end;
	char close;
	bool started;
};

/* The value that text begins with. Returns false if there is none. */
bool json_span_first(const char *text, size_t len, struct json_span *ret);

/* Begins to walk over an array ('[') or an object ('{'). Returns false if value is neither. */
bool json_walk_open(struct json_walk *w, const struct json_span *value, char open);

/*
 * Returns 1 and the next value (of an object with its name), 0 at the end, or -EBADMSG. name may be
 * NULL for arrays.
 */
int json_walk_next(struct json_walk *w, struct json_span *name, struct json_span *value) MUST_CHECK;

/* Whether a name, or the text of a value as it stands, is this. */
bool json_span_is(const struct json_span *s, const char *text);

/* Returns false if the value is no number that a double holds. */
bool json_span_number(const struct json_span *s, double *ret);

#endif /* CLUSTER_AGENT_PUSH_JSON_SPANS_H */
