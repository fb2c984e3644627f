#include "node-agent/sample/event_parse.h"

#include <errno.h>
#include <sys/sysmacros.h>

static int check_sample(const struct sample_event *e)
{
	size_t n = (size_t)e->n_kernel + e->n_user;
	size_t bytes = n * sizeof(uint64_t) + e->n_chain * sizeof(struct chain_entry);

	if (e->header.size < sizeof(*e) || e->n_kernel > SAMPLER_KERNEL_FRAMES ||
	    e->n_user > SAMPLER_USER_FRAMES || e->end >= WALK_END_MAX ||
	    (e->root_at != 0 && e->root_at >= e->n_user) || e->n_chain >= CHAIN_ENTRIES ||
	    bytes != e->header.size - sizeof(*e) || !memchr(e->comm, '\0', sizeof(e->comm)))
		return -EBADMSG;
	return EVENT_SAMPLE;
}

static int check_exec(const struct exec_event *e)
{
	const size_t fixed = sizeof(*e) - sizeof(e->path);
	size_t size = e->header.size;

	if (size <= fixed || size > sizeof(*e) || !memchr(e->path, '\0', size - fixed))
		return -EBADMSG;
	return EVENT_EXEC;
}

static int check_code(const struct code_event *e)
{
	for (size_t i = 0; i < CODE_PIECES; i++) {
		if (e->n_bytes[i] > sizeof(e->words[i]))
			return -EBADMSG;
	}
	return EVENT_CODE;
}

void event_file_version(const struct event_file *f, struct file_version *ret)
{
	*ret = (struct file_version){
		.id =
			{
				.dev = makedev((unsigned)(f->dev >> 20),
					       (unsigned)(f->dev & 0xfffff)),
				.ino = f->ino,
				.size_bytes = f->size_bytes,
				.mtime_ns = f->mtime_ns,
			},
		.ctime_ns = f->ctime_ns,
	};
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
		return check_exec(data);
	case EVENT_FORK:
		return len == sizeof(struct fork_event) ? EVENT_FORK : -EBADMSG;
	case EVENT_MAP:
		return len == sizeof(struct map_event) ? EVENT_MAP : -EBADMSG;
	case EVENT_CODE:
		return len == sizeof(struct code_event) ? check_code(data) : -EBADMSG;
	case EVENT_EXIT:
		return len == sizeof(*h) ? (int)h->type : -EBADMSG;
	default:
		return -EBADMSG;
	}
}
