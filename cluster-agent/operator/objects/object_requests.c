#include "cluster-agent/operator/objects/object_requests.h"

#include <errno.h>

#include "cluster-agent/operator/render/rendered.h"
#include "common/http/http_text.h"
#include "common/kubernetes/kube_watch.h"
#include "common/system/clock.h"
#include "common/text/kube_names.h"

#define TIMEOUT_NS (15 * NS_PER_S)
#define MAX_PATH_BYTES ((size_t)4096)
#define PAGE_PODS 50u /* of some 10 KiB each */
#define MAX_EVENTS 500u
#define APPLY_TYPE "application/apply-patch+yaml" /* JSON is YAML */
#define APPLY_QUERY "?fieldManager=" OBJECT_FIELD_MANAGER "&force=true"

static int send_body(struct kube_client *c, struct kube_request *req, const json_t *body,
		     const struct object_reply *reply)
{
	AUTO_FREE char *text = NULL;

	req->timeout_ns = TIMEOUT_NS;
	req->max_response_bytes = KUBE_WATCH_OBJECT_BYTES;
	if (body) {
		text = json_dumps(body, JSON_COMPACT);
		if (!text)
			return -ENOMEM;
		req->body = text;
		req->body_len = strlen(text);
	}
	return kube_client_send(c, req, reply->done, reply->ctx, reply->call);
}

/* query begins with '?', or is "". */
static int send_about(struct kube_client *c, struct kube_request *req, const struct object_ref *o,
		      const char *query, const json_t *body, const struct object_reply *reply)
{
	CLEANUP(buf_fini) struct buf path;
	int r;

	buf_init(&path, MAX_PATH_BYTES);
	r = object_kind_path(&path, o->kind, o->namespace, o->name);
	if (r == 0)
		r = buf_addf(&path, "%s", query);
	if (r < 0)
		return r;
	req->path = path.data;
	return send_body(c, req, body, reply);
}

int object_request_get(struct kube_client *c, const struct object_ref *o,
		       const struct object_reply *reply)
{
	struct kube_request req = {.method = "GET"};

	return send_about(c, &req, o, "", NULL, reply);
}

int object_request_apply(struct kube_client *c, const struct object_ref *o, const json_t *body,
			 const struct object_reply *reply)
{
	struct kube_request req = {.method = "PATCH", .content_type = APPLY_TYPE};

	return send_about(c, &req, o, APPLY_QUERY, body, reply);
}

int object_request_create(struct kube_client *c, const struct object_ref *o, const json_t *body,
			  const struct object_reply *reply)
{
	const struct object_ref collection = {o->kind, o->namespace, NULL};
	struct kube_request req = {.method = "POST"};

	return send_about(c, &req, &collection, "?fieldManager=" OBJECT_FIELD_MANAGER, body, reply);
}

int object_request_merge(struct kube_client *c, const struct object_ref *o, const json_t *body,
			 const struct object_reply *reply)
{
	struct kube_request req = {.method = "PATCH",
				   .content_type = "application/merge-patch+json"};

	return send_about(c, &req, o, "?fieldManager=" OBJECT_FIELD_MANAGER, body, reply);
}

int object_request_delete(struct kube_client *c, const struct object_ref *o, const char *uid,
			  bool orphan, const struct object_reply *reply)
{
	json_t *body = json_pack("{s:s s:s s:s s:{s:s}}", "apiVersion", "v1", "kind",
				 "DeleteOptions", "propagationPolicy",
				 orphan ? "Orphan" : "Background", "preconditions", "uid", uid);
	struct kube_request req = {.method = "DELETE"};
	int r = body ? send_about(c, &req, o, "", body, reply) : -ENOMEM;

	json_decref(body);
	return r;
}

int object_request_list_owned(struct kube_client *c, const struct object_ref *collection,
			      const char *uid, const struct object_reply *reply)
{
	struct kube_request req = {.method = "GET"};
	char query[256];

	/* a uid is one, whatever else the server may send */
	if (!kube_name_is_label(uid))
		return -EINVAL;
	snprintf(query, sizeof(query), "?labelSelector=coroot.com%%2Fowner-uid%%3D%s", uid);
	return send_about(c, &req, collection, query, NULL, reply);
}

int object_request_namespace(struct kube_client *c, const char *name,
			     const struct object_reply *reply)
{
	struct kube_request req = {.method = "GET"};
	char path[128];

	if (!kube_name_is_label(name))
		return -EINVAL;
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s", name);
	req.path = path;
	return send_body(c, &req, NULL, reply);
}

/* "a=b,c=d" */
static int add_selector(struct buf *path, const json_t *labels)
{
	json_t *shared = json_pack("O", labels), *value; /* one that can be iterated */
	const char *key;
	bool is_first = true;
	int r = json_object_size(labels) > 0 ? 0 : -EINVAL;

	json_object_foreach (shared, key, value) {
		if (r == 0 && !json_is_string(value))
			r = -EINVAL;
		if (r == 0 && !is_first)
			r = buf_addf(path, "%%2C");
		if (r == 0)
			r = http_percent_encode(path, key);
		if (r == 0)
			r = buf_addf(path, "%%3D");
		if (r == 0)
			r = http_percent_encode(path, json_string_value(value));
		is_first = false;
	}
	json_decref(shared);
	return r;
}

int object_request_pods(struct kube_client *c, const struct object_pods *pods,
			const struct object_reply *reply)
{
	struct kube_request req = {.method = "GET"};
	CLEANUP(buf_fini) struct buf path;
	int r;

	buf_init(&path, MAX_PATH_BYTES);
	if (!kube_name_is_label(pods->namespace))
		return -EINVAL;
	r = buf_addf(&path, "/api/v1/namespaces/%s/pods?limit=%u&labelSelector=", pods->namespace,
		     PAGE_PODS);
	if (r == 0)
		r = add_selector(&path, pods->labels);
	if (r == 0 && pods->more)
		r = buf_addf(&path, "&continue=");
	if (r == 0 && pods->more)
		r = http_percent_encode(&path, pods->more);
	if (r < 0)
		return r;
	req.path = path.data;
	return send_body(c, &req, NULL, reply);
}

int object_request_failed_creates(struct kube_client *c, const char *namespace, const char *kind,
				  const struct object_reply *reply)
{
	struct kube_request req = {.method = "GET"};
	CLEANUP(buf_fini) struct buf path;
	int r;

	buf_init(&path, MAX_PATH_BYTES);
	if (!kube_name_is_label(namespace))
		return -EINVAL;
	r = buf_addf(&path,
		     "/api/v1/namespaces/%s/events?limit=%u&fieldSelector="
		     "reason%%3DFailedCreate%%2CinvolvedObject.kind%%3D%s",
		     namespace, MAX_EVENTS, kind);
	if (r < 0)
		return r;
	req.path = path.data;
	return send_body(c, &req, NULL, reply);
}

int object_request_event(struct kube_client *c, const json_t *event,
			 const struct object_reply *reply)
{
	const json_t *m = json_object_get(event, "metadata");
	const char *namespace = json_string_value(json_object_get(m, "namespace"));
	const char *name = json_string_value(json_object_get(m, "name"));
	struct kube_request req = {.method = "PATCH", .content_type = APPLY_TYPE};
	CLEANUP(buf_fini) struct buf path;
	int r;

	buf_init(&path, MAX_PATH_BYTES);
	if (!namespace || !name || !kube_name_is_label(namespace) || !kube_name_is_subdomain(name))
		return -EINVAL;
	r = buf_addf(&path, "/api/v1/namespaces/%s/events/%s" APPLY_QUERY, namespace, name);
	if (r < 0)
		return r;
	req.path = path.data;
	return send_body(c, &req, event, reply);
}

/* end: what follows the name, "/status?…". */
static int coroot_path(struct buf *path, const char *namespace, const char *name, const char *end)
{
	if (!kube_name_is_label(namespace) || !kube_name_is_subdomain(name))
		return -EINVAL;
	return buf_addf(path, "/apis/coroot.com/v1/namespaces/%s/coroots/%s%s", namespace, name,
			end);
}

int coroot_request_get(struct kube_client *c, const char *namespace, const char *name,
		       const struct object_reply *reply)
{
	struct kube_request req = {.method = "GET"};
	CLEANUP(buf_fini) struct buf path;
	int r;

	buf_init(&path, MAX_PATH_BYTES);
	r = coroot_path(&path, namespace, name, "");
	if (r < 0)
		return r;
	req.path = path.data;
	return send_body(c, &req, NULL, reply);
}

int coroot_request_merge(struct kube_client *c, const struct coroot_ref *o, const json_t *body,
			 const struct object_reply *reply)
{
	struct kube_request req = {.method = "PATCH",
				   .content_type = "application/merge-patch+json"};
	CLEANUP(buf_fini) struct buf path;
	int r;

	buf_init(&path, MAX_PATH_BYTES);
	r = coroot_path(&path, o->namespace, o->name,
			o->status ? "/status?fieldManager=" OBJECT_FIELD_MANAGER
				  : "?fieldManager=" OBJECT_FIELD_MANAGER);
	if (r < 0)
		return r;
	req.path = path.data;
	return send_body(c, &req, body, reply);
}
