/*
 * Attributes of an OTLP resource → service, host and labels of its profiles. Pure; foreign data.
 *
 * The service is the first of these that is there:
 *
 *	service.name			unless it is "unknown_service…", what SDKs send without one
 *	k8s.namespace.name with		/k8s/<namespace>/<owner>, as our own agents name it, by the
 *	  k8s.pod.name or an owner	rules of kube_names.h
 *	container.name
 *	process.executable.name		of the resource
 *	service.name, process.executable.name of a sample	(otlp_parts.c)
 *	service.name			whatever it is
 *	"unknown_service"
 *
 * Every attribute that is a text, a number or true or false becomes a label of the same name, but
 * service.name, what describes the sender (telemetry.…), and command lines, which may hold secrets.
 */
#ifndef CLUSTER_AGENT_OTLP_OTLP_RESOURCE_H
#define CLUSTER_AGENT_OTLP_OTLP_RESOURCE_H

#include "cluster-agent/otlp/otlp_dictionary.h"
#include "cluster-agent/push/foreign_types.h"
#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/data/arena.h"

#define OTLP_RESOURCE_MAX_LABELS 64u
#define OTLP_RESOURCE_VALUE_BYTES 1024u /* longer values are cut */

struct otlp_resource {
	struct row_text service; /* "": samples may say */
	struct row_text unnamed; /* what it is if they do not */
	struct row_text host;    /* host.name or k8s.node.name; "" if unknown */
	const struct row_label *labels;
	size_t n_labels;
	enum foreign_source source; /* by the name or language of its SDK */
};

/*
 * message is a Resource. Texts are copied into arena and are valid UTF-8. Returns 0, -EBADMSG or
 * -EFBIG with one line in err, or -ENOMEM.
 */
int otlp_resource_read(struct otlp_resource *ret, struct arena *arena,
		       const struct otlp_dictionary *d, struct otlp_bytes message,
		       struct err *err) MUST_CHECK;

/* A copy of b as valid UTF-8, at most max bytes. Without memory, its data is NULL. */
struct row_text otlp_resource_text(struct arena *arena, struct otlp_bytes b, size_t max);

#endif /* CLUSTER_AGENT_OTLP_OTLP_RESOURCE_H */
