/*
 * Requests and a client's configuration as libcurl options.
 *
 * libcurl's defaults suit a command-line tool: it follows what the URL says to any protocol, treats
 * every POST body as a form, and connects to the URL's host if it does not understand another
 * address. What an agent must not do is excluded here, before a transfer starts.
 */
#include "common/http/http_options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <strings.h>

#include "common/system/clock.h"
#include "common/text/parse.h"

/*
 * libcurl allocates a buffer of this size for each connected transfer. A larger one makes bodies of
 * many megabytes only a little cheaper, but a thousand waiting transfers expensive.
 */
#define RECEIVE_BUFFER_BYTES 8192L
/*
 * libcurl 7.88 reads 32 KiB of HTTP/2 frames at a time. If their content does not fit into the
 * transfer's buffer, it keeps the rest, and may wait for the socket before it hands that on.
 */
#define HTTP2_RECEIVE_BUFFER_BYTES 65536L
/* RFC 1035 */
#define HOST_NAME_BYTES 253
/* How long a parsed CA file is kept: without this, each connection would parse it. */
#define CA_CACHE_S 1L

static const struct {
	size_t at; /* in struct http_client_config */
	CURLoption option;
	bool is_blob;
} strings[] = {
	{offsetof(struct http_client_config, ca_file), CURLOPT_CAINFO, false},
	{offsetof(struct http_client_config, ca_pem), CURLOPT_CAINFO_BLOB, true},
	{offsetof(struct http_client_config, cert_file), CURLOPT_SSLCERT, false},
	{offsetof(struct http_client_config, cert_pem), CURLOPT_SSLCERT_BLOB, true},
	{offsetof(struct http_client_config, key_file), CURLOPT_SSLKEY, false},
	{offsetof(struct http_client_config, key_pem), CURLOPT_SSLKEY_BLOB, true},
	{offsetof(struct http_client_config, user_agent), CURLOPT_USERAGENT, false},
	{offsetof(struct http_client_config, proxy), CURLOPT_PROXY, false},
};

_Static_assert(ARRAY_SIZE(strings) == HTTP_OPTIONS_STRINGS, "one copy for each");

int http_options_init(struct http_options *o, const struct http_client_config *cfg)
{
	o->insecure_skip_verify = cfg->insecure_skip_verify;
	o->http2 = cfg->http2;
	if (cfg->unix_socket && !(o->unix_socket = strdup(cfg->unix_socket)))
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		const char *s;

		memcpy(&s, (const char *)cfg + strings[i].at, sizeof(s));
		if (s && !(o->strings[i] = strdup(s)))
			return -ENOMEM;
	}
	return 0;
}

void http_options_fini(struct http_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->strings); i++)
		free(o->strings[i]);
	free(o->unix_socket);
	*o = (struct http_options){0};
}

void http_lists_fini(struct http_lists *lists)
{
	curl_slist_free_all(lists->headers);
	curl_slist_free_all(lists->connect_to);
	*lists = (struct http_lists){0};
}

/* ---- checks ---------------------------------------------------------------------------- */

static bool method_is_known(const struct http_request *req)
{
	static const char *const with_body[] = {"POST", "PUT", "PATCH", "DELETE"};

	if (strcmp(req->method, "GET") == 0)
		return req->body_len == 0;
	for (size_t i = 0; i < ARRAY_SIZE(with_body); i++) {
		if (strcmp(req->method, with_body[i]) == 0)
			return true;
	}
	return false;
}

static bool url_is_usable(const char *url)
{
	CURLU *u = curl_url();
	char *scheme = NULL;
	bool ok;

	ok = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	     curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	     (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
	curl_free(scheme);
	curl_url_cleanup(u);
	return ok;
}

static bool is_host_name(const char *s, size_t len)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

	return len > 0 && len <= HOST_NAME_BYTES && s[0] != '-' && strspn(s, allowed) == len;
}

/* "host:port", IPv6 addresses in brackets. libcurl would ignore what it does not understand. */
static bool address_is_usable(const char *s)
{
	const char *colon = strrchr(s, ':');
	char host[INET6_ADDRSTRLEN];
	struct in6_addr in6;
	uint64_t port;
	size_t len;

	if (!colon || parse_u64(colon + 1, strlen(colon + 1), 1, UINT16_MAX, &port) < 0)
		return false;
	len = (size_t)(colon - s);
	if (s[0] != '[')
		return is_host_name(s, len);
	if (len < 2 || len - 2 >= sizeof(host) || s[len - 1] != ']')
		return false;
	memcpy(host, s + 1, len - 2);
	host[len - 2] = '\0';
	return inet_pton(AF_INET6, host, &in6) == 1;
}

/* ---- lists ------------------------------------------------------------------------------ */

static int append(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int add_headers(struct curl_slist **list, const struct http_request *req)
{
	static const char content_type[] = "Content-Type:";
	bool has_type = false;
	int r = 0;

	for (const char *const *h = req->headers; h && *h && r == 0; h++) {
		/* a line break would add further headers */
		if (strpbrk(*h, "\r\n") || !strchr(*h, ':'))
			return -EINVAL;
		if (strncasecmp(*h, content_type, strlen(content_type)) == 0)
			has_type = true;
		r = append(list, *h);
	}
	/* libcurl would send the type of a form; a header without a value removes it */
	if (r == 0 && !has_type)
		r = append(list, content_type);
	return r;
}

static int add_connect_to(struct curl_slist **list, const char *address)
{
	char line[HOST_NAME_BYTES + 16];

	if (!address_is_usable(address))
		return -EINVAL;
	/* nothing before the second colon: for any host and port of the URL */
	snprintf(line, sizeof(line), "::%s", address);
	return append(list, line);
}

/* ---- options ---------------------------------------------------------------------------- */

#define SET(option, value) (ok = ok && curl_easy_setopt(easy, (option), (value)) == CURLE_OK)

static bool set_strings(const struct http_options *o, CURL *easy)
{
	bool ok = true;

	/* the system's CA bundle is large and rarely changes: it is kept for a day */
	SET(CURLOPT_CA_CACHE_TIMEOUT, o->strings[0] ? CA_CACHE_S : 24 * 3600L);
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		char *s = o->strings[i];
		struct curl_blob blob = {.data = s, .flags = CURL_BLOB_NOCOPY};

		if (!s)
			continue;
		blob.len = strlen(s);
		if (strings[i].is_blob)
			SET(strings[i].option, &blob);
		else
			SET(strings[i].option, s);
	}
	return ok;
}

static bool set_connection(const struct http_options *o, CURL *easy)
{
	bool ok = true;

	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_HTTP_VERSION,
	    o->http2 ? (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : (long)CURL_HTTP_VERSION_1_1);
	/*
	 * libcurl 7.88 can send a second request on an HTTP/2 connection only if it may multiplex
	 * it, and keeps a connection on which a request has timed out.
	 */
	if (o->http2)
		SET(CURLOPT_FORBID_REUSE, 1L);
	if (o->unix_socket) {
		/* stops libcurl from resolving the URL's host; http.c puts the address */
		SET(CURLOPT_UNIX_SOCKET_PATH, "unused");
		SET(CURLOPT_PROXY, "");
	}
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	/* libcurl scans its whole cache, numeric addresses included, at each connection */
	SET(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	SET(CURLOPT_BUFFERSIZE, o->http2 ? HTTP2_RECEIVE_BUFFER_BYTES : RECEIVE_BUFFER_BYTES);
	/* whatever the system's policy allows */
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_VERIFYPEER, o->insecure_skip_verify ? 0L : 1L);
	SET(CURLOPT_SSL_VERIFYHOST, o->insecure_skip_verify ? 0L : 2L);
	return ok;
}

static bool set_request(CURL *easy, const struct http_request *req, const struct http_lists *lists)
{
	uint64_t timeout_ms = req->timeout_ns / NS_PER_MS + 1;
	bool ok = true;

	if (timeout_ms > INT32_MAX)
		timeout_ms = INT32_MAX;
	SET(CURLOPT_URL, req->url);
	SET(CURLOPT_HTTPHEADER, lists->headers);
	if (lists->connect_to)
		SET(CURLOPT_CONNECT_TO, lists->connect_to);
	if (req->timeout_ns)
		SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	/*
	 * a DELETE has a body if it is given one; the other methods always do, even if it is
	 * empty
	 */
	if (strcmp(req->method, "GET") == 0)
		return ok;
	if (strcmp(req->method, "DELETE") != 0 || req->body_len > 0) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
		SET(CURLOPT_POSTFIELDS, req->body ? req->body : "");
	}
	SET(CURLOPT_CUSTOMREQUEST, req->method);
	return ok;
}

#undef SET

int http_options_apply(const struct http_options *o, CURL *easy, const struct http_request *req,
		       struct http_lists *lists)
{
	int r;

	if (!method_is_known(req) || !url_is_usable(req->url) ||
	    (req->timeout_ns == 0 && req->idle_timeout_ns == 0))
		return -EINVAL;
	r = add_headers(&lists->headers, req);
	if (r == 0 && req->connect_to)
		r = add_connect_to(&lists->connect_to, req->connect_to);
	if (r < 0)
		return r;
	if (!set_strings(o, easy) || !set_connection(o, easy) || !set_request(easy, req, lists))
		return -ENOMEM;
	return 0;
}
