/*
 * The API server's answers, cut into objects as they arrive: a list
 * ({"kind":"PodList","metadata": {…},"items":[…]}) into its items and its metadata, a watch
 * into its events. Pure; foreign data.
 *
 * Only structure is looked at here (strings, escapes, nesting up to 512); an object is
 * handed on whole, as text, and parsed by whoever wants it. Memory: one object.
 *
 * A list without "items" is none; one whose items are null is empty. A Status in the place of a
 * list (an error that came with 200) is -EBADMSG with its message. Keys written with escapes
 * are not recognized: no server does that.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_STREAM_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_STREAM_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

enum kube_stream_mode {
	KUBE_STREAM_LIST,
	KUBE_STREAM_WATCH,
};

struct kube_stream;

struct kube_stream_config {
	enum kube_stream_mode mode;
	size_t max_object_bytes;
	void *ctx;
	/*
	 * The text of one item of a list or of one whole event of a watch; not NUL-terminated.
	 * A negative result ends the stream with it.
	 */
	int (*object)(void *ctx, const char *text, size_t len);
	void (*too_large)(void *ctx); /* one was left out */
};

int kube_stream_new(struct kube_stream **ret, const struct kube_stream_config *cfg) MUST_CHECK;
void kube_stream_free(struct kube_stream *s);
DEFINE_CLEANUP(struct kube_stream *, kube_stream_free);

/*
 * The next bytes, cut anywhere. 0; -EBADMSG with a sentence in err; what object() gave;
 * -ENOMEM. Whatever failed fails again.
 */
int kube_stream_feed(struct kube_stream *s, const char *data, size_t len,
		     struct err *err) MUST_CHECK;

/*
 * After the last byte of a list: 0 when it was whole, else -EBADMSG. The texts, "" when not
 * there, are valid as long as s is.
 */
struct kube_list_meta {
	const char *resource_version;
	const char *next; /* the "continue" token */
};
int kube_stream_finish_list(struct kube_stream *s, struct kube_list_meta *ret,
			    struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_STREAM_H */
