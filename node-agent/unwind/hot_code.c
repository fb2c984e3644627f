/*
 * A part is CFI_PART_PAGES pages, counted from the beginning of the table. Each has a number of
 * samples, which is small: once there are enough, the part is analysed and its number does not
 * count any more. So the parts need not be sorted; who looks for the next one reads all numbers, a
 * thousand of the largest programs.
 */
#include "node-agent/unwind/hot_code.h"

#include <errno.h>

#define NOT_DEFERRED UINT8_MAX
#define SAMPLES_MAX (NOT_DEFERRED - 1u)

struct hot_code {
	struct cfi_extent extent; /* of the table */
	uint32_t n;
	uint32_t n_taken;
	uint8_t samples[]; /* by part, up to SAMPLES_MAX; or NOT_DEFERRED */
};

/* Returns h->n for an address that is not in the table. */
static uint32_t part_of(const struct hot_code *h, uint64_t vaddr)
{
	uint64_t page = (vaddr >> UNWIND_PAGE_SHIFT) - h->extent.first_page;

	return page < h->extent.n_pages ? (uint32_t)(page / CFI_PART_PAGES) : h->n;
}

int hot_code_new(struct hot_code **ret, const struct cfi_extent *extent,
		 const struct cfi_deferred *deferred)
{
	uint32_t n = (extent->n_pages + CFI_PART_PAGES - 1) / CFI_PART_PAGES;
	struct hot_code *h = malloc(sizeof(*h) + n);

	if (!h)
		return -ENOMEM;
	*h = (struct hot_code){.extent = *extent, .n = n};
	memset(h->samples, NOT_DEFERRED, n);
	for (uint32_t i = 0; i < deferred->n; i++) {
		uint32_t last = part_of(h, deferred->ranges[i].end - 1);

		for (uint32_t p = part_of(h, deferred->ranges[i].start); p <= last && p < n; p++)
			h->samples[p] = 0;
	}
	*ret = h;
	return 0;
}

void hot_code_free(struct hot_code *h)
{
	free(h);
}

void hot_code_note(struct hot_code *h, uint64_t vaddr)
{
	uint32_t part = part_of(h, vaddr);

	if (part < h->n && h->samples[part] < SAMPLES_MAX)
		h->samples[part]++;
}

/* Returns h->n if there is none. */
static uint32_t find_next(const struct hot_code *h)
{
	uint32_t found = h->n;
	unsigned most = HOT_CODE_SAMPLES - 1;

	for (uint32_t i = 0; i < h->n && h->n_taken < HOT_CODE_PARTS_MAX; i++) {
		if (h->samples[i] == NOT_DEFERRED || h->samples[i] <= most)
			continue;
		found = i;
		most = h->samples[i];
	}
	return found;
}

unsigned hot_code_samples(const struct hot_code *h)
{
	uint32_t i = find_next(h);

	return i < h->n ? h->samples[i] : 0;
}

int hot_code_take(struct hot_code *h, struct cfi_extent *ret)
{
	uint32_t i = find_next(h), first = i * CFI_PART_PAGES, left;

	if (i == h->n)
		return -ENOENT;
	h->samples[i] = NOT_DEFERRED;
	h->n_taken++;
	left = h->extent.n_pages - first;
	*ret = (struct cfi_extent){
		.first_page = h->extent.first_page + first,
		.n_pages = left < CFI_PART_PAGES ? left : CFI_PART_PAGES,
	};
	return 0;
}
