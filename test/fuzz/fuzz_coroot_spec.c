/*
 * Any JSON as the spec of a Coroot resource: read, with nothing in the result that programs and
 * objects made from it could not take, and rendered, twice the same.
 */
#include <errno.h>
#include <jansson.h>

#include "cluster-agent/operator/render/render.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "cluster-agent/operator/spec/spec_values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
	if (!right)
		abort();
}

static void check_key(const struct coroot_secret_key *k)
{
	if (k->name)
		check(text_dns_name.fits(k->name) && text_secret_key.fits(k->key));
}

static void check_env(const json_t *env)
{
	const json_t *item;
	size_t i;

	json_array_foreach (env, i, item)
		check(text_env_name.fits(json_string_value(json_object_get(item, "name"))));
}

static void check_size(const char *text)
{
	double v;

	check(spec_quantity(text, &v) == 0 && v >= 1);
}

static void check_spec(const struct coroot_spec *s)
{
	uint64_t ttl_s;

	check(spec_ttl_seconds(s->profiles_ttl, &ttl_s) == 0 && ttl_s >= 3600);
	check(text_interval.fits(s->metrics_refresh_interval));
	check(!s->coroot_url || text_http_url.fits(s->coroot_url));
	check(s->ingress.path[0] == '/' && text_url_path.fits(s->ingress.path));
	check(s->service.port > 0 && s->service.port <= 65535);
	check(s->server_replicas > 0 && s->clickhouse.shards > 0 && s->clickhouse.replicas > 0);
	check(s->clickhouse.keeper.replicas > 0);
	check_size(s->server_storage.size);
	check_size(s->clickhouse.storage.size);
	check_size(s->clickhouse.keeper.storage.size);
	check_size(s->clickhouse.s3.cache_size);
	check_key(&s->api_key_secret);
	check_key(&s->page_key_secret);
	check_key(&s->tls_cert);
	check_key(&s->tls_key);
	check(!s->tls_cert.name == !s->tls_key.name);
	check(!s->api_key || (text_key.fits(s->api_key) && !s->api_key_secret.name));
	check_env(s->server.env);
	check_env(s->node_agent.pod.env);
	check_env(s->cluster_agent.env);
	check(s->n_project_keys <= COROOT_PROJECT_KEYS_MAX);
	for (size_t i = 0; i < s->n_project_keys; i++) {
		const struct coroot_api_key *k = &s->project_keys[i];

		check(!k->key == (k->secret.name != NULL));
		check(!k->key || text_key.fits(k->key));
		check_key(&k->secret);
	}
}

static void check_rendered(const struct coroot_spec *s, bool clickhouse_is_there)
{
	static const struct operator_images images = {"n", "c", "s", "h", "k", NULL, "scc"};
	const struct render_input in = {s, &images, clickhouse_is_there};
	CLEANUP(rendered_fini) struct rendered a = {0};
	CLEANUP(rendered_fini) struct rendered b = {0};

	check(render_coroot(&a, &in) == 0 && render_coroot(&b, &in) == 0);
	check(a.n_objects == b.n_objects && a.n_secrets == b.n_secrets);
	for (size_t i = 0; i < a.n_objects; i++)
		check(json_equal(a.objects[i].body, b.objects[i].body));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(spec_problems_fini) struct spec_problems problems = {0};
	CLEANUP(coroot_spec_fini) struct coroot_spec s = {0};
	CLEANUP(json_decrefp)
	json_t *spec = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	CLEANUP(json_decrefp)
	json_t *resource = json_pack("{s:{s:s, s:s, s:s}, s:O*}", "metadata", "name", "n",
				     "namespace", "ns", "uid", "u", "spec", spec);
	AUTO_FREE char *before = json_dumps(resource, 0), *after = NULL;

	if (!spec)
		return 0;
	check(coroot_spec_parse(&s, resource, &problems) == 0);
	check_spec(&s);
	check_rendered(&s, size % 2);
	after = json_dumps(resource, 0);
	check(strcmp(before, after) == 0);
	return 0;
}
