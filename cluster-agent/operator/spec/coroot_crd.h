/* The CustomResourceDefinition of coroots.coroot.com, from the table of coroot_fields.h. Pure. */
#ifndef CLUSTER_AGENT_OPERATOR_SPEC_COROOT_CRD_H
#define CLUSTER_AGENT_OPERATOR_SPEC_COROOT_CRD_H

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Appends it as YAML. It refuses nothing that Coroot's own accepts: what is wrong beyond that is
 * reported in the status of a resource. Returns 0, -ENOMEM, or -EFBIG.
 */
int coroot_crd_write(struct buf *out) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_SPEC_COROOT_CRD_H */
