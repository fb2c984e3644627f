/*
 * Four stacks at a time. A lane holds one stack: the bytes of its current frame that are still
 * to be hashed, and its position. All lanes advance by as many bytes as the shortest rest
 * allows; a lane that has finished its frame moves on to the next frame, or writes its hash and
 * takes the next stack.
 */
#include "cluster-agent/ingest/stack_hash.h"

#include "common/data/hash.h"

#define N_LANES 4u
#define FNV_PRIME UINT64_C(0x100000001b3)

/* A stack that is being hashed. */
struct lane {
	uint64_t hash;
	const unsigned char *at; /* rest of the current frame */
	size_t left;
	const struct profile_sample *sample;
	uint32_t location; /* index into sample->locations */
	uint32_t frame;    /* next frame of that location */
	uint32_t index;    /* of the sample */
};

struct work {
	const struct profile_rows_location *locations;
	const struct profile_sample *samples;
	const uint32_t *which;
	uint32_t n;
	uint32_t next; /* first one of which that no lane has taken */
	uint64_t *hashes;
};

/* Advances to the next frame that is not empty. Returns false at the end of the stack. */
static bool next_frame(const struct work *w, struct lane *l)
{
	while (l->left == 0) {
		const struct profile_rows_location *location;

		if (l->location == l->sample->n_locations)
			return false;
		location = &w->locations[l->sample->locations[l->location]];
		if (l->frame == location->n_frames) {
			l->location++;
			l->frame = 0;
			continue;
		}
		l->at = (const unsigned char *)location->frames[l->frame].data;
		l->left = location->frames[l->frame].len;
		l->frame++;
	}
	return true;
}

/* Provides bytes to hash, of l's stack or of the next one. Returns false if no stack is left. */
static bool refill(struct work *w, struct lane *l)
{
	while (!l->sample || !next_frame(w, l)) {
		if (l->sample)
			w->hashes[l->index] = l->hash;
		if (w->next == w->n) {
			l->sample = NULL;
			return false;
		}
		*l = (struct lane){.hash = FNV1A64_INIT, .index = w->which[w->next++]};
		l->sample = &w->samples[l->index];
	}
	return true;
}

static size_t least_left(const struct lane *l)
{
	size_t n = l[0].left;

	for (unsigned i = 1; i < N_LANES; i++)
		n = l[i].left < n ? l[i].left : n;
	return n;
}

/* The lanes are spelled out so that the compiler keeps their hashes in registers. */
static void hash_side_by_side(struct lane *l, size_t n)
{
	const unsigned char *p0 = l[0].at, *p1 = l[1].at, *p2 = l[2].at, *p3 = l[3].at;
	uint64_t h0 = l[0].hash, h1 = l[1].hash, h2 = l[2].hash, h3 = l[3].hash;

	for (size_t i = 0; i < n; i++) {
		h0 = (h0 ^ p0[i]) * FNV_PRIME;
		h1 = (h1 ^ p1[i]) * FNV_PRIME;
		h2 = (h2 ^ p2[i]) * FNV_PRIME;
		h3 = (h3 ^ p3[i]) * FNV_PRIME;
	}
	l[0].hash = h0;
	l[1].hash = h1;
	l[2].hash = h2;
	l[3].hash = h3;
	for (unsigned i = 0; i < N_LANES; i++) {
		l[i].at += n;
		l[i].left -= n;
	}
}

void stack_hash_all(const struct profile_rows_location *locations,
		    const struct profile_sample *samples, const uint32_t *which, uint32_t n,
		    uint64_t *hashes)
{
	struct work w = {locations, samples, which, n, 0, hashes};
	struct lane lanes[N_LANES] = {0};
	unsigned n_full = 0;

	do {
		for (n_full = 0; n_full < N_LANES; n_full++)
			if (lanes[n_full].left == 0 && !refill(&w, &lanes[n_full]))
				break;
		if (n_full == N_LANES)
			hash_side_by_side(lanes, least_left(lanes));
	} while (n_full == N_LANES);
	/* too few stacks are left to fill all lanes: hash the rest one by one */
	for (unsigned i = 0; i < N_LANES; i++) {
		while (lanes[i].sample && (lanes[i].left > 0 || refill(&w, &lanes[i]))) {
			lanes[i].hash = fnv1a64(lanes[i].hash, lanes[i].at, lanes[i].left);
			lanes[i].left = 0;
		}
	}
}
