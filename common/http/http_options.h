/* Requests and a client's configuration as libcurl options. Used by http.c only. */
#ifndef COMMON_HTTP_HTTP_OPTIONS_H
#define COMMON_HTTP_HTTP_OPTIONS_H

#include <curl/curl.h>

#include "common/base.h"
#include "common/http/http.h"

#define HTTP_OPTIONS_STRINGS 8

/* Copies of a configuration's strings in the order of the table in http_options.c, or NULL. */
struct http_options {
	char *strings[HTTP_OPTIONS_STRINGS];
	char *unix_socket; /* or NULL */
	bool insecure_skip_verify;
	bool http2;
};

/* Lists that libcurl borrows while a request is under way. */
struct http_lists {
	struct curl_slist *headers;
	struct curl_slist *connect_to;
};

/* o must be zeroed. Returns 0 or -ENOMEM. http_options_fini() is called in every case. */
int http_options_init(struct http_options *o, const struct http_client_config *cfg) MUST_CHECK;
void http_options_fini(struct http_options *o);

/*
 * Sets all options but callbacks. lists must be empty, and belongs to the caller in every case; o
 * and the request's body are borrowed for the life of easy. Returns 0, -ENOMEM, or -EINVAL as
 * http_start() does.
 */
int http_options_apply(const struct http_options *o, CURL *easy, const struct http_request *req,
		       struct http_lists *lists) MUST_CHECK;
void http_lists_fini(struct http_lists *lists);

#endif /* COMMON_HTTP_HTTP_OPTIONS_H */
