#include "common/text/secret.h"

bool secret_equal(const char *given, const char *secret)
{
	size_t n_given = given ? strlen(given) : 0, n_secret = strlen(secret);
	unsigned differs = !given || n_given != n_secret;

	for (size_t i = 0; i < n_given; i++)
		differs |= (unsigned char)given[i] ^ (unsigned char)secret[i < n_secret ? i : 0];
	return differs == 0;
}
