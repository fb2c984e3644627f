#include "common/upload/upload_url.h"

#include <errno.h>

#include "common/data/buf.h"

#define URL_MAX_BYTES 8192

/* Bytes that need no encoding in a query: the unreserved set of RFC 3986, and '/'. */
static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~' || c == '/';
}

static int add_encoded(struct buf *b, const char *s)
{
	int r = 0;

	for (; *s && r == 0; s++) {
		unsigned char c = (unsigned char)*s;

		r = is_plain(c) ? buf_add(b, s, 1) : buf_addf(b, "%%%02X", c);
	}
	return r;
}

static int add_label(struct buf *b, char separator, const struct upload_label *label)
{
	int r;

	r = buf_add(b, &separator, 1);
	if (r == 0)
		r = add_encoded(b, label->name);
	if (r == 0)
		r = buf_add(b, "=", 1);
	return r == 0 ? add_encoded(b, label->value) : r;
}

int upload_url_make(char **ret, const char *endpoint, const struct upload_label *labels)
{
	CLEANUP(buf_fini) struct buf b;
	char separator = strchr(endpoint, '?') ? '&' : '?';
	size_t len;
	int r;

	buf_init(&b, URL_MAX_BYTES);
	r = buf_add(&b, endpoint, strlen(endpoint));
	for (; r == 0 && labels->name; labels++) {
		if (!labels->value || !labels->value[0])
			continue;
		r = add_label(&b, separator, labels);
		separator = '&';
	}
	if (r < 0)
		return r;

	*ret = buf_take(&b, &len);
	return 0;
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
