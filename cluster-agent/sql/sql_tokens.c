/*
 * Splits SQL into tokens and skips comments.
 *
 * Tokens are simple enough to agree on with the engine. Where the engine might split a text
 * differently (heredocs, nested comments, comments of "//", backslashes in quoted names, characters
 * beyond ASCII outside quotes) the text is refused.
 */
#include "cluster-agent/sql/sql_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

bool sql_is_word(const struct sql_token *t, const char *word)
{
	return t->kind == SQL_TOKEN_WORD && sql_is_name(t, word);
}

bool sql_is_name(const struct sql_token *t, const char *name)
{
	return (t->kind == SQL_TOKEN_WORD || t->kind == SQL_TOKEN_QUOTED) &&
	       t->len == strlen(name) && strncasecmp(t->start, name, t->len) == 0;
}

bool sql_is_char(const struct sql_token *t, char c)
{
	return t->kind == SQL_TOKEN_OTHER && *t->start == c;
}

bool sql_is_one_of(const struct sql_token *t, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (sql_is_word(t, words[i]))
			return true;
	}
	return false;
}

static bool starts_with(const struct sql_scanner *s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s->end - s->pos) >= len && memcmp(s->pos, text, len) == 0;
}

static int skip_block_comment(struct sql_scanner *s, struct err *err)
{
	for (s->pos += 2; s->pos < s->end; s->pos++) {
		if (starts_with(s, "*/")) {
			s->pos += 2;
			return 0;
		}
		if (starts_with(s, "/*"))
			return err_set(err, -EPERM, "comments inside comments are not allowed");
	}
	return err_set(err, -EINVAL, "a comment does not end");
}

static int skip_line_comment(struct sql_scanner *s, struct err *err)
{
	s->pos += 2;
	if (s->pos < s->end && !isspace((unsigned char)*s->pos))
		return err_set(err, -EPERM, "-- must be followed by a space");
	while (s->pos < s->end && *s->pos != '\n') {
		if (*s->pos == '\r' && !starts_with(s, "\r\n"))
			return err_set(err, -EPERM, "a carriage return in a comment");
		s->pos++;
	}
	return 0;
}

static int skip_space(struct sql_scanner *s, struct err *err)
{
	while (s->pos < s->end) {
		int r = 0;

		if (isspace((unsigned char)*s->pos)) {
			s->pos++;
		} else if (starts_with(s, "--")) {
			r = skip_line_comment(s, err);
		} else if (starts_with(s, "/*")) {
			r = skip_block_comment(s, err);
		} else if (starts_with(s, "//")) {
			r = err_set(err, -EPERM, "// is not allowed outside of quotes");
		} else {
			break;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* A backslash in a quoted name could spell a refused word in disguise; strings may have any. */
static int scan_quoted(struct sql_scanner *s, struct sql_token *ret, struct err *err)
{
	char quote = *s->pos++;
	const char *start = s->pos;

	for (; s->pos < s->end; s->pos++) {
		if (*s->pos == '\\') {
			if (quote != '\'')
				return err_set(err, -EPERM,
					       "backslashes in quoted names are not allowed");
			if (++s->pos == s->end)
				break;
		} else if (*s->pos == quote) {
			ret->kind = quote == '\'' ? SQL_TOKEN_VALUE : SQL_TOKEN_QUOTED;
			ret->start = start;
			ret->len = (size_t)(s->pos++ - start);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "a quoted text does not end");
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

int sql_scan(struct sql_scanner *s, struct sql_token *ret, struct err *err)
{
	static const char punctuation[] = "()[]{},;.:+-*/%=<>!?|&@^~";
	int r = skip_space(s, err);
	unsigned char c;

	*ret = (struct sql_token){.kind = SQL_TOKEN_END, .start = s->pos};
	if (r < 0 || s->pos == s->end)
		return r;
	c = (unsigned char)*s->pos;
	if (c == '\'' || c == '"' || c == '`')
		return scan_quoted(s, ret, err);
	if (is_name_char((char)c)) {
		ret->kind = isdigit(c) ? SQL_TOKEN_VALUE : SQL_TOKEN_WORD;
		while (s->pos < s->end && is_name_char(*s->pos))
			s->pos++;
		ret->len = (size_t)(s->pos - ret->start);
		return 0;
	}
	if (!strchr(punctuation, c))
		return err_set(err, -EPERM, "the character 0x%02x is not allowed outside of quotes",
			       c);
	ret->kind = SQL_TOKEN_OTHER;
	ret->len = 1;
	s->pos++;
	return 0;
}
