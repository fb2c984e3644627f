#include <errno.h>

#include "common/access/credentials.h"
#include "test/lib/unit.h"

TEST(reads_keys_of_both_schemes)
{
	static const struct {
		const char *header;
		const char *key; /* NULL: refused */
	} cases[] = {
		{"Basic ZGVmYXVsdDpzZWNyZXQ=", "secret"}, /* default:secret */
		{"basic OmE6Yg==", "a:b"},                /* :a:b */
		{"Basic OnNlY3JldA", "secret"},           /* without padding */
		{"Basic c2VjcmV0", NULL},                 /* no colon */
		{"Basic Z!!", NULL},
		{"Basic OgBh", NULL}, /* a zero byte */
		{"Basic ", NULL},
		{"Bearer abc", "abc"},
		{"bearer  abc", "abc"},
		{"Digest abc", NULL},
		{"Bearerabc", NULL},
		{"", NULL},
	};
	char key[CREDENTIALS_KEY_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = credentials_parse(cases[i].header, key);

		assert_int_equal(r, cases[i].key ? 0 : -EINVAL);
		if (r == 0)
			assert_string_equal(key, cases[i].key);
	}
}

TEST(long_keys_are_refused)
{
	char key[CREDENTIALS_KEY_BYTES];
	char big[6 + 2000 + 1];

	memset(big, 'A', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	memcpy(big, "Basic ", 6);
	assert_int_equal(credentials_parse(big, key), -EFBIG);
	memcpy(big, "Bearer ", 7);
	assert_int_equal(credentials_parse(big, key), -EFBIG);
	big[7 + CREDENTIALS_KEY_BYTES] = '\0';
	assert_int_equal(credentials_parse(big, key), -EFBIG);
	big[7 + CREDENTIALS_KEY_BYTES - 1] = '\0';
	assert_int_equal(credentials_parse(big, key), 0);
}
