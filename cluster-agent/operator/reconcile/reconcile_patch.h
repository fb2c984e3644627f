/* Merge patches that a reconcile sends, and decisions about objects that are there. Pure. */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_PATCH_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_PATCH_H

#include <jansson.h>

#include "common/base.h"

#define RECONCILE_FINALIZER "coroot.com/operator"

bool reconcile_patch_has_finalizer(const json_t *resource);
/*
 * The patch that adds our finalizer to the resource's, or removes it. It names the version, so that
 * finalizers that others add at this moment are not lost. NULL without memory.
 */
json_t *reconcile_patch_finalizers(const json_t *resource, bool add);

/* To whom an object belongs that has the name of one of ours. */
enum object_holder {
	OBJECT_HOLDER_OURS,
	/* Coroot's operator: fields that it set, and that we do not, are to go */
	OBJECT_HOLDER_UPSTREAM,
	OBJECT_HOLDER_FOREIGN,
};

/* uid is that of the resource. An object may be ours and belong to another resource. */
enum object_holder reconcile_patch_holder(const json_t *object, const char *uid);

/*
 * The patch by which our server-side apply counts as the author of what Coroot's operator wrote:
 * the next apply then removes the fields of it that we do not have. NULL without memory.
 */
json_t *reconcile_patch_take_over(const json_t *object);

/*
 * The patch that removes references to the owner with this uid; *ret is NULL if there is none. It
 * names the version. Returns 0 or -ENOMEM.
 */
int reconcile_patch_release(json_t **ret, const json_t *object, const char *uid) MUST_CHECK;

/*
 * Changes a claim that is to be applied where it asks for less storage than the one that is there:
 * claims can grow, also by hand, but not shrink. Returns 0 or -ENOMEM.
 */
int reconcile_patch_keep_size(json_t *claim, const json_t *there) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_PATCH_H */
