#include "common/http/grpc_head.h"

#include <errno.h>

static const char *const names[GRPC_HEADER_MAX] = {
	[GRPC_HEADER_METHOD] = ":method",         [GRPC_HEADER_PATH] = ":path",
	[GRPC_HEADER_AUTHORITY] = ":authority",   [GRPC_HEADER_TYPE] = "content-type",
	[GRPC_HEADER_ENCODING] = "grpc-encoding", [GRPC_HEADER_ORIGIN] = "origin",
	[GRPC_HEADER_API_KEY] = "x-api-key",      [GRPC_HEADER_AUTHORIZATION] = "authorization",
};

int grpc_head_add(struct grpc_head *h, const uint8_t *name, size_t name_len, const uint8_t *value,
		  size_t value_len)
{
	for (int i = 0; i < GRPC_HEADER_MAX; i++) {
		if (strlen(names[i]) != name_len || memcmp(names[i], name, name_len) != 0)
			continue;
		if (h->values[i] || value_len > GRPC_HEAD_VALUE_BYTES)
			return 0;
		h->values[i] = strndup((const char *)value, value_len);
		return h->values[i] ? 0 : -ENOMEM;
	}
	return 0;
}

void grpc_head_release(struct grpc_head *h)
{
	for (int i = 0; i < GRPC_HEADER_MAX; i++) {
		if (i == GRPC_HEADER_ENCODING)
			continue;
		free(h->values[i]);
		h->values[i] = NULL;
	}
}

void grpc_head_fini(struct grpc_head *h)
{
	grpc_head_release(h);
	free(h->values[GRPC_HEADER_ENCODING]);
	h->values[GRPC_HEADER_ENCODING] = NULL;
}

static bool is_grpc(const char *type)
{
	static const char grpc[] = "application/grpc";

	return type && strncmp(type, grpc, strlen(grpc)) == 0 &&
	       (type[strlen(grpc)] == '\0' || strchr(";+", type[strlen(grpc)]));
}

static const struct grpc_method *find_method(const struct grpc_server_config *cfg, const char *path)
{
	for (const struct grpc_method *m = cfg->methods; m->path; m++)
		if (path && strcmp(m->path, path) == 0)
			return m;
	return NULL;
}

static const struct grpc_method *refuse(struct grpc_refusal *ret, enum grpc_status status,
					const char *why)
{
	ret->status = status;
	(void)err_set(&ret->err, -EINVAL, "%s", why);
	return NULL;
}

static const struct grpc_method *check_access(const struct grpc_head *h,
					      const struct grpc_server_config *cfg,
					      const struct grpc_method *method, uint64_t client,
					      struct grpc_refusal *ret)
{
	const struct access_request req = {
		.is_write = true,
		.host = h->values[GRPC_HEADER_AUTHORITY],
		.origin = h->values[GRPC_HEADER_ORIGIN],
		.api_key = h->values[GRPC_HEADER_API_KEY],
		.authorization = h->values[GRPC_HEADER_AUTHORIZATION],
		.client = client,
	};
	enum access_verdict v = access_check(cfg->access, &req, method->scope, &ret->err);

	if (v == ACCESS_GRANTED)
		return method;
	ret->status = v == ACCESS_REFUSED_KEY ? GRPC_UNAUTHENTICATED : GRPC_PERMISSION_DENIED;
	return NULL;
}

const struct grpc_method *grpc_head_check(const struct grpc_head *h,
					  const struct grpc_server_config *cfg, uint64_t client,
					  struct grpc_refusal *ret)
{
	const char *verb = h->values[GRPC_HEADER_METHOD];
	const struct grpc_method *method;

	*ret = (struct grpc_refusal){.status = GRPC_UNIMPLEMENTED};
	if (h->too_large)
		return refuse(ret, GRPC_RESOURCE_EXHAUSTED, "the headers are larger than 16 KiB");
	if (!verb || strcmp(verb, "POST") != 0) {
		ret->http_status = 405;
		return NULL;
	}
	if (!is_grpc(h->values[GRPC_HEADER_TYPE])) {
		ret->http_status = 415;
		return NULL;
	}
	method = find_method(cfg, h->values[GRPC_HEADER_PATH]);
	if (!method)
		return refuse(ret, GRPC_UNIMPLEMENTED, "this server has no such method");
	return check_access(h, cfg, method, client, ret);
}
