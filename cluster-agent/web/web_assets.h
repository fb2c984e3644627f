/*
 * The files of the page, compiled in. cluster-agent/web/build.mjs generates the array.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_ASSETS_H
#define CLUSTER_AGENT_WEB_WEB_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct web_asset {
	const char *path; /* of the URL: "/", "/assets/<name>" or "/docs/<name>.html" */
	const char *content_type;
	const char *etag;          /* strong, quotes included; hash of the uncompressed file */
	const unsigned char *gzip; /* the file, gzipped; it is not stored uncompressed */
	size_t len;                /* of gzip, bytes */
	bool immutable;            /* the name holds a hash of the content: cache it indefinitely */
};

/* the first is "/", the others are sorted by path */
extern const struct web_asset web_assets[];
extern const size_t n_web_assets;

#endif /* CLUSTER_AGENT_WEB_WEB_ASSETS_H */
