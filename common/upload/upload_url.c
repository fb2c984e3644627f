#include "common/upload/upload_url.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/http/http_text.h"

static int add_label(struct buf *b, const struct upload_label *label)
{
	int r = b->len > 0 ? buf_add(b, "&", 1) : 0;

	if (r < 0)
		return r;
	r = http_percent_encode(b, label->name);
	if (r < 0)
		return r;
	r = buf_add(b, "=", 1);
	if (r < 0)
		return r;
	return http_percent_encode(b, label->value);
}

int upload_url_query(char **ret, const struct upload_label *labels)
{
	CLEANUP(buf_fini) struct buf b;
	size_t len;
	int r;

	buf_init(&b, UPLOAD_URL_MAX_BYTES);
	r = buf_add(&b, "", 0); /* a query without labels is "", not NULL */
	for (; r == 0 && labels->name; labels++) {
		if (labels->value && labels->value[0])
			r = add_label(&b, labels);
	}
	if (r < 0)
		return r;
	*ret = buf_take(&b, &len);
	return 0;
}

int upload_url_join(char **ret, const char *endpoint, const char *query)
{
	const char *separator = !query[0] ? "" : strchr(endpoint, '?') ? "&" : "?";

	if (strlen(endpoint) + strlen(query) + 1 > UPLOAD_URL_MAX_BYTES)
		return -EFBIG;
	return asprintf(ret, "%s%s%s", endpoint, separator, query) < 0 ? -ENOMEM : 0;
}

int upload_url_make(char **ret, const char *endpoint, const struct upload_label *labels)
{
	AUTO_FREE char *query = NULL;
	int r = upload_url_query(&query, labels);

	return r == 0 ? upload_url_join(ret, endpoint, query) : r;
}

int upload_url_from_collector(char **ret, const char *collector)
{
	size_t len = strlen(collector);
	char *url;

	while (len > 0 && collector[len - 1] == '/')
		len--;
	if (asprintf(&url, "%.*s/v1/profiles", (int)len, collector) < 0)
		return -ENOMEM;
	*ret = url;
	return 0;
}

void upload_url_remove_user(char *url)
{
	char *host = strstr(url, "://"), *at;

	if (!host)
		return;
	host += strlen("://");
	at = memrchr(host, '@', strcspn(host, "/?#"));
	if (at)
		memmove(host, at + 1, strlen(at + 1) + 1);
}
