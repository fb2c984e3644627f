/*
 * Random bits come from the kernel. Before its generator is seeded, early after boot, it has none,
 * and waiting would hold up the loop; the key is then a hash of what no other process has at the
 * same time: clocks, the process, the machine's boot, and a number that counts up.
 */
#include "common/upload/upload_key.h"

#include <stdatomic.h>
#include <sys/random.h>

#include "common/data/table.h"
#include "common/system/clock.h"

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
