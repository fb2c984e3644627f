#include "cluster-agent/operator/render/clickhouse_config_xml.h"
#include "cluster-agent/operator/render/component.h"
#include "cluster-agent/operator/render/render.h"

#include <errno.h>
#include <inttypes.h>

#include "common/data/hash.h"

#define PASSWORD_LENGTH 16
#define MAX_CONFIG_BYTES ((size_t)900 * 1024) /* an object may have 1 MiB */

/* The file, and a hash of it, so that another one restarts the pods. */
static void give_config(struct component *c,
			int (*make)(struct buf *out, const struct coroot_spec *s))
{
	CLEANUP(buf_fini) struct buf config;
	char sum[20];
	int r;

	buf_init(&config, MAX_CONFIG_BYTES);
	r = make(&config, c->in->spec);
	if (r < 0) {
		c->error = r;
		return;
	}
	component_text(c, "config", config.data);
	snprintf(sum, sizeof(sum), "%016" PRIx64, fnv1a64(FNV1A64_INIT, config.data, config.len));
	component_annotation(c, "checksum/config", sum);
}

/* Marks are annotations of all objects. */
static void give_storage(struct component *c, const struct coroot_storage *storage,
			 int64_t replicas)
{
	json_t *marks = c->in->clickhouse_is_there ? json_pack("{s:s}", CLICKHOUSE_ADOPTED, "true")
						   : json_object();

	component_storage(c, storage, marks);
	component_made(c, "marks", marks);
	component_replicas(c, replicas);
}

static int want_password(struct rendered *out, const struct coroot_spec *s)
{
	json_t *name = json_sprintf("%s-clickhouse", s->name);
	int r = name ? rendered_want_secret(out, json_string_value(name), "password",
					    PASSWORD_LENGTH)
		     : -ENOMEM;

	json_decref(name);
	return r;
}

static int render_servers(struct rendered *out, const struct render_input *in)
{
	const struct coroot_clickhouse *v = &in->spec->clickhouse;
	CLEANUP(component_fini) struct component c;
	int r = want_password(out, in->spec);

	component_begin(&c, in, "clickhouse", &v->pod, in->images->clickhouse);
	give_config(&c, clickhouse_config_xml);
	give_storage(&c, &v->storage, v->replicas);
	component_number(&c, "shards", v->shards);
	component_secret(&c, "s3AccessKeyId", &v->s3.access_key_id);
	component_secret(&c, "s3SecretAccessKey", &v->s3.secret_access_key);
	return r == 0 ? component_add(out, &c, "objects") : r;
}

static int render_keepers(struct rendered *out, const struct render_input *in)
{
	const struct coroot_clickhouse *v = &in->spec->clickhouse;
	CLEANUP(component_fini) struct component c;

	component_begin(&c, in, "clickhouse-keeper", &v->keeper.pod, in->images->keeper);
	give_config(&c, keeper_config_xml);
	give_storage(&c, &v->keeper.storage, v->keeper.replicas);
	return component_add(out, &c, "objects");
}

int render_clickhouse(struct rendered *out, const struct render_input *in)
{
	int r;

	if (render_store(in) != RENDER_STORE_CLICKHOUSE)
		return 0;
	r = render_servers(out, in);
	return r == 0 ? render_keepers(out, in) : r;
}
