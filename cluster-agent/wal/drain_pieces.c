#include "cluster-agent/wal/drain_pieces.h"

#include <errno.h>

#include "common/limits.h"

/* The embedded engine holds the rows of an insert several times over while it sorts them. */
#define PIECE_BYTES (16 * MIB)
_Static_assert(PIECE_BYTES <= STORE_INSERT_BYTES, "an insert must be one block");

/* ---- days ---- */

static int compare_quarters(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int drain_days_make(struct drain_days *ret, const struct log_segment_content *segment)
{
	size_t n = segment->n_frames;

	*ret = (struct drain_days){.quarters = calloc(n + 1, sizeof(*ret->quarters)),
				   .days = calloc(n + 1, sizeof(*ret->days))};
	if (!ret->quarters || !ret->days)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ret->quarters[i] = segment->frames[i].data.frame.quarter;
	qsort(ret->quarters, n, sizeof(*ret->quarters), compare_quarters);
	for (size_t i = 0; i < n; i++)
		if (ret->n == 0 || ret->quarters[ret->n - 1] != ret->quarters[i])
			ret->quarters[ret->n++] = ret->quarters[i];
	return 0;
}

void drain_days_fini(struct drain_days *d)
{
	free(d->quarters);
	free(d->days);
	*d = (struct drain_days){0};
}

static bool is_same_day(const struct drain_days *d, uint32_t a, uint32_t b)
{
	const uint64_t keys[] = {a, b};
	const uint64_t *at[2];

	if (a == b || d->n == 0)
		return a == b;
	for (size_t i = 0; i < 2; i++)
		at[i] = bsearch(&keys[i], d->quarters, d->n, sizeof(*d->quarters),
				compare_quarters);
	return at[0] && at[1] && d->days[at[0] - d->quarters] == d->days[at[1] - d->quarters];
}

/* ---- pieces ---- */

static int compare(const void *a, const void *b)
{
	const struct log_frame *x = *(const struct log_frame *const *)a;
	const struct log_frame *y = *(const struct log_frame *const *)b;

	if (x->data.frame.quarter != y->data.frame.quarter)
		return x->data.frame.quarter < y->data.frame.quarter ? -1 : 1;
	/* both are of the segment's array, whose order is that of appending */
	return x < y ? -1 : x > y;
}

static int sort_frames(struct drain_pieces *p, const struct log_segment_content *segment)
{
	for (size_t i = 0; i < segment->n_frames; i++)
		p->n_frames[segment->frames[i].data.table]++;
	for (size_t t = 0; t < STORE_TABLE_MAX; t++) {
		p->frames[t] = calloc(p->n_frames[t] + 1, sizeof(p->frames[t][0]));
		if (!p->frames[t])
			return -ENOMEM;
		p->n_frames[t] = 0;
	}
	for (size_t i = 0; i < segment->n_frames; i++) {
		enum store_table t = segment->frames[i].data.table;

		p->frames[t][p->n_frames[t]++] = &segment->frames[i];
	}
	for (size_t t = 0; t < STORE_TABLE_MAX; t++)
		qsort(p->frames[t], p->n_frames[t], sizeof(p->frames[t][0]), compare);
	return 0;
}

/* Returns how many frames from first on are one piece, at least one. */
static uint32_t piece_length(struct log_frame const *const *frames, size_t n,
			     const struct drain_days *days)
{
	uint64_t rows = 0, bytes = 0;
	uint32_t i = 0;

	for (; i < n; i++) {
		const struct store_frame *f = &frames[i]->data.frame;

		rows += f->n_rows;
		bytes += f->n_bytes;
		if (i > 0 && (!is_same_day(days, f->quarter, frames[0]->data.frame.quarter) ||
			      rows > STORE_INSERT_ROWS || bytes > PIECE_BYTES))
			break;
	}
	return i;
}

int drain_pieces_make(struct drain_pieces *ret, const struct log_segment_content *segment,
		      const struct drain_days *days)
{
	int r;

	*ret = (struct drain_pieces){0};
	r = sort_frames(ret, segment);
	if (r < 0)
		return r;
	/* no piece is empty */
	ret->pieces = calloc(segment->n_frames + 1, sizeof(ret->pieces[0]));
	if (!ret->pieces)
		return -ENOMEM;
	for (size_t t = 0; t < STORE_TABLE_MAX; t++) {
		uint32_t at = 0;

		while (at < ret->n_frames[t]) {
			uint32_t n = piece_length(ret->frames[t] + at, ret->n_frames[t] - at, days);

			ret->pieces[ret->n_pieces++] = (struct drain_piece){
				.table = (enum store_table)t, .first = at, .n = n};
			at += n;
		}
	}
	return 0;
}

void drain_pieces_fini(struct drain_pieces *p)
{
	for (size_t t = 0; t < STORE_TABLE_MAX; t++)
		free(p->frames[t]);
	free(p->pieces);
	*p = (struct drain_pieces){0};
}

void drain_piece_token(const struct drain_piece *piece, const char *segment_token, unsigned attempt,
		       char *ret)
{
	snprintf(ret, STORE_TOKEN_BYTES + 1, "%.32s%x%08x%08x%02x", segment_token,
		 (unsigned)piece->table, piece->first, piece->n, attempt & 0xff);
}
