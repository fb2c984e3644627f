/*
 * Names of pods' services and containers: the one place that makes them, so that the node agent
 * and the scraper store the profiles of a workload under one name. Pure; input is untrusted.
 *
 * Coroot's rules on the pod's name (coroot-node-agent, common/otel.go) come first, since some
 * agents know nothing else about a pod. They can be wrong (a bare pod "web-2" is taken for a
 * replica of "web"), but are wrong in the same way everywhere. Only if none of them matches, the
 * name of the pod's controller is used, and without one the pod's own. Static pods are named by
 * themselves wherever they are known to be static: in "etcd-worker-2" on the node "worker-2", the
 * number is not a replica's.
 *
 * A Coroot server looks profiles up by names that it derives from container ids, and would miss
 * two kinds of pods under the names that we prefer. So there are two namings:
 *
 * (Coroot's expressions know lower-case letters, digits and '-' only: a rule matches nothing with
 * a dot in the namespace or in the owner's part.)
 *
 *                        container id                          service
 *   own      every pod   /k8s/<ns>/<pod>/<container>           /k8s/<ns>/<owner>
 *   Coroot   cron job    /k8s-cronjob/<ns>/<name>/<container>  the same
 *            a rule      /k8s/<ns>/<pod>/<container>           /k8s/<ns>/<owner>
 *            no rule     /k8s/<ns>/<pod>/<container>           the same
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
	/* from kube_owner_name(); NULL or "" if unknown or if the pod has no controller */
	const char *owner;
	/* that it runs on; NULL or "" if unknown. Static pods are named without it. */
	const char *node;
	/* The kubelet runs it by a file of its own. false if that is not known. */
	bool is_static;
};

/*
 * Returns the length of the owner's name, with which the pod's name begins, or 0 if no rule
 * matches. The rules in their order, where x is one of bcdfghjklmnpqrstvwxz2456789:
 *   Deployment         <owner>-<1 to 10 hex digits>-xxxxx
 *   DaemonSet, Job     <owner>-xxxxx
 *   StatefulSet        <owner>-<decimal digits>
 */
size_t kube_owner_len(const char *pod, size_t len);

/* Whether s is a part of a name: 1 to 253 printable ASCII characters without blanks and '/'. */
bool kube_part_is_valid(const char *s);

/*
 * Names the workload behind the controller in a pod's ownerReferences: a ReplicaSet stands for
 * its Deployment, a Job for its CronJob, and a Node means a static pod. kind and name may be
 * NULL. *ret is "" if there is no controller or its name is not valid.
 */
void kube_owner_name(char ret[static KUBE_PART_BYTES], const char *kind, const char *name,
		     const char *pod);

/*
 * Both return 0, or -EINVAL if a name that is needed is missing or not valid. now_s, in seconds
 * since the epoch, matters in Coroot's naming: a pod is a cron job's if its name has a time
 * within a week.
 */
int kube_service_name(char ret[static KUBE_NAME_BYTES], const struct kube_pod *p,
		      enum kube_naming naming, int64_t now_s) MUST_CHECK;
int kube_container_id(char ret[static KUBE_NAME_BYTES], const struct kube_pod *p,
		      enum kube_naming naming, int64_t now_s) MUST_CHECK;

#endif /* COMMON_TEXT_KUBE_NAMES_H */
