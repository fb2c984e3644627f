/* Serves the files of web_assets.h. */
#ifndef CLUSTER_AGENT_WEB_WEB_PAGE_H
#define CLUSTER_AGENT_WEB_WEB_PAGE_H

struct http_exchange;

/* An http_handler_fn for GET / and /assets/…; answers at once and does not use ctx. */
void web_page_serve(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_WEB_WEB_PAGE_H */
