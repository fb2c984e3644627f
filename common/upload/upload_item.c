#include "common/upload/upload_item.h"

#include <stdatomic.h>
#include <sys/random.h>

#include "common/data/table.h"
#include "common/system/clock.h"

#define SERVICE "service.name="

struct upload_item *upload_item_new(const struct upload_key *key, uint64_t created_ns, char *query,
				    char *body, size_t body_len)
{
	struct upload_item *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	atomic_init(&i->n_refs, 1);
	atomic_init(&i->is_in_doubt, false);
	i->key = *key;
	i->created_ns = created_ns;
	i->query = query;
	i->body = body;
	i->body_len = body_len;
	return i;
}

struct upload_item *upload_item_ref(struct upload_item *i)
{
	atomic_fetch_add_explicit(&i->n_refs, 1, memory_order_relaxed);
	return i;
}

void upload_item_unref(struct upload_item *i)
{
	if (!i || atomic_fetch_sub_explicit(&i->n_refs, 1, memory_order_acq_rel) > 1)
		return;
	free(i->query);
	free(i->body);
	free(i);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void upload_item_service(const struct upload_item *i, char ret[static UPLOAD_SERVICE_BYTES])
{
	const char *at = strstr(i->query, SERVICE);
	size_t n = 0;

	for (at = at ? at + strlen(SERVICE) : ""; *at && *at != '&' && n + 1 < UPLOAD_SERVICE_BYTES;
	     at++) {
		int high = *at == '%' ? hex_digit(at[1]) : -1;
		int low = high >= 0 ? hex_digit(at[2]) : -1;

		ret[n++] = low >= 0 ? (char)(high << 4 | low) : *at;
		if (low >= 0)
			at += 2;
	}
	ret[n] = '\0';
}

/* ---- keys ---- */

/*
 * Random bits come from the kernel. Before its generator is seeded, early after boot, it has none,
 * and waiting would hold up the loop; the key is then a hash of what no other process has at the
 * same time: clocks, the process, the machine's boot, and a number that counts up.
 */
static XXH128_hash_t unseeded_bits(void)
{
	static _Atomic uint64_t counter;
	const struct {
		uint64_t count, seed, real_ns, boot_ns, cpu_ns, pid;
	} sources = {
		.count = atomic_fetch_add(&counter, 1),
		.seed = table_seed,
		.real_ns = clock_realtime_ns(),
		.boot_ns = clock_boottime_ns(),
		.cpu_ns = clock_thread_cpu_ns(),
		.pid = (uint64_t)getpid(),
	};

	return XXH3_128bits(&sources, sizeof(sources));
}

void upload_key_make(struct upload_key *ret)
{
	uint64_t bits[2];

	if (getrandom(bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits)) {
		const XXH128_hash_t h = unseeded_bits();

		bits[0] = h.high64;
		bits[1] = h.low64;
	}
	snprintf(ret->text, sizeof(ret->text), "%016llx%016llx", (unsigned long long)bits[0],
		 (unsigned long long)bits[1]);
}

bool upload_key_is_valid(const char *text, size_t len)
{
	if (len != UPLOAD_KEY_DIGITS)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	}
	return true;
}
