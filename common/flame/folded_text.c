#include "common/flame/folded_text.h"

#include <inttypes.h>

#include "common/flame/frame_text.h"
#include "common/text/utf8.h"

#define NO_FRAMES "[no frames]"

/*
 * Whether the sequence is more than a character: a control of Latin-1, which terminals obey as they
 * obey ESC, a line or paragraph separator, or a change of the writing direction.
 */
static bool is_control(const unsigned char *s, size_t len)
{
	if (len == 1)
		return *s < ' ' || *s == 0x7f;
	if (len == 2)
		return s[0] == 0xc2 && s[1] < 0xa0;
	if (len != 3 || s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

/* Separators of frames become colons; what ends a line or moves a cursor becomes spaces. */
static void replace(char *s, size_t len)
{
	size_t n;

	utf8_repair(s, len);
	for (size_t i = 0; i < len; i += n) {
		n = utf8_len((const unsigned char *)s + i, len - i);
		if (s[i] == ';')
			s[i] = ':';
		else if (is_control((const unsigned char *)s + i, n))
			memset(s + i, ' ', n);
	}
}

/*
 * A spreadsheet takes a cell that begins so for a formula, and ";" separates its cells in half of
 * the world. Methods of Objective-C, "-[Class method]", are no formulas.
 */
static bool begins_formula(const char *name, size_t len)
{
	if (len == 0 || !strchr("=+-@", name[0]))
		return false;
	return !(len > 1 && name[1] == '[' && name[0] != '=' && name[0] != '@');
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
	if (r == 0 && begins_formula(parts.name, parts.name_len))
		r = buf_add(out, "'", 1);
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

	if (r < 0)
		return r;
	for (size_t i = n_frames; i > 0; i--) {
		r = add_frame(out, &frames[i - 1], i == n_frames, i == 1);
		if (r < 0)
			return r;
	}
	if (has_base)
		r = buf_addf(out, " %" PRId64, value.base);
	if (r < 0)
		return r;
	return buf_addf(out, " %" PRId64 "\n", value.value);
}
