/*
 * The fields themselves are read by spec_reader.c. What is here is what several of them must agree
 * on, as Coroot's operator and its CustomResourceDefinition have it and some rules of our own, and
 * the keys of projects.
 *
 * Wherever something is not usable, what remains is the choice that opens nothing: a key that is
 * not sure is not accepted, TLS without a key is reported rather than half done.
 */
#include "cluster-agent/operator/spec/coroot_spec.h"

#include <errno.h>

#include "cluster-agent/operator/spec/spec_reader.h"
#include "common/http/http_base_path.h"

#define MAX_CLICKHOUSE_PODS 1000 /* as many as there may be shards */
#define TTL_MIN_S UINT64_C(3600) /* what --profiles-ttl takes */
#define TTL_MAX_S (UINT64_C(3650) * 86400)

static const json_t *spec_member(const json_t *spec, const char *parent, const char *name)
{
	return json_object_get(parent ? json_object_get(spec, parent) : spec, name);
}

/* A copy of a text that the spec owns, or NULL. */
static const char *keep_text(struct coroot_spec *s, const char *text, size_t len)
{
	return json_string_value(spec_keep(s, json_stringn(text, len)));
}

/* ---- texts in the form that programs want ---- */

/* Our option takes days, but neither weeks nor years. */
static int convert_ttl(struct coroot_spec *s, struct spec_problems *problems)
{
	size_t len = strlen(s->profiles_ttl);
	uint64_t seconds;
	char days[32];

	if (spec_ttl_seconds(s->profiles_ttl, &seconds) < 0 || seconds < TTL_MIN_S ||
	    seconds > TTL_MAX_S) {
		s->profiles_ttl = coroot_field_find("spec", "profilesTTL")->def;
		return spec_problems_wrong(problems, "spec.profilesTTL",
					   "must be from 1h to 10y; the default, %s, is used",
					   s->profiles_ttl);
	}
	if (s->profiles_ttl[len - 1] != 'w' && s->profiles_ttl[len - 1] != 'y')
		return 0;
	snprintf(days, sizeof(days), "%llud", (unsigned long long)(seconds / 86400));
	s->profiles_ttl = keep_text(s, days, strlen(days));
	return s->profiles_ttl ? 0 : -ENOMEM;
}

static int trim_url(struct coroot_spec *s)
{
	size_t len = s->coroot_url ? strlen(s->coroot_url) : 0;

	if (len == 0 || s->coroot_url[len - 1] != '/')
		return 0;
	while (s->coroot_url[len - 1] == '/')
		len--;
	s->coroot_url = keep_text(s, s->coroot_url, len);
	return s->coroot_url ? 0 : -ENOMEM;
}

/* Whether the server can be below the path: --url-base-path takes it. */
static bool is_base_path(const char *path)
{
	/* its own */
	static const char *const taken[] = {"/api",    "/assets",  "/healthz", "/metrics",
					    "/readyz", "/targets", "/v1"};
	char parsed[HTTP_BASE_PATH_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		if (http_base_path_below(taken[i], path))
			return false;
	}
	return http_base_path_parse(parsed, path, NULL) == 0;
}

static int normalize_path(struct coroot_spec *s, struct spec_problems *problems)
{
	const char *path = s->ingress.path + (*s->ingress.path == '/');
	size_t len = strlen(path);
	const json_t *made;

	if (len > 0 && path[len - 1] == '/')
		len--;
	made = spec_keep(s, json_sprintf("/%.*s", (int)len, path));
	if (!made)
		return -ENOMEM;
	s->ingress.path = json_string_value(made);
	if (is_base_path(s->ingress.path))
		return 0;
	s->ingress.path = "/";
	return spec_problems_wrong(
		problems, "spec.ingress.path",
		"cannot be a path of the server: letters, digits, '-', '.', '_' "
		"and '~' can, in parts that are not empty, unless it begins with "
		"one of its own like /api; / is used");
}

/* ---- what belongs together ---- */

/* A text and a Secret for the same thing: the Secret wins. */
static int prefer_secret(const char **text, const struct coroot_secret_key *secret,
			 const char *path, struct spec_problems *problems)
{
	if (!*text || !secret->name)
		return 0;
	*text = NULL;
	return spec_problems_wrong(problems, path,
				   "is given together with the Secret, which is used");
}

/* Two Secrets that need each other. */
struct secret_pair {
	const char *parent; /* path */
	struct coroot_secret_key *keys[2];
	const char *names[2];
};

/* Neither counts if one is missing. object is what they are in; it may be NULL. */
static int check_pair(const struct secret_pair *pair, const json_t *object,
		      struct spec_problems *problems)
{
	bool has_first = pair->keys[0]->name != NULL;
	const char *missing = pair->names[has_first ? 1 : 0];
	char path[128];

	if (has_first == (pair->keys[1]->name != NULL))
		return 0;
	*pair->keys[0] = *pair->keys[1] = (struct coroot_secret_key){0};
	if (spec_given(json_object_get(object, missing)))
		return 0; /* what is wrong with it has been reported */
	snprintf(path, sizeof(path), "%s.%s", pair->parent, missing);
	return spec_problems_wrong(problems, path, "must be given; without it, %s is ignored",
				   pair->names[has_first ? 0 : 1]);
}

/* A member that its object must have. Reports it unless it is there and was reported. */
static int report_missing(const json_t *spec, const char *parent, const char *name,
			  const char *what, struct spec_problems *problems)
{
	char path[128];

	if (!json_is_object(json_object_get(spec, parent)) ||
	    spec_given(spec_member(spec, parent, name)))
		return 0;
	snprintf(path, sizeof(path), "spec.%s.%s", parent, name);
	return spec_problems_wrong(problems, path, "must be given; %s", what);
}

static int check_s3(struct coroot_spec *s, const json_t *spec, struct spec_problems *problems)
{
	const json_t *s3 = spec_member(spec, "clickhouse", "s3");
	const struct secret_pair credentials = {
		"spec.clickhouse.s3.credentials",
		{&s->clickhouse.s3.access_key_id, &s->clickhouse.s3.secret_access_key},
		{"accessKeyId", "secretAccessKey"},
	};
	double cache, storage;
	int r;

	if (!json_is_object(s3))
		return 0;
	if (!s->clickhouse.s3.endpoint && !spec_given(json_object_get(s3, "endpoint")))
		return spec_problems_wrong(problems, "spec.clickhouse.s3.endpoint",
					   "must be given; nothing is kept in S3");
	r = check_pair(&credentials, json_object_get(s3, "credentials"), problems);
	if (r < 0)
		return r;
	if (spec_quantity(s->clickhouse.s3.cache_size, &cache) < 0 ||
	    spec_quantity(s->clickhouse.storage.size, &storage) < 0 || cache < storage)
		return 0;
	/* as in Coroot, which then does without S3 too */
	s->clickhouse.s3.endpoint = NULL;
	return spec_problems_wrong(problems, "spec.clickhouse.s3.cacheSize",
				   "%s must be less than spec.clickhouse.storage.size, %s; nothing "
				   "is kept in S3",
				   s->clickhouse.s3.cache_size, s->clickhouse.storage.size);
}

/* All servers are in one file of configuration, which must fit in an object. */
static int check_clickhouse(struct coroot_spec *s, struct spec_problems *problems)
{
	struct coroot_clickhouse *c = &s->clickhouse;
	int64_t replicas = c->replicas;

	if (c->shards * replicas <= MAX_CLICKHOUSE_PODS)
		return 0;
	c->replicas = 1;
	return spec_problems_wrong(problems, "spec.clickhouse.replicas",
				   "%lld times %lld shards are more than %d servers; each shard "
				   "has one",
				   (long long)replicas, (long long)c->shards, MAX_CLICKHOUSE_PODS);
}

static int check_node_agent(struct coroot_spec *s, const json_t *spec,
			    struct spec_problems *problems)
{
	const json_t *ours = spec_member(spec, "nodeAgent", "updateStrategy");

	if (!spec_given(ours))
		return 0;
	if (s->node_agent.update_strategy)
		return spec_problems_wrong(problems, "spec.nodeAgent.updateStrategy",
					   "is given together with update_strategy, which is used");
	if (json_is_object(ours))
		s->node_agent.update_strategy = ours;
	return 0;
}

static int check_node_port(int64_t *port, const char *path, const struct coroot_service *v,
			   struct spec_problems *problems)
{
	if (*port == 0 || strcmp(v->type, "ClusterIP") != 0)
		return 0;
	*port = 0;
	return spec_problems_wrong(problems, path,
				   "needs the type NodePort or LoadBalancer; it is ignored");
}

/* The API server refuses a Service that has a port twice. */
static int check_grpc_port(struct coroot_service *v, struct spec_problems *problems)
{
	if (v->grpc_disabled)
		v->grpc_port = 0;
	if (v->grpc_port != v->port)
		return 0;
	v->grpc_port = 0;
	return spec_problems_wrong(problems, "spec.service.grpcPort",
				   "must not be spec.service.port; it is ignored");
}

static int check_service(struct coroot_service *v, struct spec_problems *problems)
{
	int r = check_node_port(&v->node_port, "spec.service.nodePort", v, problems);

	if (r < 0)
		return r;
	r = check_node_port(&v->grpc_node_port, "spec.service.grpcNodePort", v, problems);
	if (r < 0)
		return r;
	return check_grpc_port(v, problems);
}

/* The server does not start with both. */
static int check_clickhouse_ca(struct coroot_external_clickhouse *external,
			       struct spec_problems *problems)
{
	if (!external->ca.name || !external->tls_skip_verify)
		return 0;
	external->tls_skip_verify = false;
	return spec_problems_wrong(problems, "spec.externalClickhouse.tlsSkipVerify",
				   "is given together with caSecret, by which certificates are "
				   "verified");
}

static int check_secrets(struct coroot_spec *s, const json_t *spec, struct spec_problems *problems)
{
	struct coroot_external_clickhouse *external = &s->external_clickhouse;
	const struct secret_pair tls = {
		"spec.tls", {&s->tls_cert, &s->tls_key}, {"certSecret", "keySecret"}};
	int r = prefer_secret(&s->api_key, &s->api_key_secret, "spec.apiKey", problems);

	if (r < 0)
		return r;
	r = prefer_secret(&s->page_key, &s->page_key_secret, "spec.authBootstrapAdminPassword",
			  problems);
	if (r < 0)
		return r;
	r = prefer_secret(&external->password, &external->password_secret,
			  "spec.externalClickhouse.password", problems);
	if (r == 0)
		r = check_clickhouse_ca(external, problems);
	if (r < 0)
		return r;
	return check_pair(&tls, json_object_get(spec, "tls"), problems);
}

static int check_together(struct coroot_spec *s, const json_t *spec, struct spec_problems *problems)
{
	int r = check_secrets(s, spec, problems);

	if (r < 0)
		return r;
	r = check_node_agent(s, spec, problems);
	if (r < 0)
		return r;
	r = check_clickhouse(s, problems);
	if (r < 0)
		return r;
	r = check_s3(s, spec, problems);
	if (r < 0)
		return r;
	r = check_service(&s->service, problems);
	if (r < 0)
		return r;
	if (!s->coroot_url)
		r = report_missing(spec, "agentsOnly", "corootURL", "a server is installed",
				   problems);
	if (r < 0)
		return r;
	if (!s->external_clickhouse.address) {
		r = report_missing(spec, "externalClickhouse", "address",
				   "externalClickhouse is ignored", problems);
		s->external_clickhouse = (struct coroot_external_clickhouse){0};
	}
	if (r < 0)
		return r;
	r = convert_ttl(s, problems);
	if (r < 0)
		return r;
	r = trim_url(s);
	if (r < 0)
		return r;
	return normalize_path(s, problems);
}

/* ---- keys of projects ---- */

static int read_key(struct coroot_spec *s, const json_t *item, const char *path,
		    struct spec_problems *problems)
{
	const json_t *key = json_object_get(item, "key");
	const json_t *secret = json_object_get(item, "keySecret");
	struct coroot_api_key k = {0}, *keys;
	const char *text = spec_text(key);

	if (text && text_key.fits(text))
		k.key = text;
	if (spec_given(secret) && !spec_secret_key(secret, &k.secret) && k.key) {
		k.key = NULL;
		if (spec_problems_wrong(problems, path,
					"has a key and a keySecret; the Secret is used") < 0)
			return -ENOMEM;
	}
	if (!k.key && !k.secret.name) {
		if (spec_given(key) || spec_given(secret) || !json_is_object(item))
			return 0; /* has been reported */
		return spec_problems_wrong(problems, path,
					   "must have a key or a keySecret; it is ignored");
	}
	if (s->n_project_keys == COROOT_PROJECT_KEYS_MAX)
		return spec_problems_wrong(problems, path, "is beyond the %d keys that are taken",
					   COROOT_PROJECT_KEYS_MAX);
	keys = realloc(s->project_keys, (s->n_project_keys + 1) * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	keys[s->n_project_keys++] = k;
	s->project_keys = keys;
	return 0;
}

static int read_project(struct coroot_spec *s, const json_t *project, size_t i,
			struct spec_problems *problems)
{
	const json_t *keys = json_object_get(project, "apiKeys"), *item;
	char path[80];
	size_t k;
	int n = spec_given(keys) + spec_given(json_object_get(project, "memberProjects")) +
		spec_given(json_object_get(project, "remoteCoroot"));

	if (!json_is_object(project))
		return 0;
	if (n != 1) {
		snprintf(path, sizeof(path), "spec.projects[%zu]", i);
		return spec_problems_wrong(problems, path,
					   "must have exactly one of apiKeys, memberProjects and "
					   "remoteCoroot; it is ignored");
	}
	if (!spec_given(json_object_get(project, "name"))) {
		snprintf(path, sizeof(path), "spec.projects[%zu].name", i);
		if (spec_problems_wrong(problems, path, "must be given") < 0)
			return -ENOMEM;
	}
	json_array_foreach (keys, k, item) {
		snprintf(path, sizeof(path), "spec.projects[%zu].apiKeys[%zu]", i, k);
		if (read_key(s, item, path, problems) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_projects(struct coroot_spec *s, const json_t *spec, struct spec_problems *problems)
{
	const json_t *project;
	size_t i;

	json_array_foreach (json_object_get(spec, "projects"), i, project) {
		if (read_project(s, project, i, problems) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- the resource ---- */

/* Whether a member is text or, if it may be missing, is not there. */
static bool is_text_or_none(const json_t *object, const char *name, const char *text)
{
	const json_t *value = json_object_get(object, name);

	/* items of a list may lack them */
	return !value || (spec_text(value) && strcmp(spec_text(value), text) == 0);
}

int coroot_spec_parse(struct coroot_spec *ret, const json_t *resource,
		      struct spec_problems *problems)
{
	const json_t *metadata = json_object_get(resource, "metadata");
	json_t *spec = json_object_get(resource, "spec");
	CLEANUP(coroot_spec_fini)
	struct coroot_spec s = {
		.name = spec_text(json_object_get(metadata, "name")),
		.namespace = spec_text(json_object_get(metadata, "namespace")),
		.uid = spec_text(json_object_get(metadata, "uid")),
	};
	struct spec_reader reader = {.spec = &s, .problems = problems};
	int r;

	*ret = (struct coroot_spec){0};
	if (!s.name || !s.namespace || !s.uid || !text_dns_name.fits(s.name) ||
	    !text_dns_name.fits(s.namespace) || !is_text_or_none(resource, "kind", "Coroot") ||
	    !is_text_or_none(resource, "apiVersion", "coroot.com/v1"))
		return -EBADMSG;
	spec_reader_defaults(&s);
	r = spec_reader_read(&reader, spec);
	if (r == 0)
		r = check_together(&s, spec, problems);
	if (r == 0)
		r = read_projects(&s, spec, problems);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct coroot_spec){0};
	return 0;
}

void coroot_spec_fini(struct coroot_spec *s)
{
	free(s->project_keys);
	json_decref(s->made);
	*s = (struct coroot_spec){0};
}
