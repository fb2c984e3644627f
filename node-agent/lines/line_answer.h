/*
 * What an address stands for by DWARF, and its form in a message. Pure.
 *
 * The message comes from a process that has parsed a stranger's file, so every byte is checked.
 */
#ifndef NODE_AGENT_LINES_LINE_ANSWER_H
#define NODE_AGENT_LINES_LINE_ANSWER_H

#include "common/base.h"

#define LINE_ANSWER_FRAMES_MAX 32u
#define LINE_ANSWER_TEXT_BYTES 12288u
#define LINE_ANSWER_MESSAGE_MAX_BYTES 16384u

struct line_frame {
	const char *function; /* as in the file, possibly mangled; "" if unknown; borrowed */
	const char *file;     /* path of the source file; "" if unknown; borrowed */
	uint32_t line;        /* 0: unknown */
};

struct line_answer {
	struct line_frame frames[LINE_ANSWER_FRAMES_MAX]; /* innermost first */
	uint32_t n;
	uint32_t text_bytes;
	char text[LINE_ANSWER_TEXT_BYTES]; /* frames point into it */
};

static inline void line_answer_clear(struct line_answer *a)
{
	a->n = 0;
	a->text_bytes = 0;
}

/* Copies the texts; NULL is "". Returns false if there is no room: the frame is left out. */
bool line_answer_add(struct line_answer *a, const char *function, const char *file, uint32_t line);

/* Returns the length of the message, at most LINE_ANSWER_MESSAGE_MAX_BYTES. */
size_t line_answer_encode(const struct line_answer *a, uint8_t *to);

/* Returns 0 or -EBADMSG. */
int line_answer_parse(struct line_answer *ret, const uint8_t *message, size_t len) MUST_CHECK;

#endif /* NODE_AGENT_LINES_LINE_ANSWER_H */
