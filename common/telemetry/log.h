/*
 * Log lines: logfmt on stderr, one per decision.
 *
 * The message is constant (greppable, countable), what varies is in fields:
 *   log_warn("skipping process", "pid=%d reason=%s", pid, "gone");
 * prints  level=warn msg="skipping process" pid=812 reason=gone
 * Use LOG_QUOTED for field values that come from outside:
 *   log_warn("skipping process", "comm=%s", LOG_QUOTED(comm));
 *
 * error: a person must act; warn: something is lost, but the agent continues; info: start, stop,
 * configuration; debug: everything else. No secrets, no whole URLs.
 *
 * Safe from any thread, and never blocks: if stderr is a pipe that nobody reads, lines are lost and
 * counted, and the first line that gets through again is preceded by one that says how many.
 */
#ifndef COMMON_TELEMETRY_LOG_H
#define COMMON_TELEMETRY_LOG_H

#include "common/base.h"

struct metrics;

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* A longer line is cut, and ends in "...". */
#define LOG_LINE_BYTES 2048

/* State of a call site that may repeat: one line a minute, with the number of those held back. */
struct log_limit {
	uint64_t next_ns;
	uint64_t n_held;
};

void log_set_level(enum log_level level);

/* "error", "warn", "info", "debug", in the order of the enum; NULL at the end. */
extern const char *const log_level_names[];

/* Where lines go instead of stderr; borrowed. Each line is one write(2). */
void log_set_fd(int fd);

/* <prefix>_log_lines_dropped_total. prefix must outlive ms. As metrics_register(). */
int log_register_metrics(struct metrics *ms, const char *prefix) MUST_CHECK;

/* fields may be "" but not NULL. Control characters in the formatted fields are escaped. */
void log_line(enum log_level level, const char *msg, const char *fields, ...) PRINTF_LIKE(3, 4);
void log_line_limited(struct log_limit *limit, enum log_level level, const char *msg,
		      const char *fields, ...) PRINTF_LIKE(4, 5);

struct log_quoted {
	char text[256];
};

/*
 * Quotes s (NULL counts as ""): quotes, backslashes and control characters are escaped; a long text
 * is cut to fit and ends in "...". Returns q->text.
 */
const char *log_quote(struct log_quoted *q, const char *s);

/* Valid until the end of the enclosing block. */
#define LOG_QUOTED(s) log_quote(&(struct log_quoted){""}, s)

#define log_error(msg, ...) log_line(LOG_LEVEL_ERROR, msg, __VA_ARGS__)
#define log_warn(msg, ...) log_line(LOG_LEVEL_WARN, msg, __VA_ARGS__)
#define log_info(msg, ...) log_line(LOG_LEVEL_INFO, msg, __VA_ARGS__)
#define log_debug(msg, ...) log_line(LOG_LEVEL_DEBUG, msg, __VA_ARGS__)
#define log_warn_limited(msg, ...)                                           \
	do {                                                                 \
		static struct log_limit limit_;                              \
		log_line_limited(&limit_, LOG_LEVEL_WARN, msg, __VA_ARGS__); \
	} while (0)

#endif /* COMMON_TELEMETRY_LOG_H */
