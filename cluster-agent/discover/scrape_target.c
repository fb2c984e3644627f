#include "cluster-agent/discover/scrape_target.h"

#include <assert.h>

#define PPROF "/debug/pprof/"

static const struct {
	const char *name;
	const char *path;
	const char *grafana;
	bool is_timed;
} kinds[PROFILE_KIND_MAX] = {
	[PROFILE_KIND_CPU] = {"cpu", PPROF "profile", "cpu", true},
	[PROFILE_KIND_HEAP] = {"heap", PPROF "heap", "memory", false},
	[PROFILE_KIND_GOROUTINE] = {"goroutine", PPROF "goroutine", "goroutine", false},
	[PROFILE_KIND_MUTEX] = {"mutex", PPROF "mutex", "mutex", false},
	[PROFILE_KIND_BLOCK] = {"block", PPROF "block", "block", false},
	[PROFILE_KIND_WALL] = {"wall", PPROF "wall", "wall", true},
	[PROFILE_KIND_DELTA_HEAP] = {"godeltaprof_memory", PPROF "delta_heap", "godeltaprof_memory",
				     false},
	[PROFILE_KIND_DELTA_MUTEX] = {"godeltaprof_mutex", PPROF "delta_mutex", "godeltaprof_mutex",
				      false},
	[PROFILE_KIND_DELTA_BLOCK] = {"godeltaprof_block", PPROF "delta_block", "godeltaprof_block",
				      false},
	[PROFILE_KIND_FGPROF] = {"fgprof", "/debug/fgprof", "fgprof", true},
};

const char *profile_kind_name(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].name;
}

const char *profile_kind_grafana(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].grafana;
}

const char *profile_kind_path(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].path;
}

bool profile_kind_is_timed(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].is_timed;
}

enum profile_kind profile_kind_whole(enum profile_kind k)
{
	switch (k) {
	case PROFILE_KIND_DELTA_HEAP:
		return PROFILE_KIND_HEAP;
	case PROFILE_KIND_DELTA_MUTEX:
		return PROFILE_KIND_MUTEX;
	case PROFILE_KIND_DELTA_BLOCK:
		return PROFILE_KIND_BLOCK;
	default:
		return PROFILE_KIND_MAX;
	}
}

static bool is_text(const char *s, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(s, text, len) == 0;
}

enum profile_kind profile_kind_find(const char *name, size_t len)
{
	unsigned k = 0;

	while (k < PROFILE_KIND_MAX && !is_text(name, len, kinds[k].name) &&
	       !is_text(name, len, kinds[k].grafana))
		k++;
	return (enum profile_kind)k;
}

bool scrape_path_is_valid(const char *path, size_t len)
{
	static const char marks[] = "/-._~!$&'()*+,;=:@";

	if (len == 0 || len > SCRAPE_PATH_BYTES || path[0] != '/')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = path[i];
		bool is_word =
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!is_word && (c == '\0' || !strchr(marks, c)))
			return false;
	}
	return !memmem(path, len, "..", 2);
}

/* ---- its address ---- */

/*
 * Loopback addresses are allowed: the address comes from the kubelet or from Docker, not from
 * annotations or labels. Link-local ones are not: they are not routed, and clouds serve credentials
 * there.
 */
static bool is_unicast4(struct in_addr a)
{
	uint32_t ip = ntohl(a.s_addr);

	return ip != INADDR_ANY && ip != INADDR_BROADCAST && !IN_MULTICAST(ip) &&
	       ip >> 16 != 0xa9fe;
}

/*
 * Addresses that a router translates to the IPv4 address in them: those of NAT64 (RFC 6052, section
 * 2.1, and RFC 8215) and of 6to4 (RFC 3056). Others are taken as what they are.
 */
static bool translates_to_no_unicast4(const struct in6_addr *a)
{
	static const uint8_t nat64[] = {0x00, 0x64, 0xff, 0x9b}, six_to_four[] = {0x20, 0x02};
	const uint8_t *from = NULL;
	struct in_addr v4;

	if (memcmp(a->s6_addr, nat64, sizeof(nat64)) == 0)
		from = a->s6_addr + 12;
	else if (memcmp(a->s6_addr, six_to_four, sizeof(six_to_four)) == 0)
		from = a->s6_addr + 2;
	if (!from)
		return false;
	memcpy(&v4, from, sizeof(v4));
	return !is_unicast4(v4);
}

static bool is_unicast6(const struct in6_addr *a)
{
	return !IN6_IS_ADDR_UNSPECIFIED(a) && !IN6_IS_ADDR_MULTICAST(a) &&
	       !IN6_IS_ADDR_LINKLOCAL(a) && !IN6_IS_ADDR_V4MAPPED(a) && !IN6_IS_ADDR_V4COMPAT(a) &&
	       !translates_to_no_unicast4(a);
}

bool target_address_read(char ret[static INET6_ADDRSTRLEN], const char *text)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return is_unicast4(v4) && inet_ntop(AF_INET, &v4, ret, INET6_ADDRSTRLEN);
	/* IN6_IS_ADDR_V4COMPAT() does not match ::1 */
	return inet_pton(AF_INET6, text, &v6) == 1 && is_unicast6(&v6) &&
	       inet_ntop(AF_INET6, &v6, ret, INET6_ADDRSTRLEN);
}
