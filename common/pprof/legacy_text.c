#include "common/pprof/legacy_text.h"

#include <stdlib.h>
#include <string.h>

bool legacy_next_line(struct legacy_text *t, struct legacy_text *ret)
{
	const char *end;

	if (t->at == t->end)
		return false;
	end = memchr(t->at, '\n', (size_t)(t->end - t->at));
	*ret = (struct legacy_text){t->at, end ? end : t->end};
	t->at = end ? end + 1 : t->end;
	while (ret->at < ret->end && strchr(" \t\r", *ret->at) && *ret->at)
		ret->at++;
	while (ret->at < ret->end && strchr(" \t\r", ret->end[-1]) && ret->end[-1])
		ret->end--;
	return true;
}

void legacy_skip_blanks(struct legacy_text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
}

bool legacy_skip_text(struct legacy_text *t, const char *what)
{
	size_t len = strlen(what);

	if ((size_t)(t->end - t->at) < len || memcmp(t->at, what, len) != 0)
		return false;
	t->at += len;
	return true;
}

bool legacy_skip_mark(struct legacy_text *t, const char *what)
{
	legacy_skip_blanks(t);
	return legacy_skip_text(t, what);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

bool legacy_read_number(struct legacy_text *t, unsigned int base, uint64_t *ret)
{
	const char *begin = t->at;

	for (*ret = 0; t->at < t->end && digit(*t->at) < (int)base; t->at++) {
		if (__builtin_mul_overflow(*ret, base, ret) ||
		    __builtin_add_overflow(*ret, (unsigned int)digit(*t->at), ret))
			return false;
	}
	return t->at > begin;
}

bool legacy_read_signed(struct legacy_text *t, int64_t *ret)
{
	uint64_t n;
	bool is_negative;

	legacy_skip_blanks(t);
	is_negative = legacy_skip_text(t, "-");
	if (!legacy_read_number(t, 10, &n) || n > INT64_MAX)
		return false;
	*ret = is_negative ? -(int64_t)n : (int64_t)n;
	return true;
}

bool legacy_is_comment(const struct legacy_text *line)
{
	return line->at == line->end || *line->at == '#';
}

bool legacy_is_map_mark(const struct legacy_text *line)
{
	size_t len = (size_t)(line->end - line->at);

	return memmem(line->at, len, "MAPPED_LIBRARIES:", 17) ||
	       memmem(line->at, len, "--- Memory map: ---", 19);
}

struct legacy_text legacy_next_word(struct legacy_text *t)
{
	struct legacy_text ret;

	legacy_skip_blanks(t);
	ret.at = t->at;
	while (t->at < t->end && *t->at != ' ' && *t->at != '\t')
		t->at++;
	ret.end = t->at;
	return ret;
}
