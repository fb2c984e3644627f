#include "common/kubernetes/lease_requests.h"

#include <errno.h>

#include "common/system/clock.h"
#include "common/text/kube_names.h"

/* A Lease of ours has about 1 KiB; other writers may add to it. */
#define MAX_RESPONSE_BYTES ((size_t)2 * 1024 * 1024)
#define MAX_REQUEST_BYTES 4096

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

int lease_requests_init(struct lease_requests *q, const struct lease_requests_config *cfg)
{
	*q = (struct lease_requests){.cfg = *cfg};
	if (!kube_name_is_label(cfg->namespace) || (cfg->group && !kube_name_is_label(cfg->group)))
		return -EINVAL;
	q->namespace = strdup(cfg->namespace);
	q->group = cfg->group ? strdup(cfg->group) : NULL;
	if (!q->namespace || (cfg->group && !q->group))
		return -ENOMEM;
	if (asprintf(&q->leases_path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases",
		     q->namespace) < 0) {
		q->leases_path = NULL;
		return -ENOMEM;
	}
	return 0;
}

void lease_requests_fini(struct lease_requests *q)
{
	free(q->namespace);
	free(q->group);
	free(q->leases_path);
	*q = (struct lease_requests){0};
}

int lease_requests_name(const char *group, const char *name, char *ret)
{
	size_t group_len = strlen(group);
	int n = snprintf(ret, LEASE_NAME_BYTES, "%s-%s", group, name);
	size_t len = (size_t)n;

	if (n < 0 || n >= LEASE_NAME_BYTES)
		return -EINVAL;
	for (char *c = ret; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
		else if (!is_label_char(*c))
			*c = '-';
	}
	while (len > 0 && ret[len - 1] == '-')
		ret[--len] = '\0';
	return len > group_len + 1 ? 0 : -EINVAL;
}

static int start(struct lease_requests *q, struct kube_request *req, kube_done_fn done, void *ctx,
		 struct kube_call **ret)
{
	req->timeout_ns = q->cfg.timeout_ns;
	req->max_response_bytes = MAX_RESPONSE_BYTES;
	return kube_client_send(q->cfg.client, req, done, ctx, ret);
}

static int send_about(struct lease_requests *q, struct kube_request *req, const char *name,
		      kube_done_fn done, void *ctx, struct kube_call **ret)
{
	AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", q->leases_path, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	req->path = path;
	return start(q, req, done, ctx, ret);
}

int lease_requests_get(struct lease_requests *q, const char *name, kube_done_fn done, void *ctx,
		       struct kube_call **ret)
{
	struct kube_request req = {.method = "GET"};

	return send_about(q, &req, name, done, ctx, ret);
}

int lease_requests_list(struct lease_requests *q, kube_done_fn done, void *ctx,
			struct kube_call **ret)
{
	struct kube_request req = {.method = "GET"};
	AUTO_FREE char *path = NULL;

	/* without resourceVersion: the current state, not that of a cache */
	if (asprintf(&path, "%s?labelSelector=coroot.com%%2Freplica-group%%3D%s&limit=%d",
		     q->leases_path, q->group, LEASE_LIST_MAX) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	req.path = path;
	return start(q, &req, done, ctx, ret);
}

int lease_requests_put(struct lease_requests *q, const struct lease *l, kube_done_fn done,
		       void *ctx, struct kube_call **ret)
{
	const struct lease_text text = {
		.namespace = q->namespace,
		.group = q->group,
		.duration_s = q->cfg.duration_s,
		.renewed_ns = (int64_t)clock_realtime_ns(),
		.lease = *l,
	};
	struct kube_request req = {.method = l->version[0] ? "PUT" : "POST"};
	CLEANUP(buf_fini) struct buf body;
	int r;

	buf_init(&body, MAX_REQUEST_BYTES);
	r = lease_write(&body, &text);
	if (r < 0)
		return r;
	req.body = body.data;
	req.body_len = body.len;
	if (l->version[0])
		return send_about(q, &req, l->name, done, ctx, ret);
	req.path = q->leases_path;
	return start(q, &req, done, ctx, ret);
}

int lease_requests_delete(struct lease_requests *q, const char *name, const char *version,
			  kube_done_fn done, void *ctx, struct kube_call **ret)
{
	struct kube_request req = {.method = "DELETE"};
	CLEANUP(buf_fini) struct buf body;
	int r;

	buf_init(&body, MAX_REQUEST_BYTES);
	r = lease_write_delete(&body, version);
	if (r < 0)
		return r;
	req.body = body.data;
	req.body_len = body.len;
	return send_about(q, &req, name, done, ctx, ret);
}

enum lease_answer lease_requests_status(const struct kube_result *result)
{
	if (result->error == -EACCES || result->status == 401 || result->status == 403)
		return LEASE_ANSWER_FORBIDDEN;
	if (result->error == -ETIMEDOUT)
		return LEASE_ANSWER_TIMEOUT;
	if (result->error == -EFBIG)
		return LEASE_ANSWER_BAD;
	if (result->error)
		return LEASE_ANSWER_UNREACHABLE;
	if (result->status == 404)
		return LEASE_ANSWER_NONE;
	if (result->status == 409)
		return LEASE_ANSWER_CONFLICT;
	if (result->status < 200 || result->status > 299)
		return LEASE_ANSWER_REFUSED;
	return LEASE_ANSWER_OK;
}

enum lease_answer lease_requests_read(struct lease_doc *ret, const struct kube_result *result)
{
	enum lease_answer a = lease_requests_status(result);

	if (a != LEASE_ANSWER_OK)
		return a;
	if (lease_doc_parse(ret, result->body, result->body_len) < 0)
		return LEASE_ANSWER_BAD;
	return LEASE_ANSWER_OK;
}
