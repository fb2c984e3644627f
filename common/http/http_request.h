/* Requests of a server: callbacks of libmicrohttpd and the route of http_server.c itself. */
#ifndef COMMON_HTTP_HTTP_REQUEST_H
#define COMMON_HTTP_HTTP_REQUEST_H

#include <microhttpd.h>

#include "common/http/http_exchange.h"

/* Buffer of a connection: for request line and headers, then for pieces of the body. */
#define HTTP_CONNECTION_MEMORY_BYTES ((size_t)32 * 1024)

/*
 * MHD_OPTION_URI_LOG_CALLBACK, for each request line before its parameters are read. What it
 * returns is the first *exchange of http_request_receive().
 */
void *http_request_see_line(void *server, const char *uri, struct MHD_Connection *conn);

/* MHD_AccessHandlerCallback; `server` is the struct http_server. */
enum MHD_Result http_request_receive(void *server, struct MHD_Connection *conn, const char *url,
				     const char *method, const char *version, const char *data,
				     size_t *len, void **exchange);

/* MHD_RequestCompletedCallback, likewise. Frees the exchange. */
void http_request_complete(void *server, struct MHD_Connection *conn, void **exchange,
			   enum MHD_RequestTerminationCode code);

/* Handler of the base path without the '/' at its end, which is ctx: redirects to it with one. */
void http_request_redirect(void *base_path, struct http_exchange *x);

#endif /* COMMON_HTTP_HTTP_REQUEST_H */
