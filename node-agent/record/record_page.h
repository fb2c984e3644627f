/*
 * The page's flame graph as one file: it needs no server and no network, and its content security
 * policy allows its own script and nothing else. cluster-agent/web/build.mjs makes it.
 */
#ifndef NODE_AGENT_RECORD_RECORD_PAGE_H
#define NODE_AGENT_RECORD_RECORD_PAGE_H

#include <stddef.h>

/* Where the data goes. */
#define RECORD_PAGE_DATA "__DATA__"

extern const unsigned char record_page_gzip[];
extern const size_t record_page_len;

#endif /* NODE_AGENT_RECORD_RECORD_PAGE_H */
