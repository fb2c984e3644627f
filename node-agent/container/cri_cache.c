#include "node-agent/container/cri_cache.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/text/kube_names.h"

#define N_TEXTS 4
/* Longer ones are no name of Kubernetes, and no reference of an image. */
#define TEXT_MAX_BYTES 512u
#define ID_MAX_BYTES 256u

enum {
	POD_NAMESPACE,
	POD_NAME,
	POD_UID,
	POD_OWNER,
};

struct cri_text {
	UT_hash_handle hh;
	unsigned list; /* the last one that had it */
	bool profiling_disabled;
	bool is_static;
	const char *at[N_TEXTS]; /* in bytes */
	char bytes[];            /* the id, then the texts */
};

/* ---- tables of texts -------------------------------------------------------------------- */

static const struct cri_text *find(const struct cri_text *table, const char *id)
{
	const struct cri_text *t;

	HASH_FIND(hh, table, id, strlen(id), t);
	return t;
}

static char *put(char **end, const char *text)
{
	char *at = *end;
	size_t size = strlen(text) + 1;

	memcpy(at, text, size);
	*end += size;
	return at;
}

static struct cri_text *make(const char *id, const char *const texts[static N_TEXTS])
{
	size_t size = strlen(id) + 1;
	struct cri_text *t;
	char *end;

	if (size == 1 || size > ID_MAX_BYTES)
		return NULL;
	for (unsigned i = 0; i < N_TEXTS; i++)
		size += strlen(texts[i]) + 1;
	t = calloc(1, sizeof(*t) + size);
	if (!t)
		return NULL;
	end = t->bytes;
	put(&end, id);
	for (unsigned i = 0; i < N_TEXTS; i++)
		t->at[i] = put(&end, texts[i]);
	return t;
}

static struct cri_text *add(struct cri_text **table, unsigned list, const char *id,
			    const char *const texts[static N_TEXTS])
{
	struct cri_text *t;

	HASH_FIND(hh, *table, id, strlen(id), t);
	if (t) {
		HASH_DEL(*table, t);
		free(t);
	}
	if (HASH_COUNT(*table) >= CRI_CACHE_MAX)
		return NULL;
	t = make(id, texts);
	if (!t)
		return NULL;
	t->list = list;
	HASH_ADD_KEYPTR(hh, *table, t->bytes, strlen(t->bytes), t);
	if (!TABLE_ADDED(hh, t)) {
		free(t);
		return NULL;
	}
	return t;
}

/* Removes what the list did not have. 0, which no list has, removes all. */
static void prune(struct cri_text **table, unsigned list)
{
	struct cri_text *t, *next;

	HASH_ITER(hh, *table, t, next)
	{
		if (list && t->list == list)
			continue;
		HASH_DEL(*table, t);
		free(t);
	}
}

/* ---- pods and images -------------------------------------------------------------------- */

int cri_cache_init(struct cri_cache *c, const char *node)
{
	if (node && !(c->node = strdup(node)))
		return -ENOMEM;
	return 0;
}

void cri_cache_fini(struct cri_cache *c)
{
	prune(&c->pods, 0);
	prune(&c->images, 0);
	free(c->node);
	*c = (struct cri_cache){0};
}

void cri_cache_begin_list(struct cri_cache *c)
{
	c->list++;
	if (c->list == 0)
		c->list = 1;
	/* full of what was added singly: the list has what there is */
	if (HASH_COUNT(c->pods) >= CRI_CACHE_MAX)
		prune(&c->pods, 0);
	if (HASH_COUNT(c->images) >= CRI_CACHE_MAX)
		prune(&c->images, 0);
}

void cri_cache_end_pods(struct cri_cache *c)
{
	prune(&c->pods, c->list);
}

void cri_cache_end_images(struct cri_cache *c)
{
	prune(&c->images, c->list);
}

static const char *short_or_empty(const char *s)
{
	return strnlen(s, TEXT_MAX_BYTES) < TEXT_MAX_BYTES ? s : "";
}

/* CRI knows no controllers, but the labels that they set. A static pod is its own. */
static void name_owner(char ret[static KUBE_PART_BYTES], const struct cri_cache *c,
		       const struct cri_sandbox *s)
{
	ret[0] = '\0';
	if (kube_part_is_valid(s->application))
		snprintf(ret, KUBE_PART_BYTES, "%s", s->application);
	else if (!s->is_static)
		kube_owner_by_labels(ret, s->pod, &s->labels);
	else if (c->node)
		kube_owner_name(ret, "Node", c->node, s->pod, NULL);
}

void cri_cache_add_pod(struct cri_cache *c, const struct cri_sandbox *s)
{
	char owner[KUBE_PART_BYTES];
	const char *const texts[N_TEXTS] = {
		[POD_NAMESPACE] = short_or_empty(s->namespace),
		[POD_NAME] = short_or_empty(s->pod),
		[POD_UID] = short_or_empty(s->pod_uid),
		[POD_OWNER] = owner,
	};
	struct cri_text *t;

	name_owner(owner, c, s);
	t = add(&c->pods, c->list, s->id, texts);
	if (!t)
		return;
	t->profiling_disabled = s->profiling_disabled;
	t->is_static = s->is_static;
}

bool cri_cache_find_pod(const struct cri_cache *c, const char *sandbox_id,
			struct container_facts *facts)
{
	const struct cri_text *t = find(c->pods, sandbox_id);

	if (!t)
		return false;
	facts->namespace = t->at[POD_NAMESPACE];
	facts->pod = t->at[POD_NAME];
	facts->pod_uid = t->at[POD_UID];
	facts->owner = t->at[POD_OWNER];
	facts->profiling_disabled = t->profiling_disabled;
	facts->is_static = t->is_static;
	return true;
}

/* containerd's ids of images have the prefix, CRI-O's have not. */
static const char *bare(const char *image_id)
{
	static const char prefix[] = "sha256:";

	return strncmp(image_id, prefix, strlen(prefix)) == 0 ? image_id + strlen(prefix)
							      : image_id;
}

void cri_cache_add_image(struct cri_cache *c, const char *id, const char *name)
{
	const char *const texts[N_TEXTS] = {short_or_empty(name), "", "", ""};

	add(&c->images, c->list, bare(id), texts);
}

const char *cri_cache_find_image(const struct cri_cache *c, const char *id)
{
	const struct cri_text *t = find(c->images, bare(id));

	return t ? t->at[0] : NULL;
}
