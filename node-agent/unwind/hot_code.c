/*
 * A part is CFI_PART_PAGES pages, counted from the beginning of the table. Each has a number of
 * samples, which is small: once there are enough, the part is built and its number does not count
 * any more. So the parts need not be sorted; who looks for the next one reads all numbers, four
 * thousand of the largest programs.
 *
 * Where memory is short, parts are given up that samples do not come to, and read again once they
 * do. Most of a large program never runs.
 *
 * Descriptions are read in half a millisecond, so one sample is enough for them. A walk ends where
 * they are missing, so each sample tells one more place of a deep stack. Code that runs together
 * lies together where compilers or linkers know what is hot, so the rest is read from the last such
 * place on.
 */
#include "node-agent/unwind/hot_code.h"

#include <errno.h>

#define DONE UINT8_MAX
#define SAMPLES_MAX (DONE - 1u)

#define FILL_PARTS (CFI_FILL_PAGES / CFI_PART_PAGES)
#define READ_PARTS 4u /* descriptions of so many are read around a sample: 0.5 ms */

struct part {
	uint8_t samples; /* up to SAMPLES_MAX; or DONE */
	bool unread;     /* its descriptions are */
	bool again;      /* it was read before */
	bool cold;       /* it was given up as such: not to be read with the rest */
	bool hot;        /* samples came to it */
	uint8_t periods; /* until it is cold */
};

struct hot_code {
	struct cfi_extent extent; /* of the table */
	uint32_t n;
	uint32_t n_analysed;
	uint32_t n_unread, n_cold, n_deferred; /* parts that are not done */
	uint32_t next_unread;                  /* where the search for the rest begins */
	struct part parts[];
};

/* Returns h->n for an address that is not in the table. */
static uint32_t part_of(const struct hot_code *h, uint64_t vaddr)
{
	uint64_t page = (vaddr >> UNWIND_PAGE_SHIFT) - h->extent.first_page;

	return page < h->extent.n_pages ? (uint32_t)(page / CFI_PART_PAGES) : h->n;
}

static struct hot_code *make(const struct cfi_extent *extent, struct part parts)
{
	uint32_t n = (extent->n_pages + CFI_PART_PAGES - 1) / CFI_PART_PAGES;
	struct hot_code *h = malloc(sizeof(*h) + n * sizeof(h->parts[0]));

	if (!h)
		return NULL;
	*h = (struct hot_code){.extent = *extent, .n = n, .n_unread = parts.unread ? n : 0};
	parts.periods = HOT_CODE_UNSAMPLED_PERIODS;
	for (uint32_t i = 0; i < n; i++)
		h->parts[i] = parts;
	return h;
}

int hot_code_new(struct hot_code **ret, const struct cfi_extent *extent,
		 const struct cfi_deferred *deferred)
{
	struct hot_code *h = make(extent, (struct part){.samples = DONE});

	if (!h)
		return -ENOMEM;
	hot_code_defer(h, deferred);
	*ret = h;
	return 0;
}

int hot_code_new_empty(struct hot_code **ret, const struct cfi_extent *extent)
{
	struct hot_code *h = make(extent, (struct part){.unread = true});

	if (!h)
		return -ENOMEM;
	*ret = h;
	return 0;
}

void hot_code_free(struct hot_code *h)
{
	free(h);
}

void hot_code_defer(struct hot_code *h, const struct cfi_deferred *deferred)
{
	for (uint32_t i = 0; i < deferred->n; i++) {
		uint32_t last = part_of(h, deferred->ranges[i].end - 1);

		for (uint32_t p = part_of(h, deferred->ranges[i].start); p <= last && p < h->n;
		     p++) {
			if (h->parts[p].samples != DONE)
				continue;
			h->parts[p].samples = 0;
			h->n_deferred++;
		}
	}
}

void hot_code_note(struct hot_code *h, uint64_t vaddr)
{
	uint32_t part = part_of(h, vaddr);

	if (part == h->n)
		return;
	h->parts[part].hot = true;
	h->parts[part].periods = HOT_CODE_SAMPLED_PERIODS;
	if (h->parts[part].samples < SAMPLES_MAX)
		h->parts[part].samples++;
}

static bool may_take(const struct hot_code *h, const struct part *p)
{
	if (p->samples == DONE)
		return false;
	return p->unread ? p->samples > 0
			 : p->samples >= HOT_CODE_SAMPLES && h->n_analysed < HOT_CODE_PARTS_MAX;
}

/* Returns h->n if there is none. */
static uint32_t find_next(const struct hot_code *h)
{
	uint32_t found = h->n;

	for (uint32_t i = 0; i < h->n; i++) {
		if (may_take(h, &h->parts[i]) &&
		    (found == h->n || h->parts[i].samples > h->parts[found].samples))
			found = i;
	}
	return found;
}

unsigned hot_code_samples(const struct hot_code *h)
{
	uint32_t i = find_next(h);

	return i < h->n ? h->parts[i].samples : 0;
}

/* The pages of n parts from this one on. */
static struct cfi_extent extent_of(const struct hot_code *h, uint32_t part, uint32_t n)
{
	uint32_t first = part * CFI_PART_PAGES, n_pages = n * CFI_PART_PAGES;
	uint32_t left = h->extent.n_pages - first;

	return (struct cfi_extent){.first_page = h->extent.first_page + first,
				   .n_pages = left < n_pages ? left : n_pages};
}

/* Takes n parts from this one on, which are alike. */
static void take(struct hot_code *h, uint32_t part, uint32_t n, struct hot_part *ret)
{
	const struct part first = h->parts[part];

	*ret = (struct hot_part){
		.extent = extent_of(h, part, n), .fills = first.unread, .again = first.again};
	for (uint32_t i = part; i < part + n; i++)
		h->parts[i] = (struct part){
			.samples = DONE,
			.hot = h->parts[i].hot,
			.periods = h->parts[i].hot ? HOT_CODE_SAMPLED_PERIODS
						   : HOT_CODE_UNSAMPLED_PERIODS,
		};
	if (first.cold) {
		h->n_cold -= n;
	} else if (first.unread) {
		h->n_unread -= n;
		h->next_unread = part + n < h->n ? part + n : 0;
	} else {
		h->n_deferred -= n;
		h->n_analysed += n;
	}
}

static bool is_unread_like(const struct part *p, const struct part *first)
{
	return p->unread && p->again == first->again && p->cold == first->cold;
}

/* How many parts from this one on are alike, up to max. */
static uint32_t count_unread(const struct hot_code *h, uint32_t first, uint32_t max)
{
	uint32_t n = 0;

	while (first + n < h->n && n < max &&
	       is_unread_like(&h->parts[first + n], &h->parts[first]))
		n++;
	return n;
}

int hot_code_take(struct hot_code *h, bool reads_rest, struct hot_part *ret)
{
	uint32_t i = find_next(h), first = i, max = reads_rest ? READ_PARTS : FILL_PARTS;

	if (i == h->n)
		return -ENOENT;
	while (!reads_rest && first > 0 && i - first < max / 2 && h->parts[i].unread &&
	       is_unread_like(&h->parts[first - 1], &h->parts[i]))
		first--;
	take(h, first, h->parts[i].unread ? count_unread(h, first, max) : 1, ret);
	return 0;
}

int hot_code_take_rest(struct hot_code *h, struct hot_part *ret)
{
	uint32_t first = h->next_unread;

	if (h->n_unread == 0)
		return -ENOENT;
	while (!h->parts[first].unread || h->parts[first].cold)
		first = first + 1 < h->n ? first + 1 : 0;
	take(h, first, count_unread(h, first, FILL_PARTS), ret);
	return 0;
}

void hot_code_put_back(struct hot_code *h, const struct hot_part *part)
{
	uint32_t first = (uint32_t)(part->extent.first_page - h->extent.first_page);

	for (uint32_t page = first; page < first + part->extent.n_pages; page += CFI_PART_PAGES) {
		h->parts[page / CFI_PART_PAGES] =
			(struct part){.unread = true, .again = part->again};
		h->n_unread++;
	}
	h->next_unread = first / CFI_PART_PAGES;
}

void hot_code_remember(struct hot_code *h, const struct hot_code *before)
{
	for (uint32_t i = 0; i < h->n && i < before->n; i++) {
		struct part *p = &h->parts[i];

		p->hot |= before->parts[i].hot;
		if (p->hot && p->samples == 0)
			p->samples = HOT_CODE_SAMPLES - 1;
	}
}

bool hot_code_is_filling(const struct hot_code *h)
{
	return h->n_unread > 0;
}

bool hot_code_has_more(const struct hot_code *h)
{
	return h->n_unread + h->n_cold > 0 ||
	       (h->n_deferred > 0 && h->n_analysed < HOT_CODE_PARTS_MAX);
}

void hot_code_cool(struct hot_code *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		if (h->parts[i].periods > 0)
			h->parts[i].periods--;
	}
}

static bool may_drop(const struct part *p, enum hot_code_drop what)
{
	return !p->unread && (p->periods == 0 || (what != HOT_CODE_COLD && !p->hot));
}

int hot_code_drop(struct hot_code *h, enum hot_code_drop what, struct hot_part *ret)
{
	bool runs = what != HOT_CODE_ENDED;
	uint32_t first = 0, n = 0;

	while (first < h->n && !may_drop(&h->parts[first], what))
		first++;
	if (first == h->n)
		return -ENOENT;
	for (; first + n < h->n && n < FILL_PARTS; n++) {
		struct part *p = &h->parts[first + n];

		if (!may_drop(p, what))
			break;
		h->n_deferred -= p->samples != DONE;
		*p = (struct part){.unread = true, .again = true, .cold = runs};
	}
	if (runs)
		h->n_cold += n;
	else
		h->n_unread += n;
	*ret = (struct hot_part){.extent = extent_of(h, first, n), .fills = true, .again = true};
	return 0;
}
