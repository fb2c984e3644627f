/*
 * Validates a record of the ring buffer before it is used: the type is known, and all addresses
 * and strings end inside the record. Pure.
 */
#ifndef NODE_AGENT_SAMPLE_EVENT_PARSE_H
#define NODE_AGENT_SAMPLE_EVENT_PARSE_H

#include <linux/types.h>

#include "common/base.h"
#include "node-agent/procfs/file_id.h"

#include "bpf/frame_chain.h"
#include "bpf/sample_event.h"

/* Returns the type of the record, or -EBADMSG. data must be aligned to 8 bytes. */
int event_parse(const void *data, size_t len) MUST_CHECK;

/* The kernel's identity of a file in the form that user space uses. */
void event_file_version(const struct event_file *f, struct file_version *ret);

/* The n_chain frames of an interpreter behind e. */
static inline const struct chain_entry *sample_event_chain(const struct sample_event *e)
{
	return (const struct chain_entry *)(const void *)(e + 1);
}

/*
 * As chain_entry_index() of frame i, which is below n_chain. If the innermost call of the loop has
 * no frame, each frame is that of the next call.
 */
static inline uint32_t sample_event_chain_index(const struct sample_event *e, size_t i)
{
	uint32_t left = e->chain_state >> CHAIN_LEFT_SHIFT;

	if (left == 0)
		return chain_entry_index(&sample_event_chain(e)[i]);
	return i + 1 < e->n_chain ? chain_entry_index(&sample_event_chain(e)[i + 1]) : left - 1;
}

/* The n_kernel + n_user addresses behind those. */
static inline const uint64_t *sample_event_addrs(const struct sample_event *e)
{
	return (const uint64_t *)(const void *)(sample_event_chain(e) + e->n_chain);
}

#endif /* NODE_AGENT_SAMPLE_EVENT_PARSE_H */
