/*
 * The files of the page, compiled in. The array is generated from what the
 * page's build leaves (cluster-agent/web/build.mjs); it never changes.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_ASSETS_H
#define CLUSTER_AGENT_WEB_WEB_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct web_asset {
	const char *path; /* of the URL: "/" or "/assets/<name>" */
	const char *content_type;
	const char *etag;          /* strong, with its quotes; of the file before compression */
	const unsigned char *gzip; /* the file as a gzip member; there is no other form */
	size_t len;                /* of gzip, bytes */
	bool immutable;            /* the name holds a hash of the content: cache for ever */
};

/* the first is "/", the others are sorted by path */
extern const struct web_asset web_assets[];
extern const size_t n_web_assets;

#endif /* CLUSTER_AGENT_WEB_WEB_ASSETS_H */
