#include "common/flame/path_key.h"

#include "common/flame/frame_text.h"
#include "common/text/utf8.h"

#define FNV_PRIME UINT32_C(0x01000193)
#define SEED_HIGH UINT32_C(0x811c9dc5)
#define SEED_LOW UINT32_C(0x1234567)
#define SEED_FILE UINT32_C(0x9e3779b9)

static uint32_t hash_bytes(uint32_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * FNV_PRIME;
	return h;
}

/* FNV-1a with a seed. */
static uint32_t text_hash(const char *s, size_t len, uint32_t seed)
{
	uint32_t h = seed;

	for (size_t i = 0; i < len;) {
		size_t n = utf8_len((const unsigned char *)s + i, len - i);

		h = n > 0 ? hash_bytes(h, s + i, n) : hash_bytes(h, "\xef\xbf\xbd", 3);
		i += n > 0 ? n : 1;
	}
	return h;
}

static uint32_t step(uint32_t parent, uint32_t item, uint32_t prime)
{
	uint32_t h = (parent ^ item) * prime;

	h ^= h >> 15;
	return h * UINT32_C(0x85ebca6b);
}

struct path_key path_key_of_name(const char *name, size_t len)
{
	return (struct path_key){text_hash(name, len, SEED_HIGH), text_hash(name, len, SEED_LOW)};
}

uint32_t path_key_of_file(const char *file, size_t len)
{
	char buf[FRAME_FILE_KEY_MAX];
	const char *key;

	len = frame_file_key(file, len, buf, &key);
	return text_hash(key, len, SEED_FILE);
}

struct path_key path_key_child(struct path_key parent, struct path_key name, uint32_t file)
{
	return (struct path_key){
		step(parent.high, name.high, FNV_PRIME),
		step(parent.low, name.low ^ file, UINT32_C(0xc2b2ae35)),
	};
}

struct path_key path_key_root(void)
{
	return path_key_child((struct path_key){17, 29}, path_key_of_name("total", 5),
			      path_key_of_file("", 0));
}
