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

/* The first words of text profiles of Go and gperftools. */
static bool is_legacy_text(const char *body, size_t len)
{
	static const char *const starts[] = {
		"heap profile:", "goroutine profile:", "threadcreate profile:",
		"--- mutex:",    "--- contention:",    "--- contentionz",
		"--- heapz",     "--- threadz",        "--- Thread",
		"heap_v2/",      "--- Memory map:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (len >= strlen(starts[i]) && memcmp(body, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* The header in machine words: 0, 3, 0, the period, 0. */
static bool is_legacy_cpu(const char *body, size_t len)
{
	static const uint64_t head[] = {0, 3, 0};

	return len >= sizeof(head) && memcmp(body, head, sizeof(head)) == 0;
}

int scrape_answer_explain(const char *body, size_t len, struct err *err)
{
	char line[ANSWER_LINE_BYTES];

	if (is_legacy_cpu(body, len))
		return err_set(err, -EBADMSG,
			       "not a pprof profile but a CPU profile in gperftools' own format");
	if (!is_text(body, len))
		return -EBADMSG;
	scrape_answer_line(line, body, len);
	if (is_legacy_text(body, len))
		return err_set(err, -EBADMSG,
			       "a text profile, as with debug=1 or from Go before 1.9: %s", line);
	return err_set(err, -EBADMSG, "not a pprof profile: %s", line);
}
