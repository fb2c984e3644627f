#include "node-agent/sample/event_parse.h"

#include <errno.h>

static int check_sample(const struct sample_event *e)
{
	size_t n = (size_t)e->n_kernel + e->n_user;

	if (e->header.size < sizeof(*e) || e->n_kernel > SAMPLER_KERNEL_FRAMES ||
	    e->n_user > SAMPLER_USER_FRAMES || e->end >= WALK_END_MAX ||
	    n * sizeof(uint64_t) != e->header.size - sizeof(*e) ||
	    !memchr(e->comm, '\0', sizeof(e->comm)))
		return -EBADMSG;
	return EVENT_SAMPLE;
}

int event_parse(const void *data, size_t len)
{
	const struct event_header *h = data;

	if (len < sizeof(*h) || h->size != len)
		return -EBADMSG;
	switch (h->type) {
	case EVENT_SAMPLE:
		return check_sample(data);
	case EVENT_EXEC:
	case EVENT_EXIT:
		return len == sizeof(*h) ? (int)h->type : -EBADMSG;
	default:
		return -EBADMSG;
	}
}
