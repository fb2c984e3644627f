#include "cluster-agent/store/space_plan.h"

/* Days before this one may be dropped. */
static uint32_t first_kept(const struct space_state *s)
{
	uint32_t newest = 0;

	for (size_t i = 0; i < s->n_days; i++)
		newest = s->days[i].day > newest ? s->days[i].day : newest;
	return newest < s->today ? newest : s->today;
}

/* What our days are on one disk. */
struct share {
	uint64_t droppable_bytes;
	uint64_t largest_bytes; /* of one day, droppable or not */
	uint32_t oldest;        /* 0: none can be dropped */
};

static struct share share_of(const struct space_state *s, size_t disk)
{
	const uint32_t kept = first_kept(s);
	struct share ret = {0};

	for (size_t i = 0; i < s->n_days; i++) {
		const struct space_day *d = &s->days[i];

		if (d->disk != disk || d->bytes == 0)
			continue;
		if (d->bytes > ret.largest_bytes)
			ret.largest_bytes = d->bytes;
		if (d->day >= kept)
			continue;
		ret.droppable_bytes += d->bytes;
		if (ret.oldest == 0 || d->day < ret.oldest)
			ret.oldest = d->day;
	}
	return ret;
}

static uint64_t used_bytes(const struct space_disk *d)
{
	return d->total_bytes > d->free_bytes ? d->total_bytes - d->free_bytes : 0;
}

unsigned space_usage_percent(const struct space_disk *d)
{
	return d->total_bytes >= 100 ? (unsigned)(used_bytes(d) / (d->total_bytes / 100)) : 0;
}

static enum space_verdict judge(const struct space_state *s, size_t disk, uint32_t *ret_day)
{
	const struct space_disk *d = &s->disks[disk];
	uint64_t used = used_bytes(d), limit = d->total_bytes / 100 * s->max_usage_percent;
	struct share ours = share_of(s, disk);

	if (used <= limit || ours.largest_bytes == 0)
		return SPACE_ENOUGH;
	if (ours.oldest == 0)
		return SPACE_NONE;
	if (used - limit > ours.droppable_bytes && d->free_bytes >= ours.largest_bytes)
		return SPACE_OTHERS;
	*ret_day = ours.oldest;
	return SPACE_DROP;
}

/* Returns the bytes of the day. */
static uint64_t drop(struct space_state *s, uint32_t day)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->n_days; i++) {
		struct space_day *d = &s->days[i];

		if (d->day != day)
			continue;
		s->disks[d->disk].free_bytes += d->bytes;
		bytes += d->bytes;
		d->bytes = 0;
	}
	return bytes;
}

enum space_verdict space_plan(struct space_state *s, struct space_choice *ret)
{
	enum space_verdict worst = SPACE_ENOUGH;

	for (size_t i = 0; i < s->n_disks; i++) {
		uint32_t day = 0;
		enum space_verdict v = judge(s, i, &day);

		if (v == SPACE_ENOUGH)
			continue;
		*ret = (struct space_choice){
			.disk = i, .usage_percent = space_usage_percent(&s->disks[i]), .day = day};
		if (v == SPACE_DROP) {
			ret->bytes = drop(s, day);
			return v;
		}
		worst = v;
	}
	return worst;
}
