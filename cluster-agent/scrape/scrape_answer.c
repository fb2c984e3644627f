#include "cluster-agent/scrape/scrape_answer.h"

#include <errno.h>

#include "common/text/utf8.h"

/* Only the beginning of a body is checked for being text. */
#define CHECKED_BYTES ((size_t)256)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_control(char c)
{
	return ((unsigned char)c < ' ' && !is_blank(c)) || c == 0x7f;
}

void scrape_answer_line(char ret[static ANSWER_LINE_BYTES], const char *body, size_t len)
{
	size_t n = 0;

	for (; len > 0 && is_blank(*body); len--)
		body++;
	for (; n < len && n < ANSWER_LINE_BYTES - 1 && body[n] != '\n'; n++)
		ret[n] = is_control(body[n]) ? '?' : is_blank(body[n]) ? ' ' : body[n];
	while (n > 0 && ret[n - 1] == ' ')
		n--;
	/* a truncated character becomes question marks as well */
	utf8_repair(ret, n);
	ret[n] = '\0';
}

int scrape_answer_status(int status, const char *body, size_t len, struct err *err)
{
	char line[ANSWER_LINE_BYTES];

	scrape_answer_line(line, body, len);
	return err_set(err, -EPROTO, "HTTP %d%s%s", status, line[0] ? ": " : "", line);
}

static bool is_text(const char *body, size_t len)
{
	if (len > CHECKED_BYTES)
		len = CHECKED_BYTES;
	for (size_t i = 0; i < len; i++)
		if (is_control(body[i]))
			return false;
	return len > 0;
}

static bool begins_with(const char *body, size_t len, const char *start)
{
	return len >= strlen(start) && memcmp(body, start, strlen(start)) == 0;
}

/* The first words of text profiles that cannot be read at all. */
static bool is_unread_text(const char *body, size_t len)
{
	static const char *const starts[] = {"--- heapz", "--- threadz", "--- Thread", "heap_v2/"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (begins_with(body, len, starts[i]))
			return true;
	return false;
}

/* A heap profile of gperftools begins in the same way, but ends its first line in another one. */
static bool is_go_heap(const char *body, size_t len)
{
	const char *line_end = memchr(body, '\n', len);

	return begins_with(body, len, "heap profile:") && line_end &&
	       memmem(body, (size_t)(line_end - body), "@ heap/", 7);
}

bool scrape_answer_is_go_text(const char *body, size_t len)
{
	static const char *const starts[] = {
		"goroutine profile:", "threadcreate profile:", "--- mutex:", "--- contention:"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (begins_with(body, len, starts[i]))
			return true;
	return is_go_heap(body, len);
}

int scrape_answer_explain(const char *body, size_t len, struct err *err)
{
	char line[ANSWER_LINE_BYTES];

	if (!is_text(body, len))
		return -EBADMSG;
	scrape_answer_line(line, body, len);
	if (scrape_answer_is_go_text(body, len) || is_unread_text(body, len))
		return err_set(err, -EBADMSG,
			       "a text profile, as with debug=1 or from Go before 1.9: %s", line);
	return err_set(err, -EBADMSG, "not a pprof profile: %s", line);
}
