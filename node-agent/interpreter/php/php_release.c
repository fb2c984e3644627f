/*
 * The engine has no symbol for its release that all of them have. It sends a header with each page,
 * "X-Powered-By: PHP/8.2.29", which is among its constants.
 */
#include "node-agent/interpreter/php/php_release.h"

#include <errno.h>

#define CONSTANTS_MAX (64u << 20) /* with the time zones, some 5 to 15 MB */
#define CHUNK_BYTES 65536u
#define HEADER "X-Powered-By: PHP/"
#define HEADER_BYTES (sizeof(HEADER) - 1)
#define HEADER_MAX (HEADER_BYTES + 8) /* with the release */

/*
 * Offsets from Zend/zend_compile.h and zend_globals.h of each release, as offsetof() has them on
 * 64-bit machines.
 */
static const struct release {
	uint16_t number; /* 100 * major + minor */
	struct php_layout layout;
} releases[] = {
	{703, {.last = 60, .opcodes = 64, .filename = 128, .current = 488}},
	{704, {.last = 60, .opcodes = 64, .filename = 136, .current = 488}},
	{800, {.last = 68, .opcodes = 72, .filename = 144, .current = 488}},
	{801, {.last = 68, .opcodes = 72, .filename = 144, .current = 488}},
	{802, {.last = 80, .opcodes = 88, .filename = 152, .current = 488}},
	{803, {.last = 76, .opcodes = 80, .filename = 144, .current = 488}},
	{804, {.last = 96, .opcodes = 104, .filename = 168, .current = 488}},
	{805, {.last = 96, .opcodes = 104, .filename = 168, .current = 512}},
	{806, {.last = 96, .opcodes = 104, .filename = 168, .current = 512}},
};

/* "8.2.29"; 0: it is none. */
static unsigned number_of(const char *text, size_t len)
{
	unsigned major, minor;

	if (len < 4 || text[0] < '0' || text[0] > '9' || text[1] != '.' || text[2] < '0' ||
	    text[2] > '9')
		return 0;
	major = (unsigned)(text[0] - '0');
	minor = (unsigned)(text[2] - '0');
	if (text[3] >= '0' && text[3] <= '9')
		minor = minor * 10 + (unsigned)(text[3] - '0');
	return major * 100 + minor;
}

static unsigned number_in(const char *chunk, size_t len)
{
	const char *found = memmem(chunk, len, HEADER, HEADER_BYTES);

	if (!found)
		return 0;
	found += HEADER_BYTES;
	return number_of(found, len - (size_t)(found - chunk));
}

/* Chunks overlap by as much as the header may have. */
static int find_number(const struct elf_section *constants, const struct byte_source *src,
		       unsigned *ret)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
	uint64_t end =
		constants->size_bytes < CONSTANTS_MAX ? constants->size_bytes : CONSTANTS_MAX;

	*ret = 0;
	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = 0; at < end && *ret == 0; at += CHUNK_BYTES - HEADER_MAX) {
		size_t len = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;
		int r = byte_source_read(src, constants->offset + at, chunk, len);

		if (r < 0)
			return r;
		*ret = number_in(chunk, len);
	}
	return 0;
}

int php_release_find(const struct elf_layout *layout, const struct byte_source *src,
		     struct php_layout *ret)
{
	unsigned number;
	int r = find_number(&layout->sections[ELF_SECTION_RODATA], src, &number);

	if (r < 0)
		return r;
	if (number == 0)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		if (releases[i].number == number) {
			*ret = releases[i].layout;
			return 0;
		}
	}
	return -ENOTSUP;
}
