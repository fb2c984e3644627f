/*
 * Parses the text of kubeconfig files. Pure. Understands the fields of
 * k8s.io/client-go/tools/clientcmd/api/v1/types.go.
 *
 * With several files, the first one with a current-context determines it; of several entries
 * with one name the first is used as a whole, they are not merged. Relative paths are relative
 * to the directory of their file.
 */
#ifndef COMMON_KUBERNETES_KUBE_CONFIG_PARSE_H
#define COMMON_KUBERNETES_KUBE_CONFIG_PARSE_H

#include "common/base.h"
#include "common/err.h"
#include "common/kubernetes/kube_config.h"

#define KUBE_CONFIG_MAX_FILES 16 /* in one KUBECONFIG */
#define KUBE_CONFIG_FILE_BYTES ((size_t)4 * 1024 * 1024)
#define KUBE_CONFIG_MAX_EXEC_WORDS 256 /* arguments; also environment variables */
#define KUBE_CONFIG_MAX_EXEC_CONFIG_BYTES ((size_t)64 * 1024)

struct kube_config_text {
	const char *path; /* of the file, for error texts and relative paths */
	const char *text;
	size_t len;
};

/*
 * context is NULL for the current-context. *ret is zeroed before the call, and again on
 * failure. Returns what kube_config_load_file() does.
 */
int kube_config_parse(struct kube_config *ret, const struct kube_config_text *files, size_t n_files,
		      const char *context, struct err *err) MUST_CHECK;

#endif /* COMMON_KUBERNETES_KUBE_CONFIG_PARSE_H */
