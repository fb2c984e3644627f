/* Any JSON as a Pod: containers have ids, and names that can be part of a path. */
#include "common/text/kube_names.h"
#include "node-agent/container/pod_facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *ctx, const struct container_facts *f)
{
	unsigned *n = ctx;

	(*n)++;
	if (!kube_part_is_valid(f->id) || !kube_part_is_valid(f->name) ||
	    !kube_part_is_valid(f->namespace) || !kube_part_is_valid(f->pod) ||
	    !kube_part_is_valid(f->pod_uid) || !kube_part_is_valid(f->owner))
		abort();
	if (f->image && !f->image[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *pod = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	unsigned n = 0;
	int r = pod_facts_each(pod, check, &n);

	if (r > (int)POD_FACTS_MAX || (r < 0 && n > 0) || (r >= 0 && (unsigned)r != n))
		abort();
	json_decref(pod);
	return 0;
}
