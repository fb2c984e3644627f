#include "common/access/host_rules.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <strings.h>

#include "common/text/parse.h"

#define SEPARATORS ", \t\r\n"

struct host_rules {
	char own[HOST_NAME_BYTES];
	bool any;       /* "*" */
	size_t n_names; /* those of the list; ".example.com" stands for "*.example.com" */
	char names[][HOST_NAME_BYTES];
};

/* Copies a name in lower case, without a dot at its end. */
static int copy_name(char ret[static HOST_NAME_BYTES], const char *text, size_t len)
{
	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0 || len >= HOST_NAME_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!isalnum(c) && c != '-' && c != '_' && c != '.')
			return -EINVAL;
		/* no label is empty */
		if (c == '.' && (i == 0 || text[i - 1] == '.' || i + 1 == len))
			return -EINVAL;
		ret[i] = (char)tolower(c);
	}
	ret[len] = '\0';
	return 0;
}

static int copy_ipv6(char ret[static HOST_NAME_BYTES], const char *text, size_t len)
{
	struct in6_addr addr;

	if (len >= INET6_ADDRSTRLEN)
		return -EINVAL;
	memcpy(ret, text, len);
	ret[len] = '\0';
	if (inet_pton(AF_INET6, ret, &addr) != 1)
		return -EINVAL;
	/* one spelling of each address */
	return inet_ntop(AF_INET6, &addr, ret, HOST_NAME_BYTES) ? 0 : -EINVAL;
}

int host_name_parse(struct host_name *ret, const char *text)
{
	const char *close = text[0] == '[' ? strchr(text, ']') : NULL;
	const char *end = close ? close + 1 : text + strcspn(text, ":");
	struct host_name h = {.text = ""};
	struct in_addr v4;
	uint64_t port = 0;
	int r;

	if (*end == ':' && parse_u64(end + 1, strlen(end + 1), 1, UINT16_MAX, &port) < 0)
		return -EINVAL;
	if (*end != ':' && *end != '\0')
		return -EINVAL;
	r = close ? copy_ipv6(h.text, text + 1, (size_t)(close - text - 1))
		  : copy_name(h.text, text, (size_t)(end - text));
	if (r < 0)
		return r;
	h.port = (unsigned)port;
	h.is_ip = close || inet_pton(AF_INET, h.text, &v4) == 1;
	*ret = h;
	return 0;
}

int host_name_parse_origin(struct host_name *ret, const char *text)
{
	bool is_tls = strncasecmp(text, "https://", 8) == 0;
	int r;

	if (!is_tls && strncasecmp(text, "http://", 7) != 0)
		return -EINVAL;
	r = host_name_parse(ret, text + (is_tls ? 8 : 7));
	if (r == 0 && ret->port == 0)
		ret->port = is_tls ? 443 : 80;
	return r;
}

bool host_name_is_origin(const struct host_name *host, const struct host_name *origin)
{
	/* without a port, the browser has sent the request to the port of the scheme */
	bool same_port = host->port == origin->port ||
			 (host->port == 0 && (origin->port == 80 || origin->port == 443));

	return same_port && strcmp(host->text, origin->text) == 0;
}

/* ---- the list ------------------------------------------------------------------------------ */

static int add_name(struct host_rules *r, const char *text, size_t len, struct err *err)
{
	bool below = len > 2 && text[0] == '*' && text[1] == '.';
	char *name = r->names[r->n_names];
	struct host_name h;
	char copy[HOST_NAME_BYTES];

	if (len == 1 && text[0] == '*') {
		r->any = true;
		return 0;
	}
	if (len < sizeof(copy)) {
		memcpy(copy, text, len);
		copy[len] = '\0';
		if (host_name_parse(&h, copy + (below ? 2 : 0)) == 0 && h.port == 0 &&
		    (size_t)snprintf(name, HOST_NAME_BYTES, "%s%s", below ? "." : "", h.text) <
			    HOST_NAME_BYTES) {
			r->n_names++;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "\"%.*s\" is not a name like example.com, *.example.com or *",
		       (int)(len < 80 ? len : 80), text);
}

int host_rules_new(struct host_rules **ret, const char *list, const char *own, struct err *err)
{
	CLEANUP(host_rules_freep) struct host_rules *r = NULL;
	size_t n = 1;

	for (const char *c = list; c && *c; c++)
		n += strchr(SEPARATORS, *c) != NULL;
	r = calloc(1, sizeof(*r) + n * HOST_NAME_BYTES);
	if (!r)
		return -ENOMEM;
	if (own && copy_name(r->own, own, strlen(own)) < 0)
		r->own[0] = '\0';
	for (const char *at = list; at && *at;) {
		size_t len;
		int e;

		at += strspn(at, SEPARATORS);
		len = strcspn(at, SEPARATORS);
		e = len > 0 ? add_name(r, at, len, err) : 0;
		if (e < 0)
			return e;
		at += len;
	}
	*ret = TAKE_PTR(r);
	return 0;
}

void host_rules_free(struct host_rules *r)
{
	free(r);
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), n_end = strlen(end);

	return n > n_end && strcmp(name + n - n_end, end) == 0;
}

bool host_rules_list(const struct host_rules *r, const struct host_name *h)
{
	for (size_t i = 0; i < r->n_names; i++) {
		const char *name = r->names[i];

		if (name[0] == '.' ? ends_with(h->text, name) : strcmp(h->text, name) == 0)
			return true;
	}
	return false;
}

bool host_rules_allow(const struct host_rules *r, const struct host_name *h)
{
	static const char *const below[] = {".localhost", ".svc", ".svc.cluster.local"};

	/* "localhost" is one of the names without a dot */
	if (r->any || h->is_ip || !strchr(h->text, '.') || strcmp(h->text, r->own) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(below); i++)
		if (ends_with(h->text, below[i]))
			return true;
	return host_rules_list(r, h);
}
