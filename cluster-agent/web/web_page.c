#include "cluster-agent/web/web_page.h"

#include "cluster-agent/web/web_answer.h"
#include "cluster-agent/web/web_assets.h"
#include "common/base.h"
#include "common/http/http_server.h"

static const struct web_asset *find_asset(const char *path)
{
	for (size_t i = 0; i < n_web_assets; i++)
		if (strcmp(web_assets[i].path, path) == 0)
			return &web_assets[i];
	return NULL;
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
	web_answer_header(x, "ETag", a->etag);
	web_answer_header(x, "Vary", "Accept"); /* /targets is also served as JSON */
	web_answer_header(x, "Cache-Control",
			  a->immutable ? "public, max-age=31536000, immutable" : "no-cache");
	if (web_answer_is_known(x, a->etag))
		http_respond(x, 304, NULL, NULL, 0);
	else
		http_respond_static(x, a->content_type, a->gzip, a->len, true);
}
