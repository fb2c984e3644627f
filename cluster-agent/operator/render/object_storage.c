#include "cluster-agent/operator/render/object_storage.h"

#include <errno.h>

#include "cluster-agent/operator/render/object_parts.h"

json_t *object_annotations(const json_t *user, json_t *ours)
{
	json_t *all = user ? json_deep_copy(user) : json_object();

	if (all && ours && json_object_update(all, ours) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

json_t *object_claim_spec(const struct coroot_storage *storage)
{
	json_t *spec = json_pack("{s:[s] s:{s:{s:s}}}", "accessModes", "ReadWriteOnce", "resources",
				 "requests", "storage", storage->size);

	if (spec && object_set_text(spec, "storageClassName", storage->class_name) < 0) {
		json_decref(spec);
		return NULL;
	}
	return spec;
}

static json_t *claim_metadata(const struct object_stateful_set *set, int64_t ordinal)
{
	const struct coroot_storage *storage = set->storage;
	json_t *annotations = object_annotations(storage->annotations, set->annotations);
	json_t *metadata = annotations ? object_metadata(set->spec, set->component, NULL,
							 annotations, !storage->retain)
				       : NULL;
	json_t *name = json_sprintf(OBJECT_DATA_VOLUME "-%s-%s-%lld", set->spec->name, set->suffix,
				    (long long)ordinal);

	json_decref(annotations);
	if (json_object_set_new(metadata, "name", name) < 0) {
		json_decref(metadata);
		return NULL;
	}
	return metadata;
}

static json_t *set_spec(const struct object_stateful_set *set, json_t *pod_template)
{
	json_t *spec =
		json_pack("{s:I s:s s:{s:o} s:o s:[{s:{s:s} s:o}]}", "replicas",
			  (json_int_t)set->replicas, "podManagementPolicy", "Parallel", "selector",
			  "matchLabels", object_selector_labels(set->spec, set->component),
			  "template", pod_template, "volumeClaimTemplates", "metadata", "name",
			  OBJECT_DATA_VOLUME, "spec", object_claim_spec(set->storage));

	if (spec && set->service &&
	    object_set_made(spec, "serviceName", object_name(set->spec, set->service)) < 0) {
		json_decref(spec);
		return NULL;
	}
	return spec;
}

int object_add_stateful_set(struct rendered *out, const struct object_stateful_set *set,
			    json_t *pod_template)
{
	int r = 0;

	for (int64_t i = 0; r == 0 && i < set->replicas; i++)
		r = rendered_add(out, OBJECT_PERSISTENT_VOLUME_CLAIM,
				 json_pack("{s:o s:o}", "metadata", claim_metadata(set, i), "spec",
					   object_claim_spec(set->storage)));
	if (r < 0) {
		json_decref(pod_template);
		return r;
	}
	return rendered_add(out, OBJECT_STATEFUL_SET,
			    json_pack("{s:o s:o}", "metadata",
				      object_metadata(set->spec, set->component, set->suffix,
						      set->annotations, true),
				      "spec", set_spec(set, pod_template)));
}

int object_add_disruption_budget(struct rendered *out, const struct coroot_spec *s,
				 const char *component, const char *suffix, int64_t n_pods)
{
	if (n_pods < 2)
		return 0;
	return rendered_add(out, OBJECT_POD_DISRUPTION_BUDGET,
			    json_pack("{s:o s:{s:i s:{s:o}}}", "metadata",
				      object_metadata(s, component, suffix, NULL, true), "spec",
				      "maxUnavailable", 1, "selector", "matchLabels",
				      object_selector_labels(s, component)));
}
