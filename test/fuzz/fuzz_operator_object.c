/*
 * Any JSON as an object of the API server, or as a Coroot resource with a status: what is read of
 * it can be used, and patches made of it are JSON. Without managed fields of upstream, taking an
 * object over leaves its entries and adds ours.
 */
#include <assert.h>

#include "cluster-agent/operator/objects/object_answer.h"
#include "cluster-agent/operator/objects/object_table.h"
#include "cluster-agent/operator/objects/pod_status.h"
#include "cluster-agent/operator/reconcile/reconcile_patch.h"
#include "cluster-agent/operator/reconcile/reconcile_status.h"
#include "cluster-agent/operator/reconcile/secret_maker.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT);

	assert(v && text);
	free(text);
	json_decref(v);
}

static void check_patches(const json_t *o)
{
	const struct spec_problem_list none = {0};
	struct workload_state w = {.kind = OBJECT_DAEMON_SET, .name = "a"};
	const struct reconcile_status_input in = {o, &none, &none, &none, &w, 1, 0, 0};
	json_t *status;

	(void)secret_maker_has(o, "key");
	(void)reconcile_patch_has_finalizer(o);
	(void)reconcile_patch_holder(o, "u");
	if (workload_state_read(&w, OBJECT_DAEMON_SET, o))
		assert(w.name);
	assert(reconcile_status_make(&status, &in) == 0);
	if (status)
		check_json(status);
	check_json(reconcile_patch_finalizers(o, true));
	check_json(reconcile_patch_take_over(o));
}

static void check_table(const json_t *o)
{
	struct object_table t = {0};
	struct known_object *k;
	int r = object_table_saw(&t, OBJECT_DEPLOYMENT, o, &k);

	assert(r == OBJECT_APPEARED || !k);
	if (k) {
		assert(k->name && k->namespace && k->uid && k->owner);
		assert(object_table_saw(&t, OBJECT_DEPLOYMENT, o, &k) == OBJECT_UNCHANGED);
		assert(object_table_wrote(&t, OBJECT_DEPLOYMENT, o) == 0);
	}
	object_table_fini(&t);
}

/* As a pod and as an event: what is said of it fits, and is one line of UTF-8. */
static void check_pod(const json_t *o)
{
	char text[POD_STATUS_BYTES];

	if (pod_status_read(text, o) == POD_READY)
		assert(text[0] == '\0');
	else
		assert(text[0] && utf8_is_valid(text, strlen(text)) && !strchr(text, '\n'));
	(void)pod_status_of_event(text, o);
	assert(utf8_is_valid(text, strlen(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kube_result result = {
		.status = 422, .body = (const char *)data, .body_len = size};
	json_t *o = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);

	(void)object_answer_read(&result);
	if (o) {
		check_table(o);
		check_pod(o);
		check_patches(o);
	}
	json_decref(o);
	return 0;
}
