#include "common/flame/folded_text.h"

#include <inttypes.h>

#include "common/flame/frame_text.h"

#define NO_FRAMES "[no frames]"

/* Separators of frames, and all that ends a line for somebody, become spaces and colons. */
static void replace(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (s[i] == ';')
			s[i] = ':';
		else if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			s[i] = ' ';
	}
}

/* A last word of digits would be read as a value. */
static void protect_last_word(char *s, size_t len)
{
	size_t at = len;

	while (at > 0 && ((s[at - 1] >= '0' && s[at - 1] <= '9') || s[at - 1] == '.'))
		at--;
	if (at > 0 && at < len && s[at - 1] == ' ')
		s[at - 1] = '_';
}

static int add_frame(struct buf *out, const struct flame_frame *frame, bool is_first, bool is_last)
{
	struct frame_text parts;
	size_t start;
	int r = is_first ? 0 : buf_add(out, ";", 1);

	frame_text_split(&parts, frame->text, frame->len);
	start = out->len;
	if (r == 0)
		r = buf_add(out, parts.name, parts.name_len);
	if (r < 0)
		return r;
	replace(out->data + start, parts.name_len);
	if (is_last)
		protect_last_word(out->data + start, parts.name_len);
	return 0;
}

int folded_text_add(struct buf *out, const struct flame_frame *frames, size_t n_frames,
		    struct stack_value value, bool has_base)
{
	int r = n_frames > 0 ? 0 : buf_add(out, NO_FRAMES, strlen(NO_FRAMES));

	for (size_t i = n_frames; r == 0 && i > 0; i--)
		r = add_frame(out, &frames[i - 1], i == n_frames, i == 1);
	if (r == 0 && has_base)
		r = buf_addf(out, " %" PRId64, value.base);
	return r == 0 ? buf_addf(out, " %" PRId64 "\n", value.value) : r;
}
