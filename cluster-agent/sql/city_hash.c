/*
 * The algorithm of Google's CityHash 1.0.2 (by Geoff Pike and Jyrki Alakuijala, MIT licence), of
 * which only the 128-bit hash is here. No library of ours has this release. The names of the steps
 * and of the state (v, w, x, y, z) are those of the original, so that the two can be compared.
 * Numbers are little-endian on every machine, as ClickHouse's are.
 */
#include "cluster-agent/sql/city_hash.h"

#include <endian.h>

static const uint64_t k0 = 0xc3a5c85c97cb3127;
static const uint64_t k1 = 0xb492b66fbe98f273;
static const uint64_t k2 = 0x9ae16a3b2f90404f;
static const uint64_t k3 = 0xc949d7c7509e6557;

struct pair {
	uint64_t first;
	uint64_t second;
};

static uint64_t fetch64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static uint64_t fetch32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

/* shift is 0 to 63 */
static uint64_t rotate(uint64_t v, unsigned shift)
{
	return shift == 0 ? v : v >> shift | v << (64 - shift);
}

static uint64_t shift_mix(uint64_t v)
{
	return v ^ v >> 47;
}

static uint64_t hash_len16(uint64_t u, uint64_t v)
{
	const uint64_t mul = 0x9ddfea08eb382d69;
	uint64_t a = shift_mix((u ^ v) * mul);

	return shift_mix((v ^ a) * mul) * mul;
}

static uint64_t hash_len0to16(const uint8_t *s, size_t len)
{
	uint32_t y, z;

	if (len > 8) {
		uint64_t b = fetch64(s + len - 8);

		return hash_len16(fetch64(s), rotate(b + len, (unsigned)len)) ^ b;
	}
	if (len >= 4)
		return hash_len16(len + (fetch32(s) << 3), fetch32(s + len - 4));
	if (len == 0)
		return k2;
	y = s[0] + ((uint32_t)s[len >> 1] << 8);
	z = (uint32_t)len + ((uint32_t)s[len - 1] << 2);
	return shift_mix(y * k2 ^ z * k3) * k2;
}

static struct pair weak_hash32(const uint8_t *s, uint64_t a, uint64_t b)
{
	uint64_t x = fetch64(s + 8), y = fetch64(s + 16), z = fetch64(s + 24);
	uint64_t c;

	a += fetch64(s);
	b = rotate(b + a + z, 21);
	c = a;
	a += x + y;
	b += rotate(a, 44);
	return (struct pair){a + z, b + c};
}

static struct city_hash murmur(const uint8_t *s, size_t len, struct pair seed)
{
	uint64_t a = seed.first, b = seed.second, c, d;

	if (len <= 16) {
		a = shift_mix(a * k1) * k1;
		c = b * k1 + hash_len0to16(s, len);
		d = shift_mix(a + (len >= 8 ? fetch64(s) : c));
	} else {
		c = hash_len16(fetch64(s + len - 8) + k1, a);
		d = hash_len16(b + len, c + fetch64(s + len - 16));
		a += d;
		/* the last 1 to 16 bytes have been hashed above */
		for (size_t left = len; left > 16; left -= 16, s += 16) {
			a = (a ^ shift_mix(fetch64(s) * k1) * k1) * k1;
			b ^= a;
			c = (c ^ shift_mix(fetch64(s + 8) * k1) * k1) * k1;
			d ^= c;
		}
	}
	a = hash_len16(a, c);
	b = hash_len16(d, b);
	return (struct city_hash){a ^ b, hash_len16(b, a)};
}

struct state {
	struct pair v, w;
	uint64_t x, y, z;
};

static void mix64(struct state *t, const uint8_t *s)
{
	uint64_t swap;

	t->x = rotate(t->x + t->y + t->v.first + fetch64(s + 16), 37) * k1;
	t->y = rotate(t->y + t->v.second + fetch64(s + 48), 42) * k1;
	t->x ^= t->w.second;
	t->y ^= t->v.first;
	t->z = rotate(t->z ^ t->w.first, 33);
	t->v = weak_hash32(s, t->v.second * k1, t->x + t->w.first);
	t->w = weak_hash32(s + 32, t->z + t->w.second, t->y);
	swap = t->z;
	t->z = t->x;
	t->x = swap;
}

static struct city_hash hash128_with_seed(const uint8_t *s, size_t len, struct pair seed)
{
	struct state t = {.x = seed.first, .y = seed.second, .z = len * k1};
	const uint8_t *end = s + len;
	size_t left;

	if (len < 128)
		return murmur(s, len, seed);
	t.v.first = rotate(t.y ^ k1, 49) * k1 + fetch64(s);
	t.v.second = rotate(t.v.first, 42) * k1 + fetch64(s + 8);
	t.w.first = rotate(t.y + t.z, 35) * k1 + t.x;
	t.w.second = rotate(t.x + fetch64(s + 88), 53) * k1;
	for (left = len; left >= 128; left -= 128, s += 128) {
		mix64(&t, s);
		mix64(&t, s + 64);
	}
	t.y += rotate(t.w.first, 37) * k0 + t.z;
	t.x += rotate(t.v.first + t.z, 49) * k0;
	/* what is left, in chunks of 32 bytes from the end; the last one reaches back */
	for (size_t tail = 0; tail < left;) {
		tail += 32;
		t.y = rotate(t.y - t.x, 42) * k0 + t.v.second;
		t.w.first += fetch64(end - tail + 16);
		t.x = rotate(t.x, 49) * k0 + t.w.first;
		t.w.first += t.v.first;
		t.v = weak_hash32(end - tail, t.v.first, t.v.second);
	}
	t.x = hash_len16(t.x, t.v.first);
	t.y = hash_len16(t.y, t.w.first);
	return (struct city_hash){
		hash_len16(t.x + t.v.second, t.w.second) + t.y,
		hash_len16(t.x + t.w.second, t.y + t.v.second),
	};
}

struct city_hash city_hash128(const void *data, size_t len)
{
	const uint8_t *s = data;

	if (len >= 16)
		return hash128_with_seed(s + 16, len - 16,
					 (struct pair){fetch64(s) ^ k3, fetch64(s + 8)});
	if (len >= 8)
		return hash128_with_seed(
			s, 0, (struct pair){fetch64(s) ^ len * k0, fetch64(s + len - 8) ^ k1});
	return hash128_with_seed(s, len, (struct pair){k0, k1});
}
