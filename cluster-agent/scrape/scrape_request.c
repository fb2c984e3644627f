#include "cluster-agent/scrape/scrape_request.h"

#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/scrape/scraper_config.h"
#include "common/system/fs.h"
#include "common/text/base64.h"

#define MAX_SECRET_BYTES ((size_t)64 * 1024)

void scrape_address(char ret[static SCRAPE_ADDRESS_BYTES], const struct scrape_place *place)
{
	bool v6 = strchr(place->ip, ':') != NULL;

	snprintf(ret, SCRAPE_ADDRESS_BYTES, "%s%s%s:%u", v6 ? "[" : "", place->ip, v6 ? "]" : "",
		 place->port);
}

int scrape_url_make(char **ret, const struct scrape_place *place, const char *host,
		    uint64_t seconds)
{
	const char *scheme = place->https ? "https" : "http";
	char address[SCRAPE_ADDRESS_BYTES], query[40] = "", *url = NULL;
	int n;

	scrape_address(address, place);
	if (seconds > 0)
		snprintf(query, sizeof(query), "?seconds=%llu", (unsigned long long)seconds);
	if (host)
		n = asprintf(&url, "%s://%s:%u%s%s", scheme, host, place->port, place->path, query);
	else
		n = asprintf(&url, "%s://%s%s%s", scheme, address, place->path, query);
	if (n < 0)
		return -ENOMEM;
	*ret = url;
	return 0;
}

void scrape_credentials_init(struct scrape_credentials *c, const struct scraper_auth *auth)
{
	*c = (struct scrape_credentials){.auth = auth};
}

static void forget(struct scrape_credentials *c)
{
	if (c->header)
		explicit_bzero(c->header, strlen(c->header));
	free(c->header);
	c->header = NULL;
	c->read_at_ns = 0;
}

void scrape_credentials_fini(struct scrape_credentials *c)
{
	forget(c);
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_fini(b);
}

/*
 * Reads a secret without the surrounding white space, which editors and echo(1) leave behind.
 */
static int read_secret(const char *path, struct buf *out, struct err *err)
{
	size_t start = out->len, skip;
	int r = fs_read_at(AT_FDCWD, path, out);

	if (r < 0)
		return err_set(err, r, "cannot read %s: %s", path, strerror(-r));
	while (out->len > start && strchr(" \t\r\n", out->data[out->len - 1]))
		out->data[--out->len] = '\0';
	skip = start < out->len ? strspn(out->data + start, " \t\r\n") : 0;
	memmove(out->data + start, out->data + start + skip, out->len - start - skip + 1);
	out->len -= skip;
	if (out->len == start || strlen(out->data) != out->len ||
	    strpbrk(out->data + start, "\r\n"))
		return err_set(err, -EBADMSG, "%s does not hold one line", path);
	return 0;
}

static int add_token(struct buf *header, const struct scraper_auth *auth, struct err *err)
{
	int r = buf_addf(header, "Authorization: Bearer ");

	return r == 0 ? read_secret(auth->token_file, header, err) : r;
}

static int add_basic(struct buf *header, const struct scraper_auth *auth, struct err *err)
{
	CLEANUP(wipe) struct buf pair;
	int r;

	buf_init(&pair, MAX_SECRET_BYTES);
	r = buf_addf(&pair, "%s:", auth->username);
	if (r < 0)
		return r;
	if (auth->password_file)
		r = read_secret(auth->password_file, &pair, err);
	if (r < 0)
		return r;
	r = buf_addf(header, "Authorization: Basic ");
	if (r < 0)
		return r;
	return base64_encode(pair.data, pair.len, header);
}

static int read_header(struct scrape_credentials *c, struct err *err)
{
	CLEANUP(wipe) struct buf header;
	int r;

	buf_init(&header, 2 * MAX_SECRET_BYTES);
	r = c->auth->token_file ? add_token(&header, c->auth, err)
				: add_basic(&header, c->auth, err);
	if (r < 0)
		return r;
	c->header = strdup(header.data);
	return c->header ? 0 : -ENOMEM;
}

int scrape_credentials_get(struct scrape_credentials *c, bool https, uint64_t now_ns,
			   const char **ret, struct err *err)
{
	const struct scraper_auth *auth = c->auth;
	int r;

	*ret = NULL;
	if ((!auth->token_file && !auth->username) || (!https && !auth->over_http))
		return 0;
	if (!c->header || now_ns - c->read_at_ns >= CREDENTIALS_MAX_AGE_NS) {
		forget(c);
		r = read_header(c, err);
		if (r < 0)
			return r;
		c->read_at_ns = now_ns;
	}
	*ret = c->header;
	return 0;
}
