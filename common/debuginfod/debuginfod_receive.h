/*
 * One file of a build from one debuginfod server, received into a file of the caller's. Redirects
 * are followed, and what is larger than a limit is not received.
 *
 * The protocol is elfutils': GET <url>/buildid/<id>/debuginfo. Source: debuginfod(8), "WEBAPI".
 * Loop thread of the client only.
 */
#ifndef COMMON_DEBUGINFOD_DEBUGINFOD_RECEIVE_H
#define COMMON_DEBUGINFOD_DEBUGINFOD_RECEIVE_H

#include "common/base.h"
#include "common/debuginfod/debuginfod_urls.h"
#include "common/http/http.h"

struct debuginfod_receive; /* one file that is on the way */

enum debuginfod_outcome {
	DEBUGINFOD_IS_THERE,
	DEBUGINFOD_IS_ABSENT, /* the server does not have it */
	DEBUGINFOD_IS_TOO_LARGE,
	DEBUGINFOD_NO_DISK, /* writing it failed, or would fill the disk */
	DEBUGINFOD_SERVER_FAILED,
};

struct debuginfod_received {
	enum debuginfod_outcome outcome;
	const char *problem;     /* why the server failed; else NULL; valid during the call */
	uint64_t retry_after_ns; /* as the server asks; 0: it does not */
};

struct debuginfod_receive_config {
	struct http_client *client; /* borrowed, as the texts during the call, and fd */
	const char *server;         /* of debuginfod_urls_parse() */
	const char *build_id;
	enum debuginfod_file file;
	int fd; /* empty */
	uint64_t max_bytes;
	void (*on_bytes)(void *ctx, size_t n); /* were received */
	/* Called once, and never from inside debuginfod_receive_start(). */
	void (*done)(void *ctx, const struct debuginfod_received *r);
	void *ctx;
};

/* Returns 0, -ENOMEM, or an error of http_start(). *ret is valid until done is called. */
int debuginfod_receive_start(struct debuginfod_receive **ret,
			     const struct debuginfod_receive_config *cfg) MUST_CHECK;
/* done is not called. NULL is allowed. */
void debuginfod_receive_cancel(struct debuginfod_receive *r);

#endif /* COMMON_DEBUGINFOD_DEBUGINFOD_RECEIVE_H */
