#include "common/text/near_name.h"

#include <ctype.h>
#include <limits.h>

/* More than three mistakes, or one in every five characters, make another name. */
#define MISTAKES_MAX 3u
#define CHARACTERS_PER_MISTAKE 5u

static char fold(char c)
{
	return c == '-' || c == '.' ? '_' : (char)tolower((unsigned char)c);
}

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The distance of the first i + 1 characters of a to each beginning of b, of those of fewer. */
static void next_row(unsigned row[3][NEAR_NAME_BYTES], const char *a, unsigned i, const char *b)
{
	const unsigned *one_less = row[(i + 2) % 3], *two_less = row[(i + 1) % 3];
	unsigned *now = row[i % 3];

	now[0] = i + 1;
	for (unsigned j = 0; b[j]; j++) {
		now[j + 1] = min_of(one_less[j] + (fold(a[i]) != fold(b[j])),
				    min_of(one_less[j + 1], now[j]) + 1);
		if (i > 0 && j > 0 && fold(a[i]) == fold(b[j - 1]) && fold(a[i - 1]) == fold(b[j]))
			now[j + 1] = min_of(now[j + 1], two_less[j - 1] + 1);
	}
}

/* Both are shorter than NEAR_NAME_BYTES. */
static unsigned count_edits(const char *a, const char *b)
{
	unsigned row[3][NEAR_NAME_BYTES], i = 0;

	for (unsigned j = 0; j < NEAR_NAME_BYTES; j++)
		row[2][j] = j;
	for (; a[i]; i++)
		next_row(row, a, i, b);
	return row[(i + 2) % 3][strlen(b)];
}

unsigned near_name_edits(const char *a, const char *b, unsigned max)
{
	size_t a_len = strnlen(a, NEAR_NAME_BYTES), b_len = strnlen(b, NEAR_NAME_BYTES);
	unsigned n;

	/* the difference of lengths is the least that the distance can be */
	if (a_len == NEAR_NAME_BYTES || b_len == NEAR_NAME_BYTES || a_len > b_len + max ||
	    b_len > a_len + max)
		return UINT_MAX;
	n = count_edits(a, b);
	return n <= max ? n : UINT_MAX;
}

static bool has_words(const char *name)
{
	return strchr(name, '_') || strchr(name, '-');
}

/* How many characters of known are missing in front of a name of several words, or UINT_MAX. */
static unsigned missing_words(const char *name, const char *known)
{
	size_t len = strlen(name), known_len = strlen(known);

	if (!has_words(name) || len + 1 >= known_len || fold(known[known_len - len - 1]) != '_' ||
	    near_name_edits(name, known + known_len - len, 0) != 0)
		return UINT_MAX;
	return (unsigned)(known_len - len);
}

static unsigned typing_mistakes(const char *name, const char *known)
{
	size_t len = strlen(name), known_len = strlen(known);
	unsigned max = (unsigned)(len < known_len ? len : known_len) / CHARACTERS_PER_MISTAKE;

	/* with letters in front it is another's, as CCACHE_DIR */
	if (len > known_len && near_name_edits(name + len - known_len, known, 0) == 0)
		return UINT_MAX;
	return near_name_edits(name, known, min_of(max, MISTAKES_MAX));
}

unsigned near_name_distance(const char *name, const char *known)
{
	static const char prefix[] = "COROOT_";
	const char *bare = name;
	unsigned missing;

	if (strnlen(name, NEAR_NAME_BYTES) == NEAR_NAME_BYTES ||
	    strnlen(known, NEAR_NAME_BYTES) == NEAR_NAME_BYTES)
		return UINT_MAX;
	if (strncasecmp(name, prefix, strlen(prefix)) == 0)
		bare += strlen(prefix);
	missing = missing_words(bare, known);
	if (missing < UINT_MAX)
		missing += MISTAKES_MAX; /* farther than any of those */
	return min_of(min_of(typing_mistakes(name, known), typing_mistakes(bare, known)), missing);
}
