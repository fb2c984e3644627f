#include "common/text/kube_names.h"

#include <errno.h>

/* The alphabet of Kubernetes' random suffixes; without vowels, so that they spell no words. */
#define SAFE_CHARS "bcdfghjklmnpqrstvwxz2456789"
#define DIGITS "0123456789"
#define HEX_DIGITS DIGITS "abcdef"
#define COROOT_CHARS DIGITS "abcdefghijklmnopqrstuvwxyz-"

/* A cron job's pods are <name>-<minutes since the epoch>-xxxxx. */
#define CRON_DIGITS 8
#define CRON_WINDOW_S (7 * 24 * 3600)

/*
 * Returns the length of s without its suffix of a '-' and min to max characters of set, or 0 if
 * s has no such suffix or nothing in front of it.
 */
static size_t cut_suffix(const char *s, size_t len, const char *set, size_t min, size_t max)
{
	size_t n = 0;

	while (n < len && n <= max && s[len - n - 1] != '\0' && strchr(set, s[len - n - 1]))
		n++;
	if (n < min || n > max || len - n < 2 || s[len - n - 1] != '-')
		return 0;
	return len - n - 1;
}

size_t kube_owner_len(const char *pod, size_t len)
{
	size_t without_random = cut_suffix(pod, len, SAFE_CHARS, 5, 5);
	size_t without_hash;

	if (without_random == 0)
		return cut_suffix(pod, len, DIGITS, 1, len);
	without_hash = cut_suffix(pod, without_random, HEX_DIGITS, 1, 10);
	return without_hash ? without_hash : without_random;
}

bool kube_part_is_valid(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len == 0 || len >= KUBE_PART_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] >= 0x7f || s[i] == '/')
			return false;
	return true;
}

/* Returns the length of a static pod's name without "-<node>", or its whole length. */
static size_t without_node(const char *pod, const char *node)
{
	size_t len = strlen(pod), n = node ? strlen(node) : 0;

	if (n > 0 && len > n + 1 && pod[len - n - 1] == '-' && strcmp(pod + len - n, node) == 0)
		return len - n - 1;
	return len;
}

void kube_owner_name(char ret[static KUBE_PART_BYTES], const char *kind, const char *name,
		     const char *pod)
{
	size_t len = 0;

	ret[0] = '\0';
	if (!kind || !kube_part_is_valid(name))
		return;
	if (strcmp(kind, "Node") == 0) {
		if (kube_part_is_valid(pod))
			snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)without_node(pod, name), pod);
		return;
	}
	if (strcmp(kind, "ReplicaSet") == 0)
		len = cut_suffix(name, strlen(name), HEX_DIGITS, 1, KUBE_PART_BYTES);
	else if (strcmp(kind, "Job") == 0)
		len = cut_suffix(name, strlen(name), DIGITS, 1, KUBE_PART_BYTES);
	snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)(len ? len : strlen(name)), name);
}

/* Returns the length of the cron job's name if Coroot takes the pod for one of its, else 0. */
static size_t cron_job_len(const char *pod, int64_t now_s)
{
	size_t with_time = cut_suffix(pod, strlen(pod), SAFE_CHARS, 5, 5);
	size_t len = with_time ? cut_suffix(pod, with_time, DIGITS, CRON_DIGITS, CRON_DIGITS) : 0;
	int64_t minutes = 0, age_s;

	if (len == 0)
		return 0;
	for (size_t i = len + 1; i < with_time; i++)
		minutes = minutes * 10 + (pod[i] - '0');
	age_s = now_s - minutes * 60;
	return age_s > -CRON_WINDOW_S && age_s < CRON_WINDOW_S ? len : 0;
}

static bool has(const char *s)
{
	return s && s[0];
}

static int check(const struct kube_pod *p)
{
	return kube_part_is_valid(p->namespace) && kube_part_is_valid(p->pod) &&
			       (!has(p->container) || kube_part_is_valid(p->container)) &&
			       (!has(p->owner) || kube_part_is_valid(p->owner))
		       ? 0
		       : -EINVAL;
}

static bool has_only(const char *s, size_t len, const char *set)
{
	return strspn(s, set) >= len;
}

static bool coroot_knows_owner(const struct kube_pod *p, size_t owner_len)
{
	return owner_len > 0 && has_only(p->pod, owner_len, COROOT_CHARS) &&
	       has_only(p->namespace, strlen(p->namespace), COROOT_CHARS);
}

int kube_service_name(char ret[static KUBE_NAME_BYTES], const struct kube_pod *p,
		      enum kube_naming naming, int64_t now_s)
{
	bool is_coroot = naming == KUBE_NAMING_COROOT && has(p->container);
	const char *owner = p->pod;
	size_t len;
	int r = check(p);

	if (r < 0)
		return r;
	len = kube_owner_len(p->pod, strlen(p->pod));
	if (is_coroot && (!coroot_knows_owner(p, len) || cron_job_len(p->pod, now_s) > 0))
		return kube_container_id(ret, p, naming, now_s);
	if (len == 0 || (p->is_static && !is_coroot)) {
		owner = has(p->owner) ? p->owner : p->pod;
		len = has(p->owner) ? strlen(owner) : without_node(owner, p->node);
	}
	snprintf(ret, KUBE_NAME_BYTES, "/k8s/%s/%.*s", p->namespace, (int)len, owner);
	return 0;
}

int kube_container_id(char ret[static KUBE_NAME_BYTES], const struct kube_pod *p,
		      enum kube_naming naming, int64_t now_s)
{
	size_t cron_len;
	int r = check(p);

	if (r == 0 && !has(p->container))
		r = -EINVAL;
	if (r < 0)
		return r;
	cron_len = naming == KUBE_NAMING_COROOT ? cron_job_len(p->pod, now_s) : 0;
	if (cron_len > 0)
		snprintf(ret, KUBE_NAME_BYTES, "/k8s-cronjob/%s/%.*s/%s", p->namespace,
			 (int)cron_len, p->pod, p->container);
	else
		snprintf(ret, KUBE_NAME_BYTES, "/k8s/%s/%s/%s", p->namespace, p->pod, p->container);
	return 0;
}
