#include "test/store/server_statement.h"

#include <ctype.h>
#include <strings.h>

struct scanner {
	const char *text;
	size_t len;
	size_t at;
	int depth; /* of parentheses */
};

static bool starts(const struct scanner *s, const char *with)
{
	size_t n = strlen(with);

	return s->len - s->at >= n && memcmp(s->text + s->at, with, n) == 0;
}

static void skip_until(struct scanner *s, const char *end)
{
	while (s->at < s->len && !starts(s, end))
		s->at++;
	s->at = s->at < s->len ? s->at + strlen(end) : s->len;
}

static void skip_quoted(struct scanner *s)
{
	char quote = s->text[s->at++];

	for (; s->at < s->len && s->text[s->at] != quote; s->at++)
		s->at += s->text[s->at] == '\\';
	s->at = s->at < s->len ? s->at + 1 : s->len;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Finds the next word outside of quotes and comments; *ret is where it begins. */
static size_t next_word(struct scanner *s, size_t *ret)
{
	while (s->at < s->len) {
		char c = s->text[s->at];

		if (starts(s, "--")) {
			skip_until(s, "\n");
		} else if (starts(s, "/*")) {
			skip_until(s, "*/");
		} else if (c == '\'' || c == '"' || c == '`') {
			skip_quoted(s);
		} else if (is_word(c)) {
			*ret = s->at;
			while (s->at < s->len && is_word(s->text[s->at]))
				s->at++;
			return s->at - *ret;
		} else {
			s->depth += (c == '(') - (c == ')');
			s->at++;
		}
	}
	return 0;
}

static bool is(const struct scanner *s, size_t at, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(s->text + at, word, n) == 0;
}

/* Data begins after the newline that follows the format's name, else after the blanks. */
static size_t skip_blanks(const char *text, size_t len, size_t at)
{
	while (at < len && isspace((unsigned char)text[at]) && text[at] != '\n')
		at++;
	return at < len && text[at] == '\n' ? at + 1 : at;
}

void server_statement_split(const char *text, size_t len, struct server_statement *ret)
{
	struct scanner s = {.text = text, .len = len};
	size_t at = 0, n = next_word(&s, &at), settings_at = 0;

	*ret = (struct server_statement){.sql_len = len};
	if (!is(&s, at, n, "INSERT"))
		return;
	while ((n = next_word(&s, &at)) > 0) {
		if (s.depth > 0)
			continue;
		if (is(&s, at, n, "VALUES") || is(&s, at, n, "SELECT") || is(&s, at, n, "WITH") ||
		    is(&s, at, n, "FROM"))
			return;
		if (is(&s, at, n, "SETTINGS"))
			settings_at = at;
		if (is(&s, at, n, "FORMAT"))
			break;
	}
	if (n == 0)
		return;
	ret->source_at = settings_at ? settings_at : at;
	if (next_word(&s, &at) == 0 || is(&s, at, s.at - at, "VALUES"))
		return;
	ret->has_data = true;
	ret->sql_len = s.at;
	ret->data_offset = skip_blanks(text, len, s.at);
}

int server_statement_add(struct buf *out, const char *sql, size_t len)
{
	static const char column[] = "query_id", instead[] = "Settings['log_comment']";
	struct scanner s = {.text = sql, .len = len};
	size_t at = 0, done = 0, n = next_word(&s, &at);
	int r = 0;

	if (!is(&s, at, n, "KILL"))
		return buf_add(out, sql, len);
	while (r == 0 && (n = next_word(&s, &at)) > 0) {
		if (!is(&s, at, n, column))
			continue;
		r = buf_add(out, sql + done, at - done);
		r = r == 0 ? buf_add(out, instead, sizeof(instead) - 1) : r;
		done = s.at;
	}
	return r == 0 ? buf_add(out, sql + done, len - done) : r;
}

unsigned server_status(int code)
{
	static const struct {
		unsigned status;
		int codes[32];
	} table[] = {
		{400, {36, 427, 6,  25,  26, 38,  41,  72,  441, 675, 676, 27, 376,
		       15, 44,  37, 123, 8,  167, 168, 223, 62,  117, 53,  321}},
		{401, {194}},
		{403, {192, 193, 516, 512, 497}},
		{404, {60, 46, 47, 50, 56, 81, 115, 152, 63, 73, 336, 78, 511}},
		{408, {159}},
		{411, {381}},
		{413, {229}},
		{501, {48}},
		{503, {209, 76, 439}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(table[i].codes) && table[i].codes[j]; j++) {
			if (table[i].codes[j] == code)
				return table[i].status;
		}
	}
	return 500;
}
