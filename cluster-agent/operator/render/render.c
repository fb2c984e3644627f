#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#define LABEL_MAX 63    /* length of a label's value */
#define REVISION_LEN 11 /* of "-" and the hash in controller-revision-hash */

enum render_store render_store(const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;

	if (s->coroot_url)
		return RENDER_STORE_NONE;
	if (s->external_clickhouse.address)
		return RENDER_STORE_EXTERNAL;
	if (s->clickhouse.wanted || in->clickhouse_is_there)
		return RENDER_STORE_CLICKHOUSE;
	return RENDER_STORE_EMBEDDED;
}

bool render_tls(const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;

	return !s->coroot_url && s->tls_cert.name && s->tls_key.name;
}

/*
 * Kubernetes takes longer names of StatefulSets than its own labels on their pods can hold, and
 * then fails to make the pods: a label has 63 characters, 11 of them for the revision. Names of
 * Services have no dots.
 */
static int check_name(const struct render_input *in, struct spec_problems *problems)
{
	enum render_store store = render_store(in);
	const char *name = in->spec->name;
	int max = LABEL_MAX, suffix = 0;

	if (store == RENDER_STORE_CLICKHOUSE)
		suffix = snprintf(NULL, 0, "-clickhouse-shard-%lld",
				  (long long)in->spec->clickhouse.shards - 1);
	else if (store != RENDER_STORE_NONE)
		suffix = (int)strlen("-coroot");
	if (suffix > 0)
		max -= REVISION_LEN + suffix;
	if (strlen(name) > (size_t)max)
		return spec_problems_wrong(problems, "metadata.name",
					   "must have at most %d characters, or pods cannot be "
					   "made; make the resource again with a shorter name",
					   max);
	if (store != RENDER_STORE_NONE && (strchr(name, '.') || strchr("0123456789", name[0])))
		return spec_problems_wrong(problems, "metadata.name",
					   "must begin with a letter and have no dots, or the "
					   "Service cannot be made; make the resource again with "
					   "such a name");
	return 0;
}

int render_check(const struct render_input *in, struct spec_problems *problems)
{
	int r = check_name(in, problems);

	if (r < 0)
		return r;
	if (render_store(in) != RENDER_STORE_EMBEDDED || in->spec->server_replicas == 1)
		return 0;
	return spec_problems_wrong(problems, "spec.replicas",
				   "must be 1 while profiles are stored in the server's own pod, "
				   "without clickhouse and externalClickhouse; 1 is used");
}

int render_coroot(struct rendered *out, const struct render_input *in)
{
	static int (*const parts[])(struct rendered *, const struct render_input *) = {
		render_node_agent,
		render_cluster_agent,
		render_server,
		render_clickhouse,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
		r = parts[i](out, in);
	return r;
}
