/*
 * Splits the API server's answers into objects as they arrive: a list
 * ({"kind":"PodList","metadata": {…},"items":[…]}) into items and metadata, a watch into
 * events. Pure; the input is untrusted.
 *
 * Of an object only the structure is checked here (strings, escapes, nesting up to 512): it is
 * passed on as text, in one piece, for its reader to parse. Memory: one object, and what is around
 * the items of a list.
 *
 * A list must have "items"; if they are null, it is empty. A Status in place of a list (an
 * error sent with status 200) is -EBADMSG with its message. Keys that contain escapes are not
 * recognized; no server writes them.
 */
#ifndef COMMON_KUBERNETES_KUBE_STREAM_H
#define COMMON_KUBERNETES_KUBE_STREAM_H

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
	 * The text of one item of a list, or of one event of a watch; not NUL-terminated. A
	 * negative result ends the stream with that error.
	 */
	int (*object)(void *ctx, const char *text, size_t len);
	void (*too_large)(void *ctx); /* an object was skipped */
};

int kube_stream_new(struct kube_stream **ret, const struct kube_stream_config *cfg) MUST_CHECK;
void kube_stream_free(struct kube_stream *s);
DEFINE_CLEANUP(struct kube_stream *, kube_stream_free);

/*
 * Takes the next bytes, which may end anywhere. Returns 0, -ENOMEM, -EBADMSG with a sentence in
 * err, or the error of object(). After a failure it returns the same error again.
 */
int kube_stream_feed(struct kube_stream *s, const char *data, size_t len,
		     struct err *err) MUST_CHECK;

/*
 * Call after the last byte of a list. Returns 0 if the list was complete, else -EBADMSG. The
 * strings are "" if missing, and valid as long as s.
 */
struct kube_list_meta {
	const char *resource_version;
	const char *next; /* the "continue" token */
};
int kube_stream_finish_list(struct kube_stream *s, struct kube_list_meta *ret,
			    struct err *err) MUST_CHECK;

#endif /* COMMON_KUBERNETES_KUBE_STREAM_H */
