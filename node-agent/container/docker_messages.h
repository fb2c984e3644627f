/*
 * What Docker's API says about containers, as facts. Podman answers the same API. Pure.
 *
 * Three answers are understood: the list (GET /containers/json), one container (GET
 * /containers/<id>/json), and events (GET /events), which have a container's name, image and
 * labels too, and come before its first process runs.
 *
 * Source: https://docs.docker.com/reference/api/engine/
 */
#ifndef NODE_AGENT_CONTAINER_DOCKER_MESSAGES_H
#define NODE_AGENT_CONTAINER_DOCKER_MESSAGES_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/container/container_facts.h"

/* Limits of one answer and of one event. In a list, a container has 1 to 3 KiB. */
#define DOCKER_ANSWER_BYTES ((size_t)4 * 1024 * 1024)
#define DOCKER_EVENT_BYTES ((size_t)64 * 1024)
/* Of an answer about one container, whose environment and labels are in it. */
#define DOCKER_ONE_BYTES ((size_t)256 * 1024)
#define DOCKER_ONE_UNTRUSTED_BYTES ((size_t)64 * 1024)

#define DOCKER_ID_LEN 64 /* hex digits */

struct docker_reader {
	/*
	 * A container; the facts are valid during the call. Their id has DOCKER_ID_LEN lower-case
	 * hex digits. inspect: its full name is only in its environment (Nomad's), which lists
	 * and events do not have; the answer about that one container does.
	 */
	void (*container)(void *ctx, const struct container_facts *facts, bool inspect);
	void *ctx;
	/*
	 * Labels and environments are not believed: id, name and image are all that is reported,
	 * lest a user's container pose as a pod.
	 */
	bool untrusted;
};

/* Whether s is an id as above. */
bool docker_id_is_valid(const char *s);

/*
 * What is not a container in a list is skipped. Returns 0, -EFBIG, or -EBADMSG if the text is not
 * such an answer; no container is reported then.
 */
int docker_list_read(const char *text, size_t len, const struct docker_reader *r) MUST_CHECK;
int docker_container_read(const char *text, size_t len, const struct docker_reader *r) MUST_CHECK;

/* The stream of events: one JSON object per line. */
struct docker_events {
	struct buf line;
	bool skipping;  /* the rest of a line that is too long */
	uint64_t n_bad; /* lines that were no events, or too long */
};

void docker_events_init(struct docker_events *e);
void docker_events_fini(struct docker_events *e);
/*
 * Takes the next piece of the stream. Reports the containers of events that create, start or
 * rename one. Returns 0 or -ENOMEM.
 */
int docker_events_feed(struct docker_events *e, const char *data, size_t len,
		       const struct docker_reader *r) MUST_CHECK;

#endif /* NODE_AGENT_CONTAINER_DOCKER_MESSAGES_H */
