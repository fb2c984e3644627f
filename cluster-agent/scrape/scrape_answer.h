/* Explains to a person an answer that is not a profile. Pure; the input is untrusted. */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_ANSWER_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_ANSWER_H

#include "common/base.h"
#include "common/err.h"

#define ANSWER_LINE_BYTES 121u

/*
 * Makes the first non-blank line, truncated, as valid UTF-8 without control characters; "" if
 * there is none.
 */
void scrape_answer_line(char ret[static ANSWER_LINE_BYTES], const char *body, size_t len);

/* Writes "HTTP 500: <first line>" into err. Always returns -EPROTO. */
int scrape_answer_status(int status, const char *body, size_t len, struct err *err);

/*
 * Whether the body is a profile of Go with ?debug=1. pprof_decode() reads it, but has no names: Go
 * writes no maps of the process there. It is better not to take it and to say why.
 */
bool scrape_answer_is_go_text(const char *body, size_t len);

/*
 * For a body that is not read, or that pprof_decode() has refused with -EBADMSG and perhaps with a
 * sentence in err: replaces the sentence by one that says what the body is, if that can be
 * recognized. Always returns -EBADMSG.
 */
int scrape_answer_explain(const char *body, size_t len, struct err *err);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_ANSWER_H */
