/* What a source says about a container → its names. Fields are separated by '|'. */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/container/container_name.h"

#define N_FIELDS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct workload *raw, const struct container_facts *f,
		  enum kube_naming naming)
{
	const struct container_name_rules rules = {naming, "node1", 1767225600};
	struct workload *w;

	if (container_name(&w, raw, f, &rules) < 0)
		return;
	const char *const texts[] = {w->service, w->container_id, w->pod_uid, w->namespace,
				     w->pod,     w->container,    w->image};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert(utf8_is_valid(texts[i], strlen(texts[i])));
		assert(strlen(texts[i]) < KUBE_NAME_BYTES);
		for (const char *p = texts[i]; *p; p++)
			assert((unsigned char)*p >= ' ' && *p != 0x7f);
	}
	assert(w->service[0] == '/' && w->container_id[0] == '/');
	assert(container_facts_have_name(f) || strcmp(w->container_id, raw->container_id) == 0);
	workload_unref(w);
}

/* All fields but the pod's name are labels as well. */
static void check_owner(const char *pod, const char *const fields[static N_FIELDS])
{
	struct kube_labels labels = {0};
	char owner[KUBE_PART_BYTES];

	for (size_t i = 0; i < KUBE_LABEL_MAX; i++)
		labels.values[i] = fields[(5 + i) % N_FIELDS];
	kube_owner_by_labels(owner, pod, &labels);
	assert(owner[0] == '\0' || kube_part_is_valid(owner));
	assert(kube_owner_len(pod, strlen(pod)) <= strlen(pod));
	kube_owner_name(owner, "ReplicaSet", fields[6], pod, &labels);
	assert((owner[0] != '\0') == kube_part_is_valid(fields[6]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct workload_facts facts = {
		.exe = "",
		.cgroup = {.kind = size > 0 && data[0] % 2 ? CGROUP_DOCKER : CGROUP_KUBEPODS,
			   .id = "0123456789abcdef"},
	};
	char *text = strndup((const char *)data, size), *rest = text;
	const char *fields[N_FIELDS];
	struct workload *raw;

	if (!text)
		return 0;
	for (size_t i = 0; i < N_FIELDS; i++)
		fields[i] = strsep(&rest, "|");
	if (fields[4])
		check_owner(fields[4], fields);
	if (workload_new(&raw, &facts) == 0) {
		const struct container_facts f = {
			.name = fields[0],
			.runtime = fields[1],
			.image = fields[2],
			.namespace = fields[3],
			.pod = fields[4],
			.pod_uid = fields[5],
			.owner = fields[6],
			.path = fields[7],
			.sandbox = size % 3 == 0,
		};

		check(raw, &f, KUBE_NAMING_OWN);
		check(raw, &f, KUBE_NAMING_COROOT);
		workload_unref(raw);
	}
	free(text);
	return 0;
}
