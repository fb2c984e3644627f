/*
 * A loop over frames that looks each of them up spends its time on branches that the processor
 * predicts wrong: whether this slot is the right one, whether to probe the next. So there are
 * none here. An address has one bucket of four places, by its hash, and all four are compared
 * at once; if none matches, the address is not in the table. What is found are the bytes that
 * the pprof needs, with their number, so that packing is one store of fixed size and an
 * addition.
 *
 * The price are addresses whose bucket is full when they are added: they stay outside.
 */
#include "node-agent/profile/plain_locations.h"

#include <endian.h>
#include <errno.h>

#include "common/data/table.h"
#include "common/limits.h"

#define FIRST_LOG2 9u
#define BUCKET_ADDRESSES 4u
#define LENGTH_SHIFT 24u
#define GOLDEN_RATIO UINT64_C(0x9e3779b97f4a7c15)
_Static_assert(LIMIT_PPROF_LOCATIONS < 1u << 7 * LENGTH_SHIFT / 8, "three bytes are enough");

/* One word for each address of a bucket. */
typedef uint32_t words __attribute__((vector_size(BUCKET_ADDRESSES * sizeof(uint32_t))));
typedef uint64_t pairs __attribute__((vector_size(BUCKET_ADDRESSES * sizeof(uint32_t))));

/* Half of a cache line. */
struct plain_bucket {
	words addresses; /* lower halves */
	words packed;    /* bytes, the first one lowest; their number in the top byte. 0: empty */
};

void plain_locations_fini(struct plain_locations *t)
{
	free(t->memory);
	*t = (struct plain_locations){0};
}

static inline struct plain_bucket *bucket_of(const struct plain_locations *t, uint32_t address)
{
	/* unknown to the program that chooses the addresses, which may be multiples of anything */
	uint64_t h = (address ^ table_seed) * GOLDEN_RATIO;

	return &t->buckets[(h ^ h >> 32) * (table_seed | 1) >> (64 - t->log2)];
}

static void put(struct plain_locations *t, uint32_t address, uint32_t packed)
{
	struct plain_bucket *b = bucket_of(t, address);

	for (size_t i = 0; i < BUCKET_ADDRESSES; i++) {
		if (b->packed[i] != 0)
			continue;
		b->addresses[i] = address;
		b->packed[i] = packed;
		t->n++;
		return;
	}
}

static int resize(struct plain_locations *t, unsigned log2)
{
	struct plain_locations larger = {.log2 = log2, .upper_half = t->upper_half};
	size_t n = t->buckets ? (size_t)1 << t->log2 : 0;

	larger.memory = calloc(((size_t)1 << log2) + 1, sizeof(struct plain_bucket));
	if (!larger.memory)
		return -ENOMEM;
	larger.buckets = (struct plain_bucket *)((char *)larger.memory +
						 (-(uintptr_t)larger.memory &
						  (sizeof(struct plain_bucket) - 1)));
	for (size_t i = 0; i < n * BUCKET_ADDRESSES; i++) {
		const struct plain_bucket *b = &t->buckets[i / BUCKET_ADDRESSES];

		if (b->packed[i % BUCKET_ADDRESSES] != 0)
			put(&larger, b->addresses[i % BUCKET_ADDRESSES],
			    b->packed[i % BUCKET_ADDRESSES]);
	}
	plain_locations_fini(t);
	*t = larger;
	return 0;
}

int plain_locations_add(struct plain_locations *t, uint64_t address, uint32_t location)
{
	uint8_t bytes[PPROF_PACKED_LOCATION_MAX_BYTES];
	size_t len = pprof_pack_location(bytes, location);
	uint32_t packed = (uint32_t)len << LENGTH_SHIFT;
	int r = 0;

	if (t->n == 0)
		t->upper_half = (uint32_t)(address >> 32);
	if (t->upper_half != address >> 32 || len > LENGTH_SHIFT / 8)
		return 0;
	if (!t->buckets)
		r = resize(t, FIRST_LOG2);
	else if (t->n >= (size_t)3 << t->log2 >> 1) /* 1.5 addresses per bucket of four */
		r = resize(t, t->log2 + 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i < len; i++)
		packed |= (uint32_t)bytes[i] << 8 * i;
	put(t, (uint32_t)address, packed);
	return 0;
}

/* Returns the packed bytes and their number, or 0 if the address is not in the table. */
static inline uint32_t find(const struct plain_locations *t, uint32_t address)
{
	const struct plain_bucket *b = bucket_of(t, address);
	pairs found = (pairs)((words)(b->addresses == address) & b->packed);
	uint64_t either = found[0] | found[1];

	return (uint32_t)(either | either >> 32);
}

size_t plain_locations_pack(const struct plain_locations *t, const uint64_t *addresses, size_t n,
			    uint8_t *to, size_t *ret_len)
{
	const struct plain_locations in = *t; /* a copy: stores through to cannot change it */
	uint8_t *begin = to;
	size_t i;

	for (i = 0; in.buckets && i < n; i++) {
		uint32_t packed = find(&in, (uint32_t)addresses[i]);

		if (packed == 0 || addresses[i] >> 32 != in.upper_half)
			break;
		/* the bytes written in excess are overwritten by the next address */
		memcpy(to, &(uint32_t){htole32(packed)}, sizeof(packed));
		to += packed >> LENGTH_SHIFT;
	}
	*ret_len = (size_t)(to - begin);
	return i;
}
