/*
 * Taking objects over from Coroot's operator. It writes them by plain updates, and the API server
 * keeps a list of who wrote which field (metadata.managedFields). Server-side apply removes only
 * fields that the same manager applied before, so "privileged: true" and the host's mounts of
 * upstream's DaemonSet would stay. If upstream's entry is rewritten to be an earlier apply of ours,
 * the next apply removes what we do not have. This is what kubectl does when it changes from
 * client-side to server-side apply (k8s.io/client-go/util/csaupgrade).
 *
 * Entries of controllers stay: only those that wrote the label managed-by are taken.
 */
#include "cluster-agent/operator/reconcile/reconcile_patch.h"

#include <errno.h>

#include "cluster-agent/operator/objects/object_facts.h"
#include "cluster-agent/operator/objects/object_requests.h"
#include "cluster-agent/operator/spec/spec_values.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

/* ---- finalizers ---- */

bool reconcile_patch_has_finalizer(const json_t *resource)
{
	const json_t *list = json_object_get(json_object_get(resource, "metadata"), "finalizers");
	const json_t *f;
	size_t i;

	json_array_foreach (list, i, f)
		if (json_is_string(f) && strcmp(json_string_value(f), RECONCILE_FINALIZER) == 0)
			return true;
	return false;
}

json_t *reconcile_patch_finalizers(const json_t *resource, bool add)
{
	const json_t *metadata = json_object_get(resource, "metadata");
	json_t *list = json_array();
	json_t *f;
	size_t i;
	int r = list ? 0 : -1;

	json_array_foreach (json_object_get(metadata, "finalizers"), i, f)
		if (strcmp(json_string_value(f) ? json_string_value(f) : "", RECONCILE_FINALIZER) !=
		    0)
			r |= json_array_append(list, f);
	if (add)
		r |= json_array_append_new(list, json_string(RECONCILE_FINALIZER));
	if (r < 0) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:{s:s s:o}}", "metadata", "resourceVersion",
			 text_of(metadata, "resourceVersion"), "finalizers", list);
}

/* ---- who wrote an object ---- */

static bool is_applied_by_us(const json_t *entry)
{
	return strcmp(text_of(entry, "manager"), OBJECT_FIELD_MANAGER) == 0 &&
	       strcmp(text_of(entry, "operation"), "Apply") == 0;
}

/* An update, not of the status, that set the label. */
static bool is_upstreams(const json_t *entry)
{
	const json_t *fields = json_object_get(entry, "fieldsV1");
	const json_t *labels = json_object_get(json_object_get(fields, "f:metadata"), "f:labels");

	return strcmp(text_of(entry, "operation"), "Update") == 0 &&
	       !text_of(entry, "subresource")[0] &&
	       json_object_get(labels, "f:app.kubernetes.io/managed-by");
}

static bool is_owned_by(const json_t *metadata, const char *uid)
{
	const json_t *ref;
	size_t i;

	json_array_foreach (json_object_get(metadata, "ownerReferences"), i, ref)
		if (strcmp(text_of(ref, "uid"), uid) == 0)
			return true;
	return false;
}

enum object_holder reconcile_patch_holder(const json_t *object, const char *uid)
{
	const json_t *metadata = json_object_get(object, "metadata");
	bool applied = false, updated = false;
	struct object_facts f;
	const json_t *entry;
	size_t i;

	object_facts_read(&f, object);
	if (!f.managed && strcmp(f.owner, uid) != 0 && !is_owned_by(metadata, uid))
		return OBJECT_HOLDER_FOREIGN;
	json_array_foreach (json_object_get(metadata, "managedFields"), i, entry) {
		applied |= is_applied_by_us(entry);
		updated |= is_upstreams(entry);
	}
	return updated && !applied ? OBJECT_HOLDER_UPSTREAM : OBJECT_HOLDER_OURS;
}

/* ---- taking over ---- */

/* Adds the members of from to those of to, at all depths: sets of fields are empty objects. */
static int unite(json_t *to, json_t *from)
{
	json_t *value, *there;
	const char *key;
	int r = 0;

	json_object_foreach (from, key, value) {
		there = json_object_get(to, key);
		if (!there) {
			there = json_object();
			if (json_object_set_new(to, key, there) < 0)
				return -ENOMEM;
		}
		r = unite(there, value);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The entries that stay, and the fields of those that are taken. */
static int part_entries(const json_t *entries, json_t *kept, json_t *fields, const char **time)
{
	json_t *entry;
	size_t i;
	int r = 0;

	json_array_foreach (entries, i, entry) {
		if (is_upstreams(entry)) {
			*time = text_of(entry, "time");
			r = unite(fields, json_object_get(entry, "fieldsV1"));
		} else if (json_array_append(kept, entry) < 0) {
			r = -ENOMEM;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

json_t *reconcile_patch_take_over(const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	json_t *kept = json_array(), *fields = json_object(), *ours;
	const char *time = "";

	if (!kept || !fields ||
	    part_entries(json_object_get(metadata, "managedFields"), kept, fields, &time) < 0) {
		json_decref(kept);
		json_decref(fields);
		return NULL;
	}
	ours = json_pack("{s:s s:s s:s s:s s:s s:o}", "manager", OBJECT_FIELD_MANAGER, "operation",
			 "Apply", "apiVersion", text_of(object, "apiVersion"), "time", time,
			 "fieldsType", "FieldsV1", "fieldsV1", fields);
	if (json_array_append_new(kept, ours) < 0) {
		json_decref(kept);
		return NULL;
	}
	return json_pack("{s:{s:s s:o}}", "metadata", "resourceVersion",
			 text_of(metadata, "resourceVersion"), "managedFields", kept);
}

/* ---- claims ---- */

int reconcile_patch_release(json_t **ret, const json_t *object, const char *uid)
{
	const json_t *metadata = json_object_get(object, "metadata");
	json_t *others = json_array(), *ref;
	size_t i;
	int r = others ? 0 : -1;

	*ret = NULL;
	if (!is_owned_by(metadata, uid)) {
		json_decref(others);
		return 0;
	}
	json_array_foreach (json_object_get(metadata, "ownerReferences"), i, ref) {
		if (strcmp(text_of(ref, "uid"), uid) != 0)
			r |= json_array_append(others, ref);
	}
	if (r < 0) {
		json_decref(others);
		return -ENOMEM;
	}
	*ret = json_pack("{s:{s:s s:o}}", "metadata", "resourceVersion",
			 text_of(metadata, "resourceVersion"), "ownerReferences", others);
	return *ret ? 0 : -ENOMEM;
}

static json_t *requests_of(const json_t *claim)
{
	const json_t *spec = json_object_get(claim, "spec");

	return json_object_get(json_object_get(spec, "resources"), "requests");
}

int reconcile_patch_keep_size(json_t *claim, const json_t *there)
{
	json_t *old = json_object_get(requests_of(there), "storage");
	json_t *requests = requests_of(claim);
	double old_bytes, new_bytes;

	if (spec_quantity(text_of(requests_of(there), "storage"), &old_bytes) < 0 ||
	    spec_quantity(text_of(requests, "storage"), &new_bytes) < 0 || new_bytes >= old_bytes)
		return 0;
	return json_object_set(requests, "storage", old) < 0 ? -ENOMEM : 0;
}
