#include "common/text/kube_names.h"

#include <errno.h>

/* The alphabet of Kubernetes' random suffixes; without vowels, so that they spell no words. */
#define SAFE_CHARS "bcdfghjklmnpqrstvwxz2456789"
#define DIGITS "0123456789"
#define HEX_DIGITS DIGITS "abcdef"
#define COROOT_CHARS DIGITS "abcdefghijklmnopqrstuvwxyz-"

#define RANDOM_CHARS 5
#define HASH_MIN_CHARS 8
#define HASH_MAX_CHARS 10
/* Names are made of as much of the owner's as leaves room for the random part. */
#define GENERATED_CHARS 63
/* Of a Job with a longer name, its pods have at least so much. */
#define JOB_CHARS 40

/*
 * A cron job's pods are <name>-<minutes since the epoch>-xxxxx. Kubernetes before 1.21 had seconds
 * there, which nobody can tell from a number in a Job's own name.
 */
#define CRON_DIGITS 8
#define CRON_WINDOW_S (7 * 24 * 3600)

const char *const kube_label_keys[KUBE_LABEL_MAX] = {
	[KUBE_LABEL_TEMPLATE_HASH] = "pod-template-hash",
	[KUBE_LABEL_ROLLOUT_HASH] = "rollouts-pod-template-hash",
	[KUBE_LABEL_DEPLOYMENT_CONFIG] = "deploymentconfig",
	[KUBE_LABEL_JOB] = "batch.kubernetes.io/job-name",
	[KUBE_LABEL_OLD_JOB] = "job-name",
	[KUBE_LABEL_STATEFUL_POD] = "statefulset.kubernetes.io/pod-name",
	[KUBE_LABEL_REVISION] = "controller-revision-hash",
};

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

static size_t without_random(const char *pod, size_t len)
{
	return cut_suffix(pod, len, SAFE_CHARS, RANDOM_CHARS, RANDOM_CHARS);
}

/* Coroot's rules: see the header. */
static size_t coroot_owner_len(const char *pod, size_t len)
{
	size_t base = without_random(pod, len);
	size_t n = base ? cut_suffix(pod, base, HEX_DIGITS, 1, HASH_MAX_CHARS) : 0;

	if (base == 0)
		return cut_suffix(pod, len, DIGITS, 1, len);
	return n ? n : base;
}

size_t kube_owner_len(const char *pod, size_t len)
{
	size_t base = without_random(pod, len), n;

	if (base == 0)
		return cut_suffix(pod, len, DIGITS, 1, len);
	n = cut_suffix(pod, base, SAFE_CHARS, HASH_MIN_CHARS, HASH_MAX_CHARS);
	if (n == 0)
		n = cut_suffix(pod, base, DIGITS, CRON_DIGITS, CRON_DIGITS);
	return n ? n : base;
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

static bool has(const char *s)
{
	return s && s[0];
}

/* Returns the length of s without "-<end>", or 0 if it does not end so or is nothing else. */
static size_t cut_end(const char *s, size_t len, const char *end)
{
	size_t n = has(end) ? strlen(end) : 0;

	if (n == 0 || len < n + 2 || s[len - n - 1] != '-' || memcmp(s + len - n, end, n) != 0)
		return 0;
	return len - n - 1;
}

/* Returns the length of a static pod's name without "-<node>", or its whole length. */
static size_t without_node(const char *pod, const char *node)
{
	size_t len = strlen(pod), n = cut_end(pod, len, node);

	return n ? n : len;
}

/* The pod's name, of len bytes without its random part, lacks a part of the hash for its length. */
static size_t cut_half_hash(const char *pod, size_t len, const char *hash)
{
	char part[HASH_MAX_CHARS + 1];

	for (size_t n = strnlen(hash, HASH_MAX_CHARS); n > 0; n--) {
		snprintf(part, sizeof(part), "%.*s", (int)n, hash);
		if (cut_end(pod, len, part) > 0)
			return cut_end(pod, len, part);
	}
	return 0;
}

static size_t job_owner_len(const char *job)
{
	size_t len = strlen(job), n = cut_suffix(job, len, DIGITS, CRON_DIGITS, CRON_DIGITS);

	return n ? n : len;
}

static const char *label(const struct kube_labels *l, enum kube_label i)
{
	return l && l->values[i] ? l->values[i] : "";
}

static bool has_hash(const struct kube_labels *l)
{
	return has(label(l, KUBE_LABEL_TEMPLATE_HASH)) || has(label(l, KUBE_LABEL_ROLLOUT_HASH));
}

static size_t replica_set_owner_len(const char *name, const struct kube_labels *l)
{
	size_t len = strlen(name), n;

	n = cut_end(name, len, label(l, KUBE_LABEL_TEMPLATE_HASH));
	if (n == 0)
		n = cut_end(name, len, label(l, KUBE_LABEL_ROLLOUT_HASH));
	return n ? n : len;
}

/* The length of config if s, of len bytes, is "<config>-<decimal digits>", else 0. */
static size_t config_len(const char *s, size_t len, const char *config)
{
	size_t n = cut_suffix(s, len, DIGITS, 1, len);

	return n > 0 && n == strlen(config) && memcmp(s, config, n) == 0 ? n : 0;
}

void kube_owner_name(char ret[static KUBE_PART_BYTES], const char *kind, const char *name,
		     const char *pod, const struct kube_labels *labels)
{
	size_t len;

	ret[0] = '\0';
	if (!kind || !kube_part_is_valid(name))
		return;
	if (strcmp(kind, "Node") == 0) {
		if (kube_part_is_valid(pod))
			snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)without_node(pod, name), pod);
		return;
	}
	len = strlen(name);
	if (strcmp(kind, "ReplicaSet") == 0)
		len = replica_set_owner_len(name, labels);
	else if (strcmp(kind, "Job") == 0)
		len = job_owner_len(name);
	else if (strcmp(kind, "ReplicationController") == 0)
		len = config_len(name, len, label(labels, KUBE_LABEL_DEPLOYMENT_CONFIG))
			      ?: strlen(name);
	snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)len, name);
}

static size_t hash_owner_len(const char *pod, size_t len, size_t base, const char *hash)
{
	if (!has(hash))
		return 0;
	if (base > 0)
		return cut_end(pod, base, hash);
	return len == GENERATED_CHARS ? cut_half_hash(pod, len - RANDOM_CHARS, hash) : 0;
}

/*
 * A name of 58 characters and more leaves no room for the dash, nor for a hash, so that its
 * beginning stands for it. Otherwise each pod would be an application.
 */
static size_t cut_owner_len(const char *pod, size_t len)
{
	size_t n = len == GENERATED_CHARS ? len - RANDOM_CHARS : 0;

	return n > 0 && strspn(pod + n, SAFE_CHARS) == RANDOM_CHARS ? n : 0;
}

/* Returns the pod's Job, "" if there is none. An index may be between its name and the rest. */
static const char *job_of(const char *pod, const struct kube_labels *l)
{
	const char *job = label(l, KUBE_LABEL_JOB);
	size_t len;

	if (!job[0])
		job = label(l, KUBE_LABEL_OLD_JOB);
	len = strnlen(job, JOB_CHARS);
	if (!kube_part_is_valid(job) || strncmp(pod, job, len) != 0)
		return "";
	return len == JOB_CHARS || pod[len] == '-' ? job : "";
}

static size_t replica_owner_len(const char *pod, const struct kube_labels *l)
{
	size_t len = strlen(pod), base = without_random(pod, len);
	const char *set = label(l, KUBE_LABEL_STATEFUL_POD);
	size_t n = hash_owner_len(pod, len, base, label(l, KUBE_LABEL_TEMPLATE_HASH));

	if (n == 0)
		n = hash_owner_len(pod, len, base, label(l, KUBE_LABEL_ROLLOUT_HASH));
	if (n == 0 && base > 0)
		n = config_len(pod, base, label(l, KUBE_LABEL_DEPLOYMENT_CONFIG));
	if (n == 0 && set[0])
		return strcmp(set, pod) == 0 ? cut_suffix(pod, len, DIGITS, 1, len) : 0;
	if (n == 0 && has(label(l, KUBE_LABEL_REVISION)))
		n = base;
	if (n == 0 && base == 0 && (has_hash(l) || has(label(l, KUBE_LABEL_REVISION))))
		n = cut_owner_len(pod, len);
	return n;
}

void kube_owner_by_labels(char ret[static KUBE_PART_BYTES], const char *pod,
			  const struct kube_labels *l)
{
	const char *job = job_of(pod, l);

	ret[0] = '\0';
	if (job[0])
		snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)job_owner_len(job), job);
	else if (kube_part_is_valid(pod))
		snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)replica_owner_len(pod, l), pod);
}

/* Returns the length of the cron job's name if Coroot takes the pod for one of its, else 0. */
static size_t cron_job_len(const char *pod, int64_t now_s)
{
	size_t with_time = without_random(pod, strlen(pod));
	size_t len = with_time ? cut_suffix(pod, with_time, DIGITS, CRON_DIGITS, CRON_DIGITS) : 0;
	int64_t minutes = 0, age_s;

	if (len == 0)
		return 0;
	for (size_t i = len + 1; i < with_time; i++)
		minutes = minutes * 10 + (pod[i] - '0');
	age_s = now_s - minutes * 60;
	return age_s > -CRON_WINDOW_S && age_s < CRON_WINDOW_S ? len : 0;
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

/* Returns the length of the owner's name, which *ret_owner begins with. */
static size_t own_owner_len(const struct kube_pod *p, const char **ret_owner)
{
	size_t len;

	*ret_owner = has(p->owner) ? p->owner : p->pod;
	if (has(p->owner))
		return strlen(p->owner);
	len = p->is_static ? 0 : kube_owner_len(p->pod, strlen(p->pod));
	return len ? len : without_node(p->pod, p->node);
}

int kube_service_name(char ret[static KUBE_NAME_BYTES], const struct kube_pod *p,
		      enum kube_naming naming, int64_t now_s)
{
	const char *owner = p->pod;
	size_t len;
	int r = check(p);

	if (r < 0)
		return r;
	if (naming == KUBE_NAMING_COROOT && has(p->container)) {
		len = coroot_owner_len(p->pod, strlen(p->pod));
		if (!coroot_knows_owner(p, len) || cron_job_len(p->pod, now_s) > 0)
			return kube_container_id(ret, p, naming, now_s);
	} else {
		len = own_owner_len(p, &owner);
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

/* ---- names of objects ---- */

#define MAX_LABEL_BYTES 63
#define MAX_SUBDOMAIN_BYTES 253

static bool is_label(const char *s, size_t len)
{
	if (len == 0 || len > MAX_SUBDOMAIN_BYTES || s[0] == '-' || s[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '-'))
			return false;
	return true;
}

bool kube_name_is_label(const char *s)
{
	size_t len = strlen(s);

	return len <= MAX_LABEL_BYTES && is_label(s, len);
}

bool kube_name_is_subdomain(const char *s)
{
	if (strlen(s) > MAX_SUBDOMAIN_BYTES)
		return false;
	for (;;) {
		size_t len = strcspn(s, ".");

		if (!is_label(s, len))
			return false;
		if (!s[len])
			return true;
		s += len + 1;
	}
}
