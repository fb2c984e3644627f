/*
 * Conditions on labels, as Prometheus writes them:
 *
 *	pod="a", host.name!="b", version=~"1\..*", zone!~"eu-.*"
 *
 * Braces around them are optional, and so is a comma at the end. A label that a profile lacks is
 * "". Regular expressions are RE2's and must match the whole value; only the store can say whether
 * one is valid. Pure; foreign data.
 *
 * A name is letters, digits and "_.:/-", or any text in quotes. In "" and '', a backslash escapes
 * the quote, itself, and stands before n, r and t as in C; before anything else it stays, so that
 * "1\." and "1\\." are the same expression. In `` nothing is special.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_LABEL_MATCHERS_H
#define CLUSTER_AGENT_QUERY_READ_LABEL_MATCHERS_H

#include "common/base.h"
#include "common/err.h"

#define LABEL_MATCHERS_MAX 16u
#define LABEL_MATCHERS_MAX_BYTES 4096u

enum label_match {
	LABEL_EQUAL,
	LABEL_NOT_EQUAL,
	LABEL_MATCHES,
	LABEL_NOT_MATCHES,
};

struct label_matcher {
	const char *name; /* not "" */
	const char *value;
	enum label_match op;
};

/* Owns its texts, at which the items point: must not be moved or copied. Nothing to release. */
struct label_matchers {
	struct label_matcher items[LABEL_MATCHERS_MAX]; /* all of them must hold */
	size_t n_items;
	char texts[LABEL_MATCHERS_MAX_BYTES];
};

/*
 * Returns 0, or -EINVAL with a sentence in err: text is malformed, or has too many matchers or
 * bytes. "" and "{}" are no matchers.
 */
int label_matchers_parse(struct label_matchers *ret, const char *text, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_LABEL_MATCHERS_H */
