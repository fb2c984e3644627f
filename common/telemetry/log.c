#include "common/telemetry/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "common/system/clock.h"

#define LINE_ESCAPE_BYTES 8 /* the longest is that of a two-byte character */
#define LOG_LIMIT_INTERVAL_NS (60 * NS_PER_S)

const char *const log_level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
	NULL,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* lines, and every struct log_limit */
static _Atomic int max_level = LOG_LEVEL_INFO;
static _Atomic int out_fd = STDERR_FILENO;

/* Text of a fixed size whose last characters become "..." when it does not fit. */
struct line {
	char *text;
	size_t size; /* of text, the NUL included */
	size_t len;
	bool cut;
};

static void line_add(struct line *l, const char *s, size_t len)
{
	if (l->cut)
		return;
	if (len > l->size - 1 - l->len) {
		l->cut = true;
		/* half an escape sequence says nothing, half a text does */
		len = len > LINE_ESCAPE_BYTES ? l->size - 1 - l->len : 0;
	}
	memcpy(l->text + l->len, s, len);
	l->len += len;
}

static void line_add_str(struct line *l, const char *s)
{
	line_add(l, s, strlen(s));
}

/* A control character of ASCII, or of Latin-1 (U+0080…U+009F) in UTF-8. Returns its bytes, or 0. */
static size_t control_len(const char *s)
{
	uint8_t c = (uint8_t)s[0], d;

	if (c < 0x20 || c == 0x7f)
		return c ? 1 : 0;
	d = (uint8_t)s[1];
	return c == 0xc2 && d >= 0x80 && d <= 0x9f ? 2 : 0;
}

/* s with control characters escaped, and those in also with a backslash in front. */
static void line_add_escaped(struct line *l, const char *s, const char *also)
{
	while (*s && !l->cut) {
		size_t n = strcspn(s, also), plain = 0;

		while (plain < n && control_len(s + plain) == 0)
			plain++;
		line_add(l, s, plain);
		s += plain;
		if (!*s)
			return;

		n = control_len(s);
		if (n == 0) {
			line_add(l, (char[]){'\\', *s++}, 2);
		} else if (*s == '\n' || *s == '\t') {
			line_add(l, *s++ == '\n' ? "\\n" : "\\t", 2);
		} else {
			char hex[16];
			int len = 0;

			for (; n > 0; n--)
				len += snprintf(hex + len, sizeof(hex) - (size_t)len, "\\x%02x",
						(uint8_t)*s++);
			line_add(l, hex, (size_t)len);
		}
	}
}

/* Room for end, which is never cut away. */
static void line_finish(struct line *l, const char *end)
{
	if (l->cut) {
		memcpy(l->text + l->len, "...", 3);
		l->len += 3;
	}
	memcpy(l->text + l->len, end, strlen(end) + 1);
	l->len += strlen(end);
}

const char *log_quote(struct log_quoted *q, const char *s)
{
	struct line l = {.text = q->text, .size = sizeof(q->text) - strlen("...\"")};

	line_add_str(&l, "\"");
	line_add_escaped(&l, s ? s : "", "\"\\");
	line_finish(&l, "\"");
	return q->text;
}

void log_set_level(enum log_level level)
{
	atomic_store(&max_level, (int)level);
}

void log_set_fd(int fd)
{
	atomic_store(&out_fd, fd);
}

static void write_line(const struct line *l)
{
	int fd = atomic_load(&out_fd);
	size_t done = 0;

	while (done < l->len) {
		ssize_t n = write(fd, l->text + done, l->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* nowhere left to complain */
		done += (size_t)n;
	}
}

PRINTF_LIKE(4, 0)
static void print(enum log_level level, const char *msg, uint64_t n_held, const char *fields,
		  va_list ap)
{
	char text[LOG_LINE_BYTES + 8], formatted[LOG_LINE_BYTES];
	struct line l = {.text = text, .size = LOG_LINE_BYTES};

	vsnprintf(formatted, sizeof(formatted), fields, ap);

	line_add_str(&l, "level=");
	line_add_str(&l, log_level_names[level]);
	line_add_str(&l, " msg=\"");
	line_add_escaped(&l, msg, "\"\\");
	line_add_str(&l, "\"");
	if (n_held > 0) {
		char held[48];

		snprintf(held, sizeof(held), " repeated=%llu", (unsigned long long)n_held);
		line_add_str(&l, held);
	}
	if (formatted[0]) {
		line_add_str(&l, " ");
		line_add_escaped(&l, formatted, "");
	}
	line_finish(&l, "\n");

	pthread_mutex_lock(&lock);
	write_line(&l);
	pthread_mutex_unlock(&lock);
}

void log_line(enum log_level level, const char *msg, const char *fields, ...)
{
	int saved = errno;
	va_list ap;

	if ((int)level > atomic_load(&max_level))
		return;
	va_start(ap, fields);
	print(level, msg, 0, fields, ap);
	va_end(ap);
	errno = saved;
}

/* Whether the line is due now; ret_held: how many were not since the last one. */
static bool limit_passes(struct log_limit *limit, uint64_t *ret_held)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool due;

	pthread_mutex_lock(&lock);
	due = now_ns >= limit->next_ns;
	if (due) {
		*ret_held = limit->n_held;
		limit->n_held = 0;
		limit->next_ns = now_ns + LOG_LIMIT_INTERVAL_NS;
	} else {
		limit->n_held++;
	}
	pthread_mutex_unlock(&lock);
	return due;
}

void log_line_limited(struct log_limit *limit, enum log_level level, const char *msg,
		      const char *fields, ...)
{
	int saved = errno;
	uint64_t n_held;
	va_list ap;

	if ((int)level > atomic_load(&max_level) || !limit_passes(limit, &n_held))
		return;
	errno = saved;
	va_start(ap, fields);
	print(level, msg, n_held, fields, ap);
	va_end(ap);
	errno = saved;
}
