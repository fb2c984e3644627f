/*
 * Reads a kube_config: from kubeconfig files, or from the service account of the pod that we
 * run in.
 *
 * Sources: k8s.io/client-go/tools/clientcmd/api/v1/types.go (kubeconfig) and
 * rest.InClusterConfig() (KUBERNETES_SERVICE_HOST, _PORT and the files in
 * /var/run/secrets/kubernetes.io/serviceaccount).
 */
#ifndef COMMON_KUBERNETES_KUBE_CONFIG_LOAD_H
#define COMMON_KUBERNETES_KUBE_CONFIG_LOAD_H

#include "common/base.h"
#include "common/err.h"
#include "common/kubernetes/kube_config.h"

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* Whether we run in a pod with a service account token in dir, by the rules of client-go. */
bool kube_config_in_cluster(const char *dir);

/*
 * *ret is zeroed before the call. Returns 0, -ENOENT if we do not run in a pod, -EINVAL if its
 * environment variables are invalid, -ENOMEM, or the errno of reading the token. All but
 * -ENOMEM come with a sentence in err.
 */
int kube_config_load_service_account(struct kube_config *ret, const char *dir,
				     struct err *err) MUST_CHECK;

/*
 * path is one file, or several as in KUBECONFIG ("a:b"), of which some may be missing. context
 * is NULL for the current-context. *ret is zeroed before the call. Returns 0 or, with a
 * sentence in err:
 *   -EBADMSG  not a kubeconfig
 *   -EFBIG    larger than KUBE_CONFIG_FILE_BYTES
 *   -ENOENT   no file, or no such context, cluster or user
 *   -ENOTSUP  an auth-provider (which client-go has dropped too), impersonation, or a plugin that
 *             prompts at a terminal
 *   -errno    of reading a file
 * or -ENOMEM without one.
 */
int kube_config_load_file(struct kube_config *ret, const char *path, const char *context,
			  struct err *err) MUST_CHECK;

/*
 * Whether the kubeconfig gets its credentials from a program. False if it cannot be read, too:
 * loading it says why. Arguments as of kube_config_load_file().
 */
bool kube_config_file_starts_program(const char *path, const char *context);

#endif /* COMMON_KUBERNETES_KUBE_CONFIG_LOAD_H */
