#include "node-agent/go/gc/gc_layout.h"

#include <errno.h>

#define BY_SIZE_BYTES 24u

struct memstats_row {
	unsigned since; /* minor */
	struct gc_memstats_layout layout;
};

struct delta_row {
	unsigned since;
	struct gc_delta_layout layout;
};

struct pacer_row {
	unsigned since;
	struct gc_pacer_layout layout;
};

/* clang-format off */

/*      bytes  hash  last  total end   numgc by_size  tiny     deltas */
static const struct memstats_row memstats_rows[] = {
	{25, {7684, 3544, 3568, 3576, 5632, 7680, GC_NONE, GC_NONE, 0}},
	{19, {7708, 3568, 3592, 3600, 5656, 7704, GC_NONE, GC_NONE, 0}},
	{18, {9516,  128,  168,  176, 2232, 4280, 4304,    GC_NONE, 5960}},
	{17, {9492,  128,  168,  176, 2232, 4280, 4304,    GC_NONE, 5960}},
	{16, {9532,  128,  176,  184, 2240, 4288, 4312,    5960,    6024}},
	{13, {4292,  144,  176,  184, 2240, 4288, GC_NONE, GC_NONE, GC_NONE}},
};

static const struct delta_row delta_rows[] = {
	{25, {1168, 40, 48}},
	{19, {1176, 48, 56}},
	{18, {1184, 48, 56}},
	{17, {1176, 48, 56}},
	{16, {1168, GC_NONE, 48}},
	{13, {0, GC_NONE, GC_NONE}},
};

/*      bytes  minimum  goal live marked limit    in_use */
static const struct pacer_row pacer_rows[] = {
	{21, { 320,      16,  72,  104,  152,       8,     272}},
	{20, { 296,      16,  48,   80,  128,       8,     248}},
	{19, { 352,      16, 104,  136,  184,       8,     304}},
	{18, { 176,       8, 104,  120,  168, GC_NONE, GC_NONE}},
	{17, {  72,       8,  32,   48,   64, GC_NONE, GC_NONE}},
	{16, {6024, GC_NONE, 168, 6000, 6016, GC_NONE, GC_NONE}},
	{13, {5992, GC_NONE, 168, 5968, 5984, GC_NONE, GC_NONE}},
};

/* clang-format on */

int gc_layout_get(unsigned minor, struct gc_layout *ret)
{
	size_t m = 0, d = 0, p = 0;

	if (minor < GC_MINOR_MIN || minor > GC_MINOR_MAX)
		return -ENOTSUP;
	while (memstats_rows[m].since > minor)
		m++;
	while (delta_rows[d].since > minor)
		d++;
	while (pacer_rows[p].since > minor)
		p++;
	*ret = (struct gc_layout){
		.minor = minor,
		.memstats = memstats_rows[m].layout,
		.delta = delta_rows[d].layout,
		.pacer = pacer_rows[p].layout,
	};
	return 0;
}
