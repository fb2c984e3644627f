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

/* The n_chain frames of an interpreter after e. */
static inline const struct chain_entry *sample_event_chain(const struct sample_event *e)
{
	return (const struct chain_entry *)(const void *)(e + 1);
}

/*
 * As chain_entry_index() of frame i, which is below n_chain. If the innermost call of the loop has
 * no frame, the frames of each call are those of the next one; if there is a call that has not
 * begun, they are those of the one before, and the first ones are in the leaf.
 */
static inline uint32_t sample_event_chain_index(const struct sample_event *e, size_t i)
{
	const struct chain_entry *chain = sample_event_chain(e);
	uint32_t left = e->chain_state >> CHAIN_LEFT_SHIFT, index = chain_entry_index(&chain[i]);

	if (left == 0 && e->chain_state & CHAIN_NOT_BEGUN) {
		while (i > 0 && chain_entry_index(&chain[i]) == index)
			i--;
		return chain_entry_index(&chain[i]) == index ? 0 : chain_entry_index(&chain[i]);
	}
	if (left == 0)
		return index;
	while (++i < e->n_chain) {
		if (chain_entry_index(&chain[i]) != index)
			return chain_entry_index(&chain[i]);
	}
	return left - 1;
}

/* The n_kernel + n_user addresses after those. */
static inline const uint64_t *sample_event_addrs(const struct sample_event *e)
{
	return (const uint64_t *)(const void *)(sample_event_chain(e) + e->n_chain);
}

#endif /* NODE_AGENT_SAMPLE_EVENT_PARSE_H */
