/*
 * Names of pods' services and containers: the one place that makes them, so that the node agent
 * and the scraper store the profiles of a workload under one name. Pure; input is untrusted.
 *
 * A service is called by the best that is known of the pod:
 *
 *   its annotation    KUBE_APPLICATION_ANNOTATION, whatever the controller
 *   its controller    that in ownerReferences, and what stands behind it: kube_owner_name()
 *   its labels        where only a container runtime answers: kube_owner_by_labels()
 *   its name          kube_owner_len(), and if that matches nothing, the whole
 *
 * The name alone can be wrong: a bare pod "web-2" is taken for a replica of "web". Static pods are
 * named by themselves wherever they are known to be static: in "etcd-worker-2" on the node
 * "worker-2", the number is not a replica's.
 *
 * A Coroot server looks profiles up by names that it derives from the ids of containers by rules
 * of its own (coroot-node-agent, common/otel.go), which see the pod's name only and take any last
 * part of hex digits for a hash. So there are two namings:
 *
 *                        container id                          service
 *   own      every pod   /k8s/<ns>/<pod>/<container>           /k8s/<ns>/<as above>
 *   Coroot   cron job    /k8s-cronjob/<ns>/<name>/<container>  the same
 *            a rule      /k8s/<ns>/<pod>/<container>           /k8s/<ns>/<owner>
 *            no rule     /k8s/<ns>/<pod>/<container>           the same
 *
 * Coroot's rules, in their order, on pods without a dot in the namespace or in the owner's part:
 *   Deployment         <owner>-<1 to 10 hex digits>-xxxxx
 *   DaemonSet, Job     <owner>-xxxxx
 *   StatefulSet        <owner>-<decimal digits>
 *
 * Our own keeps the runs of a cron job apart as instances of one application, to which the
 * scraped profiles belong as well. The receiver says which naming it wants (receiver_wishes.h).
 */
#ifndef COMMON_TEXT_KUBE_NAMES_H
#define COMMON_TEXT_KUBE_NAMES_H

#include "common/base.h"

#define KUBE_PART_BYTES 254 /* one name: a DNS subdomain, the longest that Kubernetes allows */
#define KUBE_NAME_BYTES 800 /* container id or service of any pod */

enum kube_naming {
	KUBE_NAMING_OWN,
	KUBE_NAMING_COROOT,
};

struct kube_pod {
	const char *namespace;
	const char *pod;
	/* NULL or "" if unknown; Coroot's naming then names services as our own does */
	const char *container;
	/* what the pod says itself, by one of the functions below; NULL or "" if unknown */
	const char *owner;
	/* that it runs on; NULL or "" if unknown. Static pods are named without it. */
	const char *node;
	/* The kubelet runs it by a file of its own. false if that is not known. */
	bool is_static;
};

/* Coroot's, on pods and their controllers: what the application is to be called. */
#define KUBE_APPLICATION_ANNOTATION "coroot.com/custom-application-name"

/* Labels of a pod that controllers set, and that tell what the controller is called. */
enum kube_label {
	KUBE_LABEL_TEMPLATE_HASH,     /* Deployments */
	KUBE_LABEL_ROLLOUT_HASH,      /* Argo's Rollouts */
	KUBE_LABEL_DEPLOYMENT_CONFIG, /* OpenShift's DeploymentConfigs */
	KUBE_LABEL_JOB,
	KUBE_LABEL_OLD_JOB, /* the same, before Kubernetes 1.27 */
	KUBE_LABEL_STATEFUL_POD,
	KUBE_LABEL_REVISION, /* DaemonSets, and StatefulSets, which have the one above too */
	KUBE_LABEL_MAX,
};

extern const char *const kube_label_keys[KUBE_LABEL_MAX];

struct kube_labels {
	const char *values[KUBE_LABEL_MAX]; /* NULL or "" if the pod has no such label */
};

/*
 * By the pod's name alone. Returns the length of the owner's name, with which it begins, or 0 if
 * no rule matches. The rules in their order, where x is one of bcdfghjklmnpqrstvwxz2456789, the
 * alphabet of Kubernetes' generated names:
 *   Deployment         <owner>-<8 to 10 x>-xxxxx: the hash is a number of 32 bits, each digit of
 *                      which became an x; one in 430 is shorter
 *   cron job           <owner>-<8 decimal digits>-xxxxx: minutes since the epoch
 *   DaemonSet, Job     <owner>-xxxxx
 *   StatefulSet        <owner>-<decimal digits>
 */
size_t kube_owner_len(const char *pod, size_t len);

/* Whether s is a part of a name: 1 to 253 printable ASCII characters without blanks and '/'. */
bool kube_part_is_valid(const char *s);

/*
 * Names the workload behind the controller in a pod's ownerReferences: a ReplicaSet whose name
 * ends in the hash in the pod's labels stands for its Deployment or Rollout, a
 * ReplicationController likewise for its DeploymentConfig, a Job whose name ends in 8 digits for
 * its CronJob, and a Node means a static pod. All others are called by their names. Texts and
 * labels may be NULL. *ret is "" if there is no controller or its name is not valid.
 */
void kube_owner_name(char ret[static KUBE_PART_BYTES], const char *kind, const char *name,
		     const char *pod, const struct kube_labels *labels);

/*
 * The same by the labels alone, which must agree with the pod's name. *ret is "" if they do not
 * tell: the pod may have a controller that sets none. Of a name of 58 characters and more, *ret
 * has the first 58, as the pod's name has.
 */
void kube_owner_by_labels(char ret[static KUBE_PART_BYTES], const char *pod,
			  const struct kube_labels *labels);

/*
 * Both return 0, or -EINVAL if a name that is needed is missing or not valid. now_s, in seconds
 * since the epoch, matters in Coroot's naming: a pod is a cron job's if its name has a time
 * within a week.
 */
int kube_service_name(char ret[static KUBE_NAME_BYTES], const struct kube_pod *p,
		      enum kube_naming naming, int64_t now_s) MUST_CHECK;
int kube_container_id(char ret[static KUBE_NAME_BYTES], const struct kube_pod *p,
		      enum kube_naming naming, int64_t now_s) MUST_CHECK;

/*
 * Names of Kubernetes objects. Pure; the input is untrusted. A name that passes can be part of a
 * URL's path as it is.
 */

/* RFC 1123 label, as namespaces and services are named: at most 63 of a-z, 0-9 and '-'. */
bool kube_name_is_label(const char *s);
/* RFC 1123 subdomain, as most objects are named: labels joined by '.', at most 253 bytes. */
bool kube_name_is_subdomain(const char *s);

#endif /* COMMON_TEXT_KUBE_NAMES_H */
