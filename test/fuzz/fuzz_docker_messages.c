/*
 * Any bytes as each of the answers: every container has an id that is one, and the stream of
 * events does not depend on how it is cut.
 */
#include <assert.h>

#include "node-agent/container/docker_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *ctx, const struct container_facts *f, bool inspect)
{
	size_t *n = ctx;

	assert(docker_id_is_valid(f->id));
	assert(!f->path || f->path[0] == '/');
	assert(!inspect || (!f->path && !f->pod));
	*n += 1 + (f->name ? strlen(f->name) : 0) + (f->image ? strlen(f->image) : 0);
}

static size_t feed(const char *text, size_t size, size_t piece)
{
	CLEANUP(docker_events_fini) struct docker_events e;
	size_t n = 0;
	const struct docker_reader r = {check, &n};

	docker_events_init(&e);
	for (size_t at = 0; at < size; at += piece)
		assert(docker_events_feed(&e, text + at, size - at < piece ? size - at : piece,
					  &r) == 0);
	return n + e.n_bad;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t n = 0;
	const struct docker_reader r = {check, &n};

	if (docker_list_read(text, size, &r) < 0 && docker_container_read(text, size, &r) < 0)
		n = 0;
	assert(feed(text, size, size + 1) == feed(text, size, 7));
	return 0;
}
