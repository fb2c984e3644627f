#include "cluster-agent/discover/target_address.h"

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
