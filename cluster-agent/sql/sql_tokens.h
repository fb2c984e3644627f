/* SQL as tokens, as the engine sees them. Pure. */
#ifndef CLUSTER_AGENT_SQL_SQL_TOKENS_H
#define CLUSTER_AGENT_SQL_SQL_TOKENS_H

#include "common/base.h"
#include "common/err.h"

enum sql_token_kind {
	SQL_TOKEN_END,
	SQL_TOKEN_WORD,   /* a keyword, or a name without quotes */
	SQL_TOKEN_QUOTED, /* a name in " or ` */
	SQL_TOKEN_VALUE,  /* a string or a number */
	SQL_TOKEN_OTHER,  /* one character */
};

struct sql_token {
	enum sql_token_kind kind;
	const char *start; /* without quotes */
	size_t len;
};

struct sql_scanner {
	const char *pos;
	const char *end;
};

/*
 * Returns 0 and the next token, SQL_TOKEN_END at the end; -EINVAL if a quote or comment does not
 * end, or -EPERM for what the engine might read in another way, with a sentence in err.
 */
int sql_scan(struct sql_scanner *s, struct sql_token *ret, struct err *err) MUST_CHECK;

/* Case does not matter in words. */
bool sql_is_word(const struct sql_token *t, const char *word);
bool sql_is_one_of(const struct sql_token *t, const char *const *words, size_t n);
/* Also in quotes. */
bool sql_is_name(const struct sql_token *t, const char *name);
bool sql_is_char(const struct sql_token *t, char c);

#endif /* CLUSTER_AGENT_SQL_SQL_TOKENS_H */
