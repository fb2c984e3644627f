/*
 * kubeconfig files, as text. Pure; what is understood is that of
 * k8s.io/client-go/tools/clientcmd/api/v1/types.go.
 *
 * Of several files the first that has a current-context decides, and the first that has an entry
 * of a name, as a whole. Paths are made relative to the file they stand in.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_PARSE_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_PARSE_H

#include "cluster-agent/kubernetes/kube_config.h"
#include "common/base.h"
#include "common/err.h"

/* Of one KUBECONFIG. */
#define KUBE_CONFIG_MAX_FILES 16
#define KUBE_CONFIG_MAX_EXEC_WORDS 256 /* arguments, and variables */
#define KUBE_CONFIG_MAX_EXEC_CONFIG_BYTES ((size_t)64 * 1024)

struct kube_config_text {
	const char *path; /* of the file: for sentences, and what paths are relative to */
	const char *text;
	size_t len;
};

/*
 * context: NULL for the current-context. Codes as of kube_config_load_file(). On failure *ret, which
 * is zeroed before, is so again.
 */
int kube_config_parse(struct kube_config *ret, const struct kube_config_text *files, size_t n_files,
		      const char *context, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_PARSE_H */
