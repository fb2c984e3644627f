/*
 * What a runtime has said about sandboxes and images. Entries go when a list no longer has them. A
 * sandbox never changes under its id; an image may get another tag, so its name is that of the
 * last list. Bounded.
 */
#ifndef NODE_AGENT_CONTAINER_CRI_CACHE_H
#define NODE_AGENT_CONTAINER_CRI_CACHE_H

#include "common/base.h"
#include "node-agent/container/container_facts.h"
#include "node-agent/container/cri_messages.h"

/* Of each kind. A node has some hundred pods, and keeps some hundred that have ended. */
#define CRI_CACHE_MAX 10000u

struct cri_text; /* an id with texts */

struct cri_cache {
	struct cri_text *pods, *images;
	unsigned list; /* counts the lists, to recognise what the last one did not have */
	char *node;    /* name of this node, or NULL */
};

/* c must be zeroed; node may be NULL. Returns 0 or -ENOMEM. */
int cri_cache_init(struct cri_cache *c, const char *node) MUST_CHECK;
void cri_cache_fini(struct cri_cache *c);

/* Before a list of all sandboxes or of all images, and after it if it was complete. */
void cri_cache_begin_list(struct cri_cache *c);
void cri_cache_end_pods(struct cri_cache *c);
void cri_cache_end_images(struct cri_cache *c);

/* What does not fit, or finds no memory, is left out: it is asked for again. */
void cri_cache_add_pod(struct cri_cache *c, const struct cri_sandbox *s);
void cri_cache_add_image(struct cri_cache *c, const char *id, const char *name);

/*
 * Fills in what the pod's sandbox says: all but id, name and image. The texts are valid until the
 * cache changes. Returns whether it is known.
 */
bool cri_cache_find_pod(const struct cri_cache *c, const char *sandbox_id,
			struct container_facts *facts);
/* The name of an image, "" if it has none, NULL if it is not known. id may have "sha256:". */
const char *cri_cache_find_image(const struct cri_cache *c, const char *id);

#endif /* NODE_AGENT_CONTAINER_CRI_CACHE_H */
