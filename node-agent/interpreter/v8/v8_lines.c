#include "node-agent/interpreter/v8/v8_lines.h"

/* Script */
#define SCRIPT_SOURCE 8u
#define SCRIPT_LINE_OFFSET 24u
#define SCRIPT_LINE_ENDS 56u

#define BLOCK SCRIPT_LINES_BLOCK
#define LINES_MAX (16u << 20)

_Static_assert(V8_SOURCE_MAX / BLOCK <= SCRIPT_LINES_BLOCKS, "all blocks are counted");

struct counter {
	uint32_t lines;
	bool after_return; /* a line ends here, unless a line feed follows, which belongs to it */
};

/* As V8 counts them: LF, CR, CR LF, and U+2028 and U+2029. */
static void count(struct counter *c, const struct v8_text *text, const void *characters, uint32_t n)
{
	const uint8_t *narrow = characters;
	const uint16_t *wide = characters;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t ch = text->wide ? wide[i] : narrow[i];

		c->lines += c->after_return && ch != '\n';
		c->after_return = ch == '\r';
		c->lines += ch == '\n' || ch == 0x2028 || ch == 0x2029;
	}
}

static bool read_block(struct v8_heap *h, const struct v8_text *text, uint32_t first, uint32_t n,
		       void *to)
{
	return interpreter_read(h->memory, text->at + ((uint64_t)first << text->wide), to,
				(size_t)n << text->wide) == 0;
}

/* Counts the lines in front of each block. NULL if it cannot be read. */
static uint32_t *count_blocks(struct v8_heap *h, const struct v8_text *text)
{
	uint32_t n = text->length / BLOCK + 1;
	uint32_t *lines = malloc(n * sizeof(*lines));
	uint8_t bytes[2 * BLOCK];
	struct counter c = {0};

	if (!lines)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t left = text->length - i * BLOCK;

		lines[i] = c.lines;
		if (!read_block(h, text, i * BLOCK, left < BLOCK ? left : BLOCK, bytes)) {
			free(lines);
			return NULL;
		}
		count(&c, text, bytes, left < BLOCK ? left : BLOCK);
	}
	return lines;
}

/* The lines that end before a position. */
static uint32_t lines_before(struct v8_heap *h, const struct v8_text *text, uint32_t position)
{
	struct script_lines *cache = h->memory->lines;
	uint32_t first = position / BLOCK * BLOCK;
	const uint32_t *blocks;
	struct counter c = {0};
	uint8_t bytes[2 * BLOCK];

	if (!cache)
		return UINT32_MAX;
	blocks = script_lines_find(cache, text->at, text->length);
	if (!blocks) {
		uint32_t *lines = count_blocks(h, text);

		if (!lines)
			return UINT32_MAX;
		script_lines_add(cache, text->at, text->length, lines);
		blocks = lines;
	}
	if (!read_block(h, text, first, position - first, bytes))
		return UINT32_MAX;
	c.lines = blocks[position / BLOCK];
	count(&c, text, bytes, position - first);
	return c.lines;
}

/* Where lines end, if V8 has counted them. */
static uint32_t lines_of_ends(struct v8_heap *h, uint64_t ends, uint32_t position)
{
	uint32_t low = 0, high = v8_length(h, ends, LINES_MAX);

	if (high == 0)
		return UINT32_MAX;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t end =
			v8_word(h, ends, V8_ARRAY_DATA + middle * (unsigned)sizeof(uint64_t));

		if (v8_integer(end) < (int64_t)position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t v8_line_of(struct v8_heap *h, uint64_t script, int64_t position)
{
	uint64_t ends = v8_word(h, script, SCRIPT_LINE_ENDS);
	int32_t offset = v8_integer(v8_word(h, script, SCRIPT_LINE_OFFSET));
	uint32_t lines = UINT32_MAX;
	struct v8_text text;

	if (position < 0 || position > V8_SOURCE_MAX)
		return 0;
	if (v8_is_object(ends) && v8_type(h, ends) == h->layout->type_array)
		lines = lines_of_ends(h, ends, (uint32_t)position);
	if (lines == UINT32_MAX && v8_text_find(h, v8_word(h, script, SCRIPT_SOURCE), &text) == 0 &&
	    text.length <= V8_SOURCE_MAX && position <= text.length)
		lines = lines_before(h, &text, (uint32_t)position);
	if (lines == UINT32_MAX)
		return 0;
	return lines + 1 + (offset > 0 ? (uint32_t)offset : 0);
}
