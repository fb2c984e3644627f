#include "cluster-agent/operator/render/inline_secrets.h"

#include <errno.h>

#include "common/limits.h"
#include "common/text/base64.h"

#define SUFFIX "coroot-api-keys"

/* The user's Secret if one is named, else text in ours as file. */
static void place(struct secret_place *ret, const struct coroot_spec *s,
		  const struct coroot_secret_key *secret, const char *text, const char *file)
{
	*ret = (struct secret_place){0};
	if (secret->name) {
		ret->key = *secret;
		return;
	}
	if (!text || !text[0])
		return;
	snprintf(ret->name, sizeof(ret->name), "%s-" SUFFIX, s->name);
	snprintf(ret->file, sizeof(ret->file), "%s", file);
	ret->key = (struct coroot_secret_key){.name = ret->name, .key = ret->file};
	ret->text = text;
}

void inline_project_key(struct secret_place *ret, const struct coroot_spec *s, size_t i)
{
	char file[32];

	snprintf(file, sizeof(file), "project-%zu", i);
	place(ret, s, &s->project_keys[i].secret, s->project_keys[i].key, file);
}

void inline_agent_key(struct secret_place *ret, const struct coroot_spec *s)
{
	place(ret, s, &s->api_key_secret, s->api_key, "api-key");
	if (!ret->key.name && !s->coroot_url && s->n_project_keys > 0)
		inline_project_key(ret, s, 0);
}

void inline_page_key(struct secret_place *ret, const struct coroot_spec *s)
{
	place(ret, s, &s->page_key_secret, s->page_key, "page-key");
}

void inline_clickhouse_password(struct secret_place *ret, const struct coroot_spec *s)
{
	place(ret, s, &s->external_clickhouse.password_secret, s->external_clickhouse.password,
	      "clickhouse-password");
}

static int put(json_t *data, const struct secret_place *p)
{
	struct buf text;
	int r;

	if (!p->text)
		return 0;
	buf_init(&text, 2 * MIB);
	r = base64_encode(p->text, strlen(p->text), &text);
	if (r == 0)
		r = json_object_set_new(data, p->key.key, json_string(text.data)) < 0 ? -ENOMEM : 0;
	buf_fini(&text);
	/* larger than any object may be */
	return r == -EFBIG ? 0 : r;
}

static int put_all(json_t *data, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	enum render_store store = render_store(in);
	struct secret_place p;
	int r;

	inline_agent_key(&p, s);
	r = put(data, &p);
	if (store == RENDER_STORE_NONE)
		return r;
	for (size_t i = 0; r == 0 && i < s->n_project_keys; i++) {
		inline_project_key(&p, s, i);
		r = put(data, &p);
	}
	if (r < 0)
		return r;
	if (!s->anonymous) {
		inline_page_key(&p, s);
		r = put(data, &p);
	}
	if (r < 0)
		return r;
	if (store == RENDER_STORE_EXTERNAL) {
		inline_clickhouse_password(&p, s);
		r = put(data, &p);
	}
	return r;
}

json_t *inline_secret_data(const struct render_input *in)
{
	json_t *data = json_object();

	if (data && put_all(data, in) < 0) {
		json_decref(data);
		return NULL;
	}
	return data;
}
