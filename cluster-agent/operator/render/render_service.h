/* How the server is reached. Pure. */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_RENDER_SERVICE_H
#define CLUSTER_AGENT_OPERATOR_RENDER_RENDER_SERVICE_H

#include "cluster-agent/operator/render/rendered.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/base.h"

/* Return 0 or -ENOMEM. */
int render_service(struct rendered *out, const struct coroot_spec *s) MUST_CHECK;
int render_ingress(struct rendered *out, const struct coroot_spec *s) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_RENDER_SERVICE_H */
