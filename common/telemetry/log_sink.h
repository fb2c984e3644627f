/*
 * Where log lines go: a descriptor that is never waited for. Used by log.c only, under its lock.
 */
#ifndef COMMON_TELEMETRY_LOG_SINK_H
#define COMMON_TELEMETRY_LOG_SINK_H

#include "common/base.h"

/*
 * Longest line, newline included. No more than PIPE_BUF, so that a pipe takes all of it or
 * nothing.
 */
#define LOG_SINK_LINE_BYTES 2056

struct log_sink {
	int fd;          /* -1: not opened yet */
	bool is_own;     /* fd is a descriptor of ours, to be closed */
	bool is_socket;  /* written with send(2) */
	bool needs_poll; /* fd blocks: ask first */
	size_t rest_len; /* of a line of which the descriptor took only the beginning */
	char rest[LOG_SINK_LINE_BYTES];
};

/* fd is borrowed. The previous descriptor is forgotten, with the rest of a line. */
void log_sink_open(struct log_sink *s, int fd);

/* Writes one line. Returns false if the descriptor cannot take it at once: the line is lost. */
bool log_sink_put(struct log_sink *s, const char *line, size_t len) MUST_CHECK;

#endif /* COMMON_TELEMETRY_LOG_SINK_H */
