#include "cluster-agent/otlp/otlp_resource.h"

#include <errno.h>
#include <inttypes.h>

#include "common/text/kube_names.h"
#include "common/text/utf8.h"

#define UNKNOWN_SERVICE "unknown_service"
#define MAX_NAME_BYTES 256u

/* Attributes that decide about names, beside being labels. */
enum known {
	SERVICE,
	NAMESPACE,
	POD,
	CONTAINER,
	DEPLOYMENT,
	STATEFULSET,
	DAEMONSET,
	CRONJOB,
	JOB,
	NODE,
	HOST,
	CONTAINER_NAME,
	EXECUTABLE,
	SDK,
	DISTRIBUTION,
	LANGUAGE,
	RUNTIME,
	N_KNOWN,
};

static const char *const known_names[N_KNOWN] = {
	[SERVICE] = "service.name",
	[NAMESPACE] = "k8s.namespace.name",
	[POD] = "k8s.pod.name",
	[CONTAINER] = "k8s.container.name",
	[DEPLOYMENT] = "k8s.deployment.name",
	[STATEFULSET] = "k8s.statefulset.name",
	[DAEMONSET] = "k8s.daemonset.name",
	[CRONJOB] = "k8s.cronjob.name",
	[JOB] = "k8s.job.name",
	[NODE] = "k8s.node.name",
	[HOST] = "host.name",
	[CONTAINER_NAME] = "container.name",
	[EXECUTABLE] = "process.executable.name",
	[SDK] = "telemetry.sdk.name",
	[DISTRIBUTION] = "telemetry.distro.name",
	[LANGUAGE] = "telemetry.sdk.language",
	[RUNTIME] = "process.runtime.name",
};

struct reader {
	struct arena *arena;
	const struct otlp_dictionary *d;
	struct row_text known[N_KNOWN]; /* data is NUL-terminated, or NULL */
	struct row_label labels[OTLP_RESOURCE_MAX_LABELS];
	size_t n_labels;
};

struct row_text otlp_resource_text(struct arena *arena, struct otlp_bytes b, size_t max)
{
	size_t len = b.len < max ? b.len : max;
	char *s = arena_strndup(arena, b.data ? (const char *)b.data : "", len);

	if (!s)
		return (struct row_text){.data = NULL};
	return (struct row_text){.data = s, .len = utf8_make_printable(s, len)};
}

static bool is(const struct row_text *t, const char *s)
{
	return t->len == strlen(s) && memcmp(t->data, s, t->len) == 0;
}

static bool begins(const struct row_text *t, const char *s)
{
	return t->len >= strlen(s) && memcmp(t->data, s, strlen(s)) == 0;
}

/* The text of a value; its data is NULL if it has none, or if there is no memory (*ret_error). */
static struct row_text text_of(struct reader *r, const struct otlp_value *v, int *ret_error)
{
	struct row_text t = {.data = NULL};
	struct otlp_bytes bytes = v->bytes;
	char number[32];

	switch (v->kind) {
	case OTLP_VALUE_STRINDEX:
		bytes = otlp_dictionary_string(r->d, (int32_t)v->number);
		break;
	case OTLP_VALUE_STRING:
		break;
	case OTLP_VALUE_BOOL:
		bytes = (struct otlp_bytes){(const uint8_t *)(v->number ? "true" : "false"),
					    v->number ? 4 : 5};
		break;
	case OTLP_VALUE_INT:
		bytes = (struct otlp_bytes){
			(const uint8_t *)number,
			(size_t)snprintf(number, sizeof(number), "%" PRId64, v->number)};
		break;
	case OTLP_VALUE_DOUBLE:
		bytes = (struct otlp_bytes){
			(const uint8_t *)number,
			(size_t)snprintf(number, sizeof(number), "%.15g", v->real)};
		break;
	default:
		return t;
	}
	t = otlp_resource_text(r->arena, bytes, OTLP_RESOURCE_VALUE_BYTES);
	if (!t.data)
		*ret_error = -ENOMEM;
	return t;
}

static bool is_hidden(const struct row_text *name)
{
	return is(name, known_names[SERVICE]) || begins(name, "telemetry.") ||
	       begins(name, "process.command");
}

static void add_label(struct reader *r, const struct row_text *name, const struct row_text *value)
{
	if (r->n_labels == OTLP_RESOURCE_MAX_LABELS || name->len == 0 || value->len == 0 ||
	    is_hidden(name))
		return;
	for (size_t i = 0; i < r->n_labels; i++)
		if (r->labels[i].name.len == name->len &&
		    memcmp(r->labels[i].name.data, name->data, name->len) == 0)
			return;
	r->labels[r->n_labels++] = (struct row_label){*name, *value};
}

static int add_attribute(struct reader *r, const struct otlp_attribute *a)
{
	struct otlp_bytes key =
		a->key.len > 0 ? a->key : otlp_dictionary_string(r->d, a->key_strindex);
	struct row_text name, value;
	int e = 0;

	value = text_of(r, &a->value, &e);
	if (!value.data)
		return e;
	name = otlp_resource_text(r->arena, key, MAX_NAME_BYTES);
	if (!name.data)
		return -ENOMEM;
	for (int i = 0; i < N_KNOWN; i++)
		if (is(&name, known_names[i]) && !r->known[i].data)
			r->known[i] = value;
	add_label(r, &name, &value);
	return 0;
}

static int read_attributes(struct reader *r, struct otlp_bytes message)
{
	struct wire_reader w = otlp_reader(message);
	struct wire_field f;
	int e;

	while ((e = otlp_next(&w, OTLP_RESOURCE_ATTRIBUTES, &f)) > 0) {
		struct otlp_attribute a;

		if (otlp_read_key_value((struct otlp_bytes){f.data, f.len}, &a) < 0)
			return -EBADMSG;
		e = add_attribute(r, &a);
		if (e < 0)
			return e;
	}
	return e;
}

/* ---- the service ---- */

static const char *owner_of(const struct reader *r, char job[static KUBE_PART_BYTES])
{
	for (int i = DEPLOYMENT; i < JOB; i++)
		if (r->known[i].len > 0)
			return r->known[i].data;
	kube_owner_name(job, "Job", r->known[JOB].data, NULL, NULL);
	return job;
}

/* False if the pod is not known, or its name cannot be one. */
static bool kube_service(const struct reader *r, char ret[static KUBE_NAME_BYTES])
{
	char job[KUBE_PART_BYTES];
	const struct kube_pod pod = {
		.namespace = r->known[NAMESPACE].data,
		.pod = r->known[POD].data,
		.container = r->known[CONTAINER].data,
		.owner = owner_of(r, job),
		.node = r->known[NODE].data,
	};

	if (!pod.namespace || !kube_part_is_valid(pod.namespace))
		return false;
	if (pod.pod && pod.pod[0])
		return kube_service_name(ret, &pod, KUBE_NAMING_OWN, 0) == 0;
	if (!pod.owner || !kube_part_is_valid(pod.owner))
		return false;
	snprintf(ret, KUBE_NAME_BYTES, "/k8s/%s/%s", pod.namespace, pod.owner);
	return true;
}

static int name_service(struct reader *r, struct otlp_resource *ret)
{
	const struct row_text *named = &r->known[SERVICE];
	char kube[KUBE_NAME_BYTES];

	ret->unnamed = named->len > 0 ? *named
				      : (struct row_text){UNKNOWN_SERVICE, strlen(UNKNOWN_SERVICE)};
	if (named->len > 0 && !begins(named, UNKNOWN_SERVICE)) {
		ret->service = *named;
	} else if (kube_service(r, kube)) {
		char *s = arena_strndup(r->arena, kube, strlen(kube));

		if (!s)
			return -ENOMEM;
		ret->service = (struct row_text){s, strlen(s)};
	} else if (r->known[CONTAINER_NAME].len > 0) {
		ret->service = r->known[CONTAINER_NAME];
	} else {
		ret->service = r->known[EXECUTABLE];
	}
	return 0;
}

static enum foreign_source source_of(const struct reader *r)
{
	enum foreign_source s = FOREIGN_ANY;

	/* the language of a process does not say who profiled it */
	for (int i = SDK; i <= DISTRIBUTION; i++)
		if (r->known[i].data &&
		    foreign_source_find(r->known[i].data, r->known[i].len) == FOREIGN_EBPF)
			return FOREIGN_EBPF;
	for (int i = LANGUAGE; i <= RUNTIME && s == FOREIGN_ANY; i++)
		if (r->known[i].data)
			s = foreign_source_find(r->known[i].data, r->known[i].len);
	return s;
}

static int make(struct reader *r, struct otlp_resource *ret)
{
	struct row_label *labels = arena_alloc(r->arena, (r->n_labels + 1) * sizeof(*labels));
	int e;

	if (!labels)
		return -ENOMEM;
	memcpy(labels, r->labels, r->n_labels * sizeof(*labels));
	*ret = (struct otlp_resource){
		.host = r->known[HOST].len > 0 ? r->known[HOST] : r->known[NODE],
		.labels = labels,
		.n_labels = r->n_labels,
		.source = source_of(r),
	};
	e = name_service(r, ret);
	return e;
}

int otlp_resource_read(struct otlp_resource *ret, struct arena *arena,
		       const struct otlp_dictionary *d, struct otlp_bytes message, struct err *err)
{
	struct reader r = {.arena = arena, .d = d};
	int e = read_attributes(&r, message);

	if (e == 0)
		e = make(&r, ret);
	if (e == -EBADMSG)
		return err_set(err, e, "not a valid OTLP request: broken attribute of a resource");
	/* the arena's limit, or no memory */
	if (e == -ENOMEM)
		e = arena_error(arena, OTLP_RESOURCE_VALUE_BYTES);
	return e == -EFBIG ? err_set(err, e, "the request takes too much memory") : e;
}
