#include "node-agent/go/record/go_bucket_scan.h"

#include <errno.h>

#define WORD_BYTES 8u
#define SCAN_STEP_BYTES 4096u
#define USER_ADDRESS_MIN UINT64_C(0x10000)
#define USER_ADDRESS_MAX (UINT64_C(1) << 48)

struct scan {
	struct memory_windows *w;
	const struct go_bucket_format *format;
	struct go_bucket bucket;
	uint64_t found; /* address of the variable; 0 if none was found yet */
};

/* Returns -EEXIST if a second variable points to a record. */
static int scan_words(struct scan *s, const uint64_t *words, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = words[i];
		int r;

		if (v < USER_ADDRESS_MIN || v >= USER_ADDRESS_MAX || v % WORD_BYTES != 0)
			continue;
		r = go_bucket_read(s->w, s->format, v, &s->bucket);
		if (r == -EFBIG || r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		if (s->found != 0)
			return -EEXIST;
		s->found = address + i * WORD_BYTES;
	}
	return 0;
}

static int scan_range(struct scan *s, const struct go_range *range)
{
	uint64_t words[SCAN_STEP_BYTES / WORD_BYTES];
	uint64_t start = (range->start + WORD_BYTES - 1) & ~(uint64_t)(WORD_BYTES - 1);
	uint64_t end = range->end;

	if (start < range->start)
		return 0;
	if (end > start && end - start > GO_BUCKET_SCAN_MAX_BYTES)
		end = start + GO_BUCKET_SCAN_MAX_BYTES;
	for (uint64_t at = start; at < end; at += sizeof(words)) {
		size_t len = end - at < sizeof(words) ? (size_t)(end - at) : sizeof(words);
		int r = memory_windows_read_now(s->w, at, words, len);

		if (r == 0)
			r = scan_words(s, words, len / WORD_BYTES, at);
		if (r < 0)
			return r;
	}
	return 0;
}

int go_bucket_scan(struct memory_windows *w, const struct go_module *module,
		   const struct go_bucket_format *format, uint64_t *ret)
{
	AUTO_FREE struct scan *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->w = w;
	s->format = format;
	/*
	 * data[2] is .bss, where the list is since 1.19; data[3] is .noptrbss, where it was
	 * before
	 */
	for (size_t i = 2; r == 0 && i < ARRAY_SIZE(module->data); i++)
		r = scan_range(s, &module->data[i]);
	if (r < 0)
		return r == -EEXIST ? -ENOENT : r;
	if (s->found == 0)
		return -ENOENT;
	*ret = s->found;
	return 0;
}
