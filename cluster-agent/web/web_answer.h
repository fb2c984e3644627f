/*
 * Sends an answer of the API with the headers that say how it may be kept and what a file of it is
 * called.
 *
 * An answer about a range that ended a minute ago or earlier, or about nothing that changes, has an
 * ETag, the hash of its body, and may be kept by the client that asked, which asks again with it:
 * profiles may arrive hours late, so only the server knows whether an answer still holds. All
 * other answers are not kept.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_ANSWER_H
#define CLUSTER_AGENT_WEB_WEB_ANSWER_H

#include "cluster-agent/web/web_endpoints.h"
#include "common/base.h"
#include "common/http/http_exchange.h"

/* Sets a header without which the answer is of use, too; a failure is logged. */
void web_answer_header(struct http_exchange *x, const char *name, const char *value);

/* Whether the client says that it has what this ETag names. */
bool web_answer_is_known(const struct http_exchange *x, const char *etag);

#define WEB_FILE_NAME_BYTES 256u

/*
 * The name of a file with the answer, of harmless ASCII characters: service, type, start of the
 * range, suffix.
 */
void web_answer_file_name(char ret[static WEB_FILE_NAME_BYTES], const struct query_filter *f,
			  const char *suffix);

/* Answers 200, or 304 if the client has the same body already. body is from malloc(3), adopted. */
void web_answer_send(struct http_exchange *x, const struct web_endpoint *e,
		     const struct query_request *p, uint64_t now_ns, char *body_adopt, size_t len);

#endif /* CLUSTER_AGENT_WEB_WEB_ANSWER_H */
