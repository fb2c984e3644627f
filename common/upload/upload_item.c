#include "common/upload/upload_item.h"

#define SERVICE "service.name="

struct upload_item *upload_item_new(const struct upload_key *key, uint64_t created_ns, char *query,
				    char *body, size_t body_len)
{
	struct upload_item *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	atomic_init(&i->n_refs, 1);
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
