#include "common/access/credentials.h"

#include <errno.h>
#include <strings.h>

#include "common/data/buf.h"
#include "common/text/base64.h"

/* user, colon and password */
#define PAIR_BYTES ((size_t)2 * CREDENTIALS_KEY_BYTES)

static int copy_key(const char *key, char ret[static CREDENTIALS_KEY_BYTES])
{
	size_t len = strlen(key);

	if (len >= CREDENTIALS_KEY_BYTES)
		return -EFBIG;
	memcpy(ret, key, len + 1);
	return 0;
}

static int parse_basic(const char *base64, char ret[static CREDENTIALS_KEY_BYTES])
{
	CLEANUP(buf_fini) struct buf pair;
	const char *colon;
	int r;

	buf_init(&pair, PAIR_BYTES);
	r = base64_decode(base64, strlen(base64), &pair);
	if (r < 0)
		return r == -EBADMSG ? -EINVAL : r;
	colon = pair.data ? strchr(pair.data, ':') : NULL;
	if (!colon || strlen(pair.data) != pair.len)
		return -EINVAL;
	return copy_key(colon + 1, ret);
}

int credentials_parse(const char *authorization, char ret[static CREDENTIALS_KEY_BYTES])
{
	const char *rest = authorization + strcspn(authorization, " ");
	size_t len = (size_t)(rest - authorization);

	rest += strspn(rest, " ");
	if (len == 6 && strncasecmp(authorization, "Bearer", len) == 0)
		return copy_key(rest, ret);
	if (len == 5 && strncasecmp(authorization, "Basic", len) == 0)
		return parse_basic(rest, ret);
	return -EINVAL;
}
