/*
 * Records of the ring buffer, checked before anybody looks at them: the type
 * is known and every address lies inside the record. Pure.
 */
#ifndef NODE_AGENT_SAMPLE_EVENT_PARSE_H
#define NODE_AGENT_SAMPLE_EVENT_PARSE_H

#include <linux/types.h>

#include "common/base.h"

#include "bpf/sample_event.h"

/* The type of the record, or -EBADMSG. data is aligned to 8 bytes. */
int event_parse(const void *data, size_t len) MUST_CHECK;

/* The n_kernel + n_user addresses behind e. */
static inline const uint64_t *sample_event_addrs(const struct sample_event *e)
{
	return (const uint64_t *)(const void *)(e + 1);
}

#endif /* NODE_AGENT_SAMPLE_EVENT_PARSE_H */
