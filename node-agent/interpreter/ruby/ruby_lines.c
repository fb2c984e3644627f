/*
 * Lines are an array of entries, each for a position and those up to the next one. Positions are a
 * succinct index (iseq.c of Ruby): of the first 54, the number of entries up to each, in 7 bits;
 * then in blocks of 512 one bit for each position, with the number of entries before the block and
 * before each word of it.
 */
#include "node-agent/interpreter/ruby/ruby_lines.h"

#include <errno.h>

#define FIRST_POSITIONS 54u
#define POSITIONS_OF_WORD 9u
#define FIRST_BYTES (FIRST_POSITIONS / POSITIONS_OF_WORD * 8)
#define BLOCK_POSITIONS 512u
#define BLOCK_WORDS 10u /* the rank; ranks of words; bits */

enum table { ENTRIES, POSITIONS, COUNT, INDEX, TABLE_WORDS };

/* How many entries begin at or before a position. */
static int find_entry(const struct ruby_memory *m, uint64_t index, uint32_t position, uint64_t *ret)
{
	uint64_t words[BLOCK_WORDS];
	uint32_t in_block, word;
	int r;

	if (position < FIRST_POSITIONS) {
		r = ruby_read_word(m, index + position / POSITIONS_OF_WORD * 8, ret);
		*ret = *ret >> position % POSITIONS_OF_WORD * 7 & 0x7f;
		return r;
	}
	position -= FIRST_POSITIONS;
	r = interpreter_read(m->memory,
			     index + FIRST_BYTES +
				     (uint64_t)(position / BLOCK_POSITIONS) * sizeof(words),
			     words, sizeof(words));
	if (r < 0)
		return r;
	in_block = position % BLOCK_POSITIONS;
	word = in_block / 64;
	*ret = (words[0] & UINT32_MAX) + (word ? words[1] >> (word - 1) * 9 & 0x1ff : 0) +
	       (uint64_t)__builtin_popcountll(words[2 + word] << (63 - in_block % 64));
	return 0;
}

int ruby_line_read(const struct ruby_memory *m, uint64_t body, uint32_t index, uint32_t *ret)
{
	uint64_t table[TABLE_WORDS], entry = 1;
	uint32_t count;
	int r = interpreter_read(m->memory, body + m->layout->instructions, table, sizeof(table));

	*ret = 0;
	if (r < 0)
		return r;
	count = (uint32_t)table[COUNT];
	if (count > 1) /* a frame is at the next instruction */
		r = find_entry(m, table[INDEX], index > 0 ? index - 1 : 0, &entry);
	if (r < 0 || count == 0)
		return r;
	if (entry == 0 || entry > count)
		return -EBADMSG;
	return interpreter_read(m->memory, table[ENTRIES] + (entry - 1) * m->layout->line_bytes,
				ret, sizeof(*ret));
}
