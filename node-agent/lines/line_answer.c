#include "node-agent/lines/line_answer.h"

#include <errno.h>

/* Before the texts of each frame, which have no NUL. */
struct frame_head {
	uint32_t line;
	uint16_t function_bytes;
	uint16_t file_bytes;
};

_Static_assert(LINE_ANSWER_TEXT_BYTES + LINE_ANSWER_FRAMES_MAX * sizeof(struct frame_head) <=
		       LINE_ANSWER_MESSAGE_MAX_BYTES,
	       "every answer has room in a message");

static const char *add_text(struct line_answer *a, const char *text, size_t len)
{
	char *to = a->text + a->text_bytes;

	memcpy(to, text, len);
	to[len] = '\0';
	a->text_bytes += (uint32_t)len + 1;
	return to;
}

static bool add(struct line_answer *a, const char *function, size_t function_bytes,
		const char *file, size_t file_bytes, uint32_t line)
{
	struct line_frame *f = &a->frames[a->n];

	if (a->n == LINE_ANSWER_FRAMES_MAX ||
	    function_bytes + file_bytes + 2 > sizeof(a->text) - a->text_bytes)
		return false;
	f->function = add_text(a, function, function_bytes);
	f->file = add_text(a, file, file_bytes);
	f->line = line;
	a->n++;
	return true;
}

bool line_answer_add(struct line_answer *a, const char *function, const char *file, uint32_t line)
{
	const char *texts[] = {function ?: "", file ?: ""};
	size_t len[2];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		len[i] = strnlen(texts[i], LINE_ANSWER_TEXT_BYTES);
	return add(a, texts[0], len[0], texts[1], len[1], line);
}

size_t line_answer_encode(const struct line_answer *a, uint8_t *to)
{
	uint8_t *begin = to;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct line_frame *f = &a->frames[i];
		struct frame_head head = {
			.line = f->line,
			.function_bytes = (uint16_t)strlen(f->function),
			.file_bytes = (uint16_t)strlen(f->file),
		};

		memcpy(to, &head, sizeof(head));
		to += sizeof(head);
		memcpy(to, f->function, head.function_bytes);
		to += head.function_bytes;
		memcpy(to, f->file, head.file_bytes);
		to += head.file_bytes;
	}
	return (size_t)(to - begin);
}

int line_answer_parse(struct line_answer *ret, const uint8_t *message, size_t len)
{
	line_answer_clear(ret);
	while (len > 0) {
		const char *texts = (const char *)message + sizeof(struct frame_head);
		struct frame_head head;

		if (len < sizeof(head))
			return -EBADMSG;
		memcpy(&head, message, sizeof(head));
		len -= sizeof(head);
		if ((size_t)head.function_bytes + head.file_bytes > len ||
		    memchr(texts, '\0', (size_t)head.function_bytes + head.file_bytes) ||
		    !add(ret, texts, head.function_bytes, texts + head.function_bytes,
			 head.file_bytes, head.line))
			return -EBADMSG;
		len -= (size_t)head.function_bytes + head.file_bytes;
		message += sizeof(head) + head.function_bytes + head.file_bytes;
	}
	return 0;
}
