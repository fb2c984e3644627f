#include "cluster-agent/web/web_page.h"

#include "cluster-agent/web/web_assets.h"
#include "common/base.h"
#include "common/http/http_server.h"
#include "common/telemetry/log.h"

static void set_header(struct http_exchange *x, const char *name, const char *value)
{
	/* the page works without the header */
	if (http_exchange_set_header(x, name, value) < 0)
		log_debug("answering without a header", "name=%s", name);
}

static const struct web_asset *find_asset(const char *path)
{
	for (size_t i = 0; i < n_web_assets; i++)
		if (strcmp(web_assets[i].path, path) == 0)
			return &web_assets[i];
	return NULL;
}

/*
 * If-None-Match may list several tags, and proxies prefix them with W/. Ours are quoted hex, so a
 * substring match is exact.
 */
static bool is_cached(const struct http_exchange *x, const char *etag)
{
	const char *known = http_exchange_header(x, "If-None-Match");

	return known && strstr(known, etag);
}

void web_page_serve(void *ctx, struct http_exchange *x)
{
	const char *path = http_exchange_path(x);
	const struct web_asset *a = find_asset(strcmp(path, "/targets") == 0 ? "/" : path);

	(void)ctx;
	if (!a) {
		http_respond_text(x, 404, "not found");
		return;
	}
	set_header(x, "ETag", a->etag);
	set_header(x, "Vary", "Accept"); /* /targets is also served as JSON */
	set_header(x, "Cache-Control",
		   a->immutable ? "public, max-age=31536000, immutable" : "no-cache");
	if (is_cached(x, a->etag))
		http_respond(x, 304, NULL, NULL, 0);
	else
		http_respond_static(x, a->content_type, a->gzip, a->len, true);
}
