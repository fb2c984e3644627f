/* libcurl's multi handle on our loop. For http.c alone. */
#ifndef COMMON_HTTP_CURL_LOOP_H
#define COMMON_HTTP_CURL_LOOP_H

#include <curl/curl.h>

#include "common/base.h"
#include "common/system/loop.h"

struct curl_loop {
	struct loop *loop;
	CURLM *multi;
	struct loop_source *timer;
	bool in_curl;          /* libcurl is calling us: transfers cannot be added or removed */
	void (*after)(void *); /* called when libcurl has returned and may have messages */
	void *ctx;
};

/*
 * cl must be zeroed. Returns 0, -ENOMEM, or -EMFILE and the like. The caller calls curl_loop_fini()
 * in every case.
 */
int curl_loop_init(struct curl_loop *cl, struct loop *l, void (*after)(void *ctx),
		   void *ctx) MUST_CHECK;
/* Closes idle connections. All transfers must have been removed. */
void curl_loop_fini(struct curl_loop *cl);

#endif /* COMMON_HTTP_CURL_LOOP_H */
