#include "node-agent/java/attach/attach_protocol.h"

#include <errno.h>

#define VERSION "1"
#define COMMAND "load"
#define IS_ABSOLUTE "true"
#define RETURN_CODE "return code: " /* JDK 9 and later */
#define LOADING_DISABLED "Dynamic agent loading is not enabled"
#define FIRST_PROTOCOL_ERROR 100 /* bad JAR, bad version, other errors: 100, 101, 102 */
#define LAST_PROTOCOL_ERROR 102

int attach_protocol_load(struct buf *out, const char *path, const char *options)
{
	const char *const parts[] = {VERSION, COMMAND, path, IS_ABSOLUTE, options};

	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) > ATTACH_ARGUMENT_MAX || strlen(options) > ATTACH_ARGUMENT_MAX)
		return -E2BIG;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int r = buf_add(out, parts[i], strlen(parts[i]) + 1);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Parses a number, which may be negative, that takes up the whole line at *at, and moves behind
 * the newline. Without a newline the number may be cut off.
 */
static bool take_number(const char **at, const char *end, int32_t *ret)
{
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	const char *p = *at;
	bool negative = false;
	int64_t value = 0;

	if (!newline)
		return false;
	if (*p == '-') {
		negative = true;
		p++;
	}
	if (p == newline)
		return false;
	for (; p < newline; p++) {
		if (*p < '0' || *p > '9' || value > INT32_MAX / 10)
			return false;
		value = value * 10 + (*p - '0');
	}
	if (value > INT32_MAX)
		return false;
	*ret = (int32_t)(negative ? -value : value);
	*at = newline + 1;
	return true;
}

/* The JVM's words on one line: anything that is not printable ASCII becomes a space. */
static void take_text(const char *from, const char *end, char *ret, size_t size)
{
	size_t len = 0;

	for (; from < end && len + 1 < size; from++) {
		bool printable = *from > ' ' && *from <= '~';

		if (!printable && (len == 0 || ret[len - 1] == ' '))
			continue;
		ret[len++] = *from;
		if (!printable)
			ret[len - 1] = ' ';
	}
	while (len > 0 && ret[len - 1] == ' ')
		len--;
	ret[len] = '\0';
}

/* Finds the return code of Agent_OnAttach: a line of its own in JDK 8, a marked one later. */
static bool find_code(const char *at, const char *end, int32_t *ret)
{
	const char *p = at;

	if (at < end && take_number(&p, end, ret))
		return true;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (!newline)
			return false;
		p = at + strlen(RETURN_CODE);
		if (p < newline && memcmp(at, RETURN_CODE, strlen(RETURN_CODE)) == 0)
			return take_number(&p, end, ret);
		at = newline + 1;
	}
	return false;
}

static enum attach_outcome outcome_of(const char *at, const char *end, struct attach_answer *a)
{
	if (find_code(at, end, &a->code))
		return ATTACH_LOADED;
	if (memmem(at, (size_t)(end - at), LOADING_DISABLED, strlen(LOADING_DISABLED)))
		return ATTACH_LOADING_DISABLED;
	if (a->result >= FIRST_PROTOCOL_ERROR && a->result <= LAST_PROTOCOL_ERROR)
		return ATTACH_REFUSED;
	/* success without a code is no answer to `load` */
	if (a->result == 0 && a->text[0] == '\0')
		return ATTACH_GARBAGE;
	return ATTACH_NOT_LOADED;
}

void attach_protocol_parse(const void *bytes, size_t len, struct attach_answer *ret)
{
	const char *at = bytes, *end = at + len;

	*ret = (struct attach_answer){.outcome = ATTACH_EMPTY};
	if (len == 0)
		return;
	ret->outcome = ATTACH_GARBAGE;
	if (take_number(&at, end, &ret->result)) {
		take_text(at, end, ret->text, sizeof(ret->text));
		ret->outcome = outcome_of(at, end, ret);
	} else {
		take_text(at, end, ret->text, sizeof(ret->text));
	}
}
