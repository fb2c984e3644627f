#include "cluster-agent/store/clickhouse_address.h"

#include <arpa/inet.h>
#include <errno.h>

#include "common/text/parse.h"

#define HOST_BYTES 253 /* RFC 1035 */
#define HTTP "http://"
#define HTTPS "https://"

struct parts {
	bool https;
	bool has_scheme;
	const char *host;
	size_t host_len; /* with the brackets of an IPv6 address */
	uint64_t port;   /* 0: none given */
	const char *path;
	size_t path_len;
};

static bool starts_with(const char *s, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && strncasecmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_host(const char *s, size_t len)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
	char text[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	if (len > 2 && s[0] == '[' && s[len - 1] == ']' && len - 2 < sizeof(text)) {
		memcpy(text, s + 1, len - 2);
		text[len - 2] = '\0';
		return inet_pton(AF_INET6, text, &in6) == 1;
	}
	if (len == 0 || len > HOST_BYTES || s[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!s[i] || !strchr(allowed, s[i]))
			return false;
	}
	return true;
}

static bool is_path(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		/* a query or a fragment would swallow what is appended */
		if (s[i] <= ' ' || s[i] > '~' || strchr("?#\"\\\\<>", s[i]))
			return false;
	}
	return true;
}

static int split(const char *s, size_t len, bool tls, struct parts *ret, struct err *err)
{
	const char *colon;
	size_t n;

	*ret = (struct parts){.https = tls};
	if (starts_with(s, len, HTTP) || starts_with(s, len, HTTPS)) {
		ret->has_scheme = true;
		ret->https = starts_with(s, len, HTTPS);
		n = ret->https ? strlen(HTTPS) : strlen(HTTP);
		s += n;
		len -= n;
	}
	if (memchr(s, '@', len))
		return err_set(err, -EINVAL,
			       "--clickhouse-address: user and password belong into "
			       "--clickhouse-user and --clickhouse-password-file");
	if (memmem(s, len, "://", 3))
		return err_set(err, -EINVAL,
			       "--clickhouse-address: \"%.*s\": only http:// and https:// are "
			       "spoken",
			       (int)(len < 80 ? len : 80), s);
	n = 0;
	while (n < len && s[n] != '/')
		n++;
	ret->path = s + n;
	ret->path_len = len - n;
	ret->host = s;
	ret->host_len = n;
	colon = memrchr(s, ':', n);
	if (colon && !memchr(colon, ']', (size_t)(s + n - colon))) {
		ret->host_len = (size_t)(colon - s);
		if (parse_u64(colon + 1, (size_t)(s + n - colon - 1), 1, UINT16_MAX, &ret->port) <
		    0)
			ret->host_len = 0;
	}
	if (!is_host(ret->host, ret->host_len) || !is_path(ret->path, ret->path_len))
		return err_set(err, -EINVAL,
			       "--clickhouse-address: \"%.*s\" is not a host, host:port or URL",
			       (int)(len < 80 ? len : 80), s);
	return 0;
}

static int parse_one(const char *s, size_t len, bool tls, struct clickhouse_address *ret,
		     struct err *err)
{
	struct parts p;
	int n, r = split(s, len, tls, &p, err);

	if (r < 0)
		return r;
	ret->native_port = 0;
	if (!p.has_scheme && (p.port == 9000 || p.port == 9440)) {
		ret->native_port = (unsigned)p.port;
		p.https = p.https || p.port == 9440;
		p.port = 0;
	}
	if (p.port == 0)
		p.port = p.https ? 8443 : 8123;
	n = snprintf(ret->url, sizeof(ret->url), "%s%.*s:%u%.*s", p.https ? HTTPS : HTTP,
		     (int)p.host_len, p.host, (unsigned)p.port, (int)p.path_len,
		     p.path_len > 0 ? p.path : "");
	if (n > 0 && (size_t)n < sizeof(ret->url) - 1 && p.path_len == 0)
		n += snprintf(ret->url + n, sizeof(ret->url) - (size_t)n, "/");
	if (n < 0 || (size_t)n >= sizeof(ret->url))
		return err_set(err, -EINVAL, "--clickhouse-address: an address is too long");
	return 0;
}

int clickhouse_addresses_parse(const char *list, bool tls, struct clickhouse_address *ret,
			       struct err *err)
{
	unsigned n = 0;

	while (*list) {
		size_t len = strcspn(list, ", \t\n");
		int r;

		if (len > 0) {
			if (n == CLICKHOUSE_MAX_ADDRESSES)
				return err_set(err, -EINVAL,
					       "--clickhouse-address: more than %u addresses",
					       CLICKHOUSE_MAX_ADDRESSES);
			r = parse_one(list, len, tls, &ret[n], err);
			if (r < 0)
				return r;
			n++;
		}
		list += len;
		list += *list != '\0';
	}
	return n > 0 ? (int)n : err_set(err, -EINVAL, "--clickhouse-address is empty");
}
