/*
 * Between finished profiles and the uploader: names each profile's workload and labels it.
 *
 * The name of a container may not be known yet. Its profile waits, a few seconds at most, and
 * then goes under what is known: the runtime's name and the id. Until it is known how the receiver
 * wants names to be, from its answer or from one that the spool has kept, profiles of containers
 * wait for that, too, however long it takes. Nothing else waits. How many profiles wait, and how
 * large they may be, is limited; beyond the limits the oldest ones go at once.
 *
 * Loop thread only.
 */
#ifndef NODE_AGENT_NAMED_UPLOADS_H
#define NODE_AGENT_NAMED_UPLOADS_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/kubernetes/place_labels.h"
#include "common/upload/receiver_wishes.h"
#include "common/upload/uploader.h"
#include "node-agent/container/container_directory.h"
#include "node-agent/host_identity.h"

enum extra_labels_mode {
	EXTRA_LABELS_AUTO, /* as the receiver wishes */
	EXTRA_LABELS_ON,
	EXTRA_LABELS_OFF,
};

struct named_uploads;

/* A profile of a workload; the content of pprof is taken. */
struct finished_profile {
	struct workload *raw;
	struct buf *pprof;
	uint64_t n_samples; /* CPU profiles only, as the next */
	uint64_t cost_ns;   /* CPU time that the samples cost in the kernel */
	/*
	 * Of a type that Coroot's page filters by the labels namespace and pod, not by the
	 * container's id: goroutine, mutex and block.
	 */
	bool is_found_by_pod;
};

struct named_uploads_config {
	struct container_directory *directory; /* NULL: all names are final */
	struct uploader *uploader;
	const struct host_identity *host;
	enum extra_labels_mode extra_labels;
	uint64_t wait_ns; /* 0: 5 s */
	size_t max_items; /* 0: 4096 */
	size_t max_bytes; /* 0: 32 MiB */
	/* Called when the last waiting profile was passed on. */
	loop_fn idle;
	void *ctx;
	/*
	 * Called once for each profile, when its workload has its final name w: false drops the
	 * profile. NULL: all are uploaded.
	 */
	bool (*admit)(void *ctx, const struct workload *w, const struct finished_profile *p);
	void *admit_ctx;
	/* More labels of a pod's profiles, as place_labels_find() has them. NULL: none. */
	size_t (*place_labels)(void *ctx, const char *namespace,
			       struct place_label ret[static PLACE_LABELS_MAX]);
	void *place_ctx;
};

/* l and the pointers of cfg are borrowed. Returns 0, -ENOMEM, or -EMFILE and the like. */
int named_uploads_new(struct named_uploads **ret, struct loop *l,
		      const struct named_uploads_config *cfg) MUST_CHECK;
/*
 * Passes what still waits to the uploader, which is freed later, as is the directory. The
 * directory must not call it any more. NULL is allowed.
 */
void named_uploads_free(struct named_uploads *n);
DEFINE_CLEANUP(struct named_uploads *, named_uploads_free);

/* As metrics_register(). */
int named_uploads_register_metrics(struct named_uploads *n, struct metrics *ms) MUST_CHECK;

/* Takes the content of pprof in every case. What cannot be queued is lost, and logged. */
void named_uploads_add(struct named_uploads *n, const struct finished_profile *p);

/* Until this is called, profiles of containers wait. */
void named_uploads_set_wishes(struct named_uploads *n, const struct receiver_wishes *w);

/* For the shutdown: nothing waits for longer than a second from now on. */
void named_uploads_hurry(struct named_uploads *n);

size_t named_uploads_pending(const struct named_uploads *n);

#endif /* NODE_AGENT_NAMED_UPLOADS_H */
