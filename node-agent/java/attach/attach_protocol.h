/*
 * The protocol of HotSpot's attach listener: the bytes of a request and the meaning of an answer.
 * Pure.
 *
 * A connection carries one command. The request is a version and a command with three arguments,
 * each ended by a NUL; JDK 8 to 25 all accept version 1 (JDK 24 added a second version, for longer
 * arguments only). The answer is a decimal result, a newline, and text up to the end of the
 * connection. For `load` the text depends on the release:
 *
 *   JDK 8        "0\n" and the return code of Agent_OnAttach alone: "0\n0\n"
 *   JDK 9 to 25  "0\n" and "return code: <number>\n"
 *
 * or an explanation if the library was not loaded, with a result that is 0 in some releases. Text
 * that has no return code therefore means that Agent_OnAttach was not called.
 *
 * Answers are foreign bytes: the JVM may be stopped halfway, replaced by another program, or
 * hostile.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_ATTACH_PROTOCOL_H
#define NODE_AGENT_JAVA_ATTACH_ATTACH_PROTOCOL_H

#include "common/base.h"
#include "common/data/buf.h"

#define ATTACH_ARGUMENT_MAX 1024u /* bytes of one argument that a JVM accepts */
#define ATTACH_REQUEST_MAX 4096u
#define ATTACH_ANSWER_MAX 8192u /* bytes of an answer that are read; the rest is dropped */

enum attach_outcome {
	ATTACH_LOADED,           /* Agent_OnAttach ran: see code */
	ATTACH_NOT_LOADED,       /* the library could not be loaded: see text */
	ATTACH_LOADING_DISABLED, /* -XX:-EnableDynamicAgentLoading */
	ATTACH_REFUSED,          /* the JVM did not understand the request: see result */
	ATTACH_EMPTY,            /* closed without an answer: credentials refused, or exiting */
	ATTACH_GARBAGE,          /* not an answer of HotSpot, or cut off before its meaning */
};

struct attach_answer {
	enum attach_outcome outcome;
	int32_t result; /* of the command; 0 means success */
	int32_t code;   /* returned by Agent_OnAttach, if ATTACH_LOADED */
	char text[512]; /* what the JVM said, on one line of printable ASCII; may be "" */
};

/*
 * Appends the request that loads the library at an absolute path, as the JVM sees it. Returns 0,
 * -E2BIG if an argument is longer than ATTACH_ARGUMENT_MAX, -EINVAL if path is not absolute, or
 * an error of buf.
 */
int attach_protocol_load(struct buf *out, const char *path, const char *options) MUST_CHECK;

/* Interprets the answer to that request, complete or cut off. Never fails. */
void attach_protocol_parse(const void *bytes, size_t len, struct attach_answer *ret);

#endif /* NODE_AGENT_JAVA_ATTACH_ATTACH_PROTOCOL_H */
