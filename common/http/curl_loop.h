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
	bool in_curl;          /* curl calls us: it cannot be told to add or remove now */
	void (*after)(void *); /* curl has returned; messages may be there */
	void *ctx;
};

/* cl is zeroed before. -ENOMEM, -EMFILE …; to be followed by _fini() in every case. */
int curl_loop_init(struct curl_loop *cl, struct loop *l, void (*after)(void *ctx),
		   void *ctx) MUST_CHECK;
/* Closes what is idle; there are no transfers any more. */
void curl_loop_fini(struct curl_loop *cl);

#endif /* COMMON_HTTP_CURL_LOOP_H */
