#include "cluster-agent/operator/objects/object_facts.h"

#include <errno.h>

#include "cluster-agent/operator/render/rendered.h"
#include "common/data/table.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static const char *find_owner(const json_t *metadata)
{
	const char *label = text_of(json_object_get(metadata, "labels"), OBJECT_OWNER_LABEL);
	const json_t *refs = json_object_get(metadata, "ownerReferences");
	const json_t *ref;
	size_t i;

	if (label[0])
		return label;
	json_array_foreach (refs, i, ref)
		if (strcmp(text_of(ref, "kind"), "Coroot") == 0 &&
		    strncmp(text_of(ref, "apiVersion"), "coroot.com/", 11) == 0)
			return text_of(ref, "uid");
	return "";
}

void object_facts_read(struct object_facts *ret, const json_t *object)
{
	const json_t *m = json_object_get(object, "metadata");
	const char *managed_by =
		text_of(json_object_get(m, "labels"), "app.kubernetes.io/managed-by");

	*ret = (struct object_facts){
		.namespace = text_of(m, "namespace"),
		.name = text_of(m, "name"),
		.uid = text_of(m, "uid"),
		.version = text_of(m, "resourceVersion"),
		.owner = find_owner(m),
		.labelled = text_of(json_object_get(m, "labels"), OBJECT_OWNER_LABEL)[0] != '\0',
		.managed = strcmp(managed_by, OBJECT_MANAGED_BY) == 0,
		.deleting = text_of(m, "deletionTimestamp")[0] != '\0',
	};
}

static int feed(const char *text, size_t len, void *state)
{
	return XXH3_64bits_update(state, text, len) == XXH_OK ? 0 : -1;
}

static int digest(const json_t *value, uint64_t *ret)
{
	XXH3_state_t *state = XXH3_createState();
	int r = -ENOMEM;

	if (!state)
		return r;
	XXH3_64bits_reset_withSeed(state, table_seed);
	if (!value || json_dump_callback(value, feed, state,
					 JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) == 0) {
		*ret = XXH3_64bits_digest(state);
		r = 0;
	}
	XXH3_freeState(state);
	return r;
}

/* A copy of object, which shares its members, without those keys. */
static json_t *copy_without(json_t *object, const char *const *keys)
{
	json_t *copy = json_object(), *value;
	const char *key;

	json_object_foreach (object, key, value) {
		bool skip = false;

		for (size_t i = 0; keys[i]; i++)
			skip |= strcmp(keys[i], key) == 0;
		if (!skip && json_object_set(copy, key, value) < 0) {
			json_decref(copy);
			return NULL;
		}
	}
	return copy;
}

int object_digest(const json_t *object, uint64_t *ret)
{
	/* lists show their items without kind and apiVersion */
	static const char *const outer[] = {"status", "kind", "apiVersion", NULL};
	static const char *const inner[] = {"resourceVersion", "managedFields", "generation", NULL};
	json_t *shared = object ? json_pack("O", object) : NULL; /* one that can be iterated */
	json_t *copy = copy_without(shared, outer);
	json_t *metadata = copy_without(json_object_get(object, "metadata"), inner);
	int r = -ENOMEM;

	if (json_object_set_new(copy, "metadata", metadata) == 0)
		r = digest(copy, ret);
	json_decref(copy);
	json_decref(shared);
	return r;
}

int object_status_digest(const json_t *object, uint64_t *ret)
{
	return digest(json_object_get(object, "status"), ret);
}

const json_t *object_condition(const json_t *status, const char *type)
{
	const json_t *c;
	size_t i;

	json_array_foreach (json_object_get(status, "conditions"), i, c)
		if (strcmp(text_of(c, "type"), type) == 0)
			return c;
	return NULL;
}

static int64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

bool workload_state_read(struct workload_state *ret, enum object_kind kind, const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const json_t *status = json_object_get(object, "status");
	const json_t *spec = json_object_get(object, "spec");
	const json_t *replicas = json_object_get(spec, "replicas");
	bool is_daemon_set = kind == OBJECT_DAEMON_SET;

	if (!is_daemon_set && kind != OBJECT_DEPLOYMENT && kind != OBJECT_STATEFUL_SET)
		return false;
	*ret = (struct workload_state){
		.kind = kind,
		.name = text_of(metadata, "name"),
		.wanted = replicas ? json_integer_value(replicas) : 1,
		.ready = number_of(status, is_daemon_set ? "numberReady" : "readyReplicas"),
		.updated = number_of(status,
				     is_daemon_set ? "updatedNumberScheduled" : "updatedReplicas"),
		.observed = number_of(status, "observedGeneration") >=
			    number_of(metadata, "generation"),
		.by_hand = strcmp(text_of(json_object_get(spec, "updateStrategy"), "type"),
				  "OnDelete") == 0,
	};
	if (is_daemon_set) {
		ret->wanted = number_of(status, "desiredNumberScheduled");
		ret->nowhere = ret->observed && ret->wanted == 0;
	}
	return true;
}

bool workload_lacks_pods(const struct workload_state *w)
{
	return w->observed && w->ready < w->wanted;
}

bool workload_is_ready(const struct workload_state *w)
{
	return w->observed && !w->nowhere && w->ready >= w->wanted;
}
