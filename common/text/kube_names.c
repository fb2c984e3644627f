#include "common/text/kube_names.h"

/* The alphabet of Kubernetes' random suffixes; without vowels, so that they spell no words. */
#define SAFE_CHARS "bcdfghjklmnpqrstvwxz2456789"
#define HEX_DIGITS "0123456789abcdef"

/*
 * Returns the length of s without its suffix of a '-' and min to max characters of set, or 0 if
 * s has no such suffix or nothing in front of it.
 */
static size_t cut_suffix(const char *s, size_t len, const char *set, size_t min, size_t max)
{
	size_t n = 0;

	while (n < len && n <= max && s[len - n - 1] != '\0' && strchr(set, s[len - n - 1]))
		n++;
	if (n < min || n > max || len - n < 2 || s[len - n - 1] != '-')
		return 0;
	return len - n - 1;
}

size_t kube_owner_len(const char *pod, size_t len)
{
	size_t without_random = cut_suffix(pod, len, SAFE_CHARS, 5, 5);
	size_t without_hash;

	if (without_random == 0)
		return cut_suffix(pod, len, "0123456789", 1, len);
	without_hash = cut_suffix(pod, without_random, HEX_DIGITS, 1, 10);
	return without_hash ? without_hash : without_random;
}
