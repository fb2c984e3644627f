/*
 * Formats log lines and passes them to the sink, which never blocks (log_sink.c).
 *
 * A line is put together on the stack and written as a whole, under one lock, so that lines of
 * several threads do not mix. What the sink does not take is lost; it is counted, and the next line
 * that gets through is preceded by one that says how many were lost. Errors of one call site may
 * repeat thousands of times a second: log_line_limited() lets one line a minute through, with the
 * number of those that it held back.
 */
#include "common/telemetry/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "common/system/clock.h"
#include "common/telemetry/log_sink.h"
#include "common/telemetry/metrics.h"

#define LINE_ESCAPE_BYTES 8 /* longest escape sequence: that of a two-byte character */
#define LOG_LIMIT_INTERVAL_NS (60 * NS_PER_S)

const char *const log_level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
	NULL,
};

static _Atomic int max_level = LOG_LEVEL_INFO;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the sink and every log_limit */
static struct log_sink sink = {.fd = -1};
static uint64_t n_unreported;         /* lines lost since the last one that got through */
static _Atomic uint64_t n_lost_lines; /* ever */

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
		/* cut a text where it ends, but leave an escape sequence out as a whole */
		len = len > LINE_ESCAPE_BYTES ? l->size - 1 - l->len : 0;
	}
	memcpy(l->text + l->len, s, len);
	l->len += len;
}

static void line_add_str(struct line *l, const char *s)
{
	line_add(l, s, strlen(s));
}

/* Length of the control character at s: of ASCII, or U+0080…U+009F in UTF-8. 0 if it is none. */
static size_t control_len(const char *s)
{
	uint8_t c = (uint8_t)s[0], d;

	if (c < 0x20 || c == 0x7f)
		return c ? 1 : 0;
	d = (uint8_t)s[1];
	return c == 0xc2 && d >= 0x80 && d <= 0x9f ? 2 : 0;
}

/* Adds s with control characters escaped, and with a backslash before the characters in also. */
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

/* Adds end, for which there is always room. */
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
	pthread_mutex_lock(&lock);
	log_sink_open(&sink, fd);
	n_unreported = 0;
	pthread_mutex_unlock(&lock);
}

static bool report_lost_lines(void)
{
	char text[128];
	int len;

	if (n_unreported == 0)
		return true;
	len = snprintf(text, sizeof(text),
		       "level=warn msg=\"log lines lost: the log was not read\" lines=%llu\n",
		       (unsigned long long)n_unreported);
	if (!log_sink_put(&sink, text, (size_t)len))
		return false;
	n_unreported = 0;
	return true;
}

static void write_line(const struct line *l)
{
	pthread_mutex_lock(&lock);
	if (sink.fd < 0)
		log_sink_open(&sink, STDERR_FILENO);
	if (!report_lost_lines() || !log_sink_put(&sink, l->text, l->len)) {
		n_unreported++;
		atomic_fetch_add_explicit(&n_lost_lines, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&lock);
}

PRINTF_LIKE(4, 0)
static void print(enum log_level level, const char *msg, uint64_t n_held, const char *fields,
		  va_list ap)
{
	char text[LOG_SINK_LINE_BYTES], formatted[LOG_LINE_BYTES];
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

	write_line(&l);
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

/* Whether the line may pass now. *ret_held is how many did not pass since the last one that did. */
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

static uint64_t read_lost_lines(void *ctx)
{
	(void)ctx;
	return atomic_load_explicit(&n_lost_lines, memory_order_relaxed);
}

static const struct metric_def metric_defs[] = {
	{.name = "_log_lines_dropped_total",
	 .help = "Log lines lost because the log was not read",
	 .read = read_lost_lines},
};
METRIC_TABLE(metric_table, metric_defs);

int log_register_metrics(struct metrics *ms, const char *prefix)
{
	static struct metric
		values[ARRAY_SIZE(metric_defs)]; /* not used: there is a read function */

	return metrics_register_as(ms, prefix, &metric_table, values, NULL);
}
