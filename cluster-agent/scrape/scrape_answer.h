/* What to tell a person about an answer that is not a profile. Pure; the input is foreign. */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_ANSWER_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_ANSWER_H

#include "common/base.h"
#include "common/err.h"

#define ANSWER_LINE_BYTES 121u

/*
 * The first line that is not blank, cut, as valid UTF-8 without control characters; "" when there is none.
 */
void scrape_answer_line(char ret[static ANSWER_LINE_BYTES], const char *body, size_t len);

/* "HTTP 500: <first line>"; always -EPROTO. */
int scrape_answer_status(int status, const char *body, size_t len, struct err *err);

/*
 * A body that pprof_decode() has refused with -EBADMSG and the sentence in err: err becomes one that says what
 * the body is instead, where that can be seen. Always -EBADMSG.
 */
int scrape_answer_explain(const char *body, size_t len, struct err *err);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_ANSWER_H */
