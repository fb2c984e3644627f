#include "common/upload/spool_record.h"

#include <errno.h>

#include "common/upload/upload_url.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");
_Static_assert(UPLOAD_URL_MAX_BYTES <= UINT16_MAX, "a query's length has room");

static int encode_clock(struct buf *out, const struct upload_clock *c)
{
	const uint64_t numbers[] = {(uint64_t)c->own_ns, c->boot, (uint64_t)c->correction_ns,
				    c->is_measured};

	_Static_assert(sizeof(numbers) == SPOOL_CLOCK_BYTES, "as the header says");
	return buf_add(out, numbers, sizeof(numbers));
}

int spool_profile_encode(struct buf *out, const struct upload_item *i)
{
	size_t query_len = strlen(i->query);
	uint16_t len16 = (uint16_t)query_len;
	int r;

	if (query_len > UPLOAD_URL_MAX_BYTES)
		return -EFBIG;
	r = buf_reserve(out,
			SPOOL_CLOCK_BYTES + SPOOL_PROFILE_HEAD_BYTES + query_len + i->body_len);
	if (r < 0)
		return r;
	r = encode_clock(out, &i->clock);
	if (r < 0)
		return r;
	r = buf_add(out, &i->created_ns, sizeof(i->created_ns));
	if (r < 0)
		return r;
	r = buf_add(out, i->key.text, UPLOAD_KEY_DIGITS);
	if (r < 0)
		return r;
	r = buf_add(out, &len16, sizeof(len16));
	if (r < 0)
		return r;
	r = buf_add(out, i->query, query_len);
	if (r < 0)
		return r;
	return buf_add(out, i->body, i->body_len);
}

struct raw_profile {
	struct upload_clock clock;
	uint64_t created_ns;
	const char *key, *query, *body;
	size_t query_len, body_len;
};

/* What upload_url_query() makes is printable and has no spaces, so it cannot break a request. */
static bool is_query(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (s[i] <= ' ' || s[i] >= 0x7f || s[i] == '#')
			return false;
	}
	return true;
}

static int parse_clock(struct upload_clock *ret, const char *at, size_t len)
{
	uint64_t numbers[4];

	if (len < sizeof(numbers))
		return -EBADMSG;
	memcpy(numbers, at, sizeof(numbers));
	if (numbers[3] > 1)
		return -EBADMSG;
	*ret = (struct upload_clock){(int64_t)numbers[0], numbers[1], (int64_t)numbers[2],
				     numbers[3] == 1};
	return 0;
}

static int parse(struct raw_profile *ret, uint32_t kind, const void *payload, size_t len)
{
	const char *at = payload;
	uint16_t query_len;

	ret->clock = (struct upload_clock){0};
	if (kind == SPOOL_RECORD_CLOCKED) {
		if (parse_clock(&ret->clock, at, len) < 0)
			return -EBADMSG;
		at += SPOOL_CLOCK_BYTES;
		len -= SPOOL_CLOCK_BYTES;
	}

	if (len < SPOOL_PROFILE_HEAD_BYTES)
		return -EBADMSG;
	memcpy(&ret->created_ns, at, sizeof(ret->created_ns));
	ret->key = at + sizeof(ret->created_ns);
	memcpy(&query_len, ret->key + UPLOAD_KEY_DIGITS, sizeof(query_len));
	ret->query = at + SPOOL_PROFILE_HEAD_BYTES;
	ret->query_len = query_len;
	if (query_len > UPLOAD_URL_MAX_BYTES || query_len > len - SPOOL_PROFILE_HEAD_BYTES ||
	    !is_query(ret->query, query_len) || !upload_key_is_valid(ret->key, UPLOAD_KEY_DIGITS))
		return -EBADMSG;
	ret->body = ret->query + query_len;
	ret->body_len = len - SPOOL_PROFILE_HEAD_BYTES - query_len;
	return 0;
}

int spool_profile_parse(struct upload_item **ret, uint32_t kind, const void *payload, size_t len)
{
	AUTO_FREE char *query = NULL;
	AUTO_FREE char *body = NULL;
	struct upload_key key = {""};
	struct upload_item *item;
	struct raw_profile raw;
	int r = parse(&raw, kind, payload, len);

	if (r < 0)
		return r;
	query = malloc(raw.query_len + 1);
	body = malloc(raw.body_len + 1);
	if (!query || !body)
		return -ENOMEM;
	memcpy(query, raw.query, raw.query_len);
	query[raw.query_len] = '\0';
	memcpy(body, raw.body, raw.body_len);
	body[raw.body_len] = '\0';
	memcpy(key.text, raw.key, UPLOAD_KEY_DIGITS);
	item = upload_item_new(&key, raw.created_ns, query, body, raw.body_len);
	if (!item)
		return -ENOMEM;
	item->clock = raw.clock;
	(void)TAKE_PTR(query);
	(void)TAKE_PTR(body);
	*ret = item;
	return 0;
}

int spool_profile_parse_created(uint64_t *ret_ns, uint32_t kind, const void *payload, size_t len)
{
	struct raw_profile raw;
	int r = parse(&raw, kind, payload, len);

	if (r == 0)
		*ret_ns = raw.created_ns;
	return r;
}

void spool_done_encode(uint8_t ret[SPOOL_DONE_BYTES], uint64_t offset)
{
	memcpy(ret, &offset, sizeof(offset));
}

int spool_done_parse(uint64_t *ret_offset, const void *payload, size_t len)
{
	if (len != SPOOL_DONE_BYTES)
		return -EBADMSG;
	memcpy(ret_offset, payload, sizeof(*ret_offset));
	return 0;
}
