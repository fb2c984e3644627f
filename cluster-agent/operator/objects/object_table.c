#include "cluster-agent/operator/objects/object_table.h"

#include <errno.h>

void object_table_remove(struct object_table *t, struct known_object *o)
{
	HASH_DEL(t->objects, o);
	t->n--;
	free(o->key);
	free(o);
}

void object_table_fini(struct object_table *t)
{
	struct known_object *o, *next;

	HASH_ITER(hh, t->objects, o, next)
	{
		object_table_remove(t, o);
	}
}

#define KEY_BYTES 512 /* names of namespaces have 63 bytes, of objects 253 */

static int make_key(char ret[static KEY_BYTES], enum object_kind kind, const char *namespace,
		    const char *name)
{
	int n = snprintf(ret, KEY_BYTES, "%d/%s/%s", (int)kind, namespace ? namespace : "", name);

	return n < KEY_BYTES ? 0 : -ENAMETOOLONG;
}

struct known_object *object_table_find(struct object_table *t, enum object_kind kind,
				       const char *namespace, const char *name)
{
	struct known_object *o = NULL;
	char key[KEY_BYTES];

	if (make_key(key, kind, namespace, name) == 0)
		HASH_FIND_STR(t->objects, key, o);
	return o;
}

/* One allocation holds all four strings; the key comes first. */
static int keep_strings(struct known_object *o, const struct object_facts *f)
{
	const char *const texts[] = {f->namespace, f->name, f->uid, f->owner};
	const char **const fields[] = {&o->namespace, &o->name, &o->uid, &o->owner};
	char key[KEY_BYTES];
	size_t size, at;
	char *storage;
	int r = make_key(key, o->kind, f->namespace, f->name);

	if (r < 0)
		return r;
	at = strlen(key) + 1;
	size = at;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		size += strlen(texts[i]) + 1;
	storage = malloc(size);
	if (!storage)
		return -ENOMEM;
	memcpy(storage, key, at);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t len = strlen(texts[i]) + 1;

		memcpy(storage + at, texts[i], len);
		*fields[i] = storage + at;
		at += len;
	}
	o->key = storage;
	return 0;
}

static int add(struct object_table *t, enum object_kind kind, const struct object_facts *f,
	       struct known_object **ret)
{
	struct known_object *o;
	int r;

	if (t->n >= OBJECT_TABLE_MAX)
		return -ENOSPC;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->kind = kind;
	r = keep_strings(o, f);
	if (r < 0) {
		free(o);
		return r;
	}
	HASH_ADD_KEYPTR(hh, t->objects, o->key, strlen(o->key), o);
	if (!TABLE_ADDED(hh, o)) {
		free(o->key);
		free(o);
		return -ENOMEM;
	}
	t->n++;
	*ret = o;
	return 0;
}

/*
 * The object, known by now; made again under the same name it is another. Returns NULL with *error
 * set if it cannot be kept.
 */
static struct known_object *find_or_add(struct object_table *t, enum object_kind kind,
					const json_t *object, bool *ret_new, int *error)
{
	struct object_facts f;
	struct known_object *o;

	object_facts_read(&f, object);
	o = object_table_find(t, kind, f.namespace, f.name);
	if (o && (strcmp(o->uid, f.uid) != 0 || strcmp(o->owner, f.owner) != 0)) {
		object_table_remove(t, o);
		o = NULL;
	}
	*ret_new = !o;
	if (!o)
		*error = add(t, kind, &f, &o);
	if (o)
		o->labelled = f.labelled;
	return o;
}

static bool has_pods(enum object_kind kind)
{
	struct workload_state w;

	return workload_state_read(&w, kind, NULL);
}

int object_table_saw(struct object_table *t, enum object_kind kind, const json_t *object,
		     struct known_object **ret)
{
	uint64_t digest = 0, status_digest = 0;
	struct known_object *o;
	bool is_new = false;
	int r;

	*ret = NULL;
	r = object_digest(object, &digest);
	if (r == 0)
		r = object_status_digest(object, &status_digest);
	if (r < 0)
		return r;
	o = find_or_add(t, kind, object, &is_new, &r);
	if (!o)
		return r;
	r = OBJECT_UNCHANGED;
	if (is_new)
		r = OBJECT_APPEARED;
	else if (o->leaving)
		r = OBJECT_UNCHANGED;
	else if (digest != o->digest && digest != o->applied)
		r = OBJECT_DRIFTED;
	else if (status_digest != o->status_digest && has_pods(kind))
		r = OBJECT_PROGRESSED;
	o->digest = digest;
	o->status_digest = status_digest;
	o->listed = true;
	*ret = o;
	return r;
}

int object_table_wrote(struct object_table *t, enum object_kind kind, const json_t *object)
{
	struct known_object *o;
	uint64_t digest = 0;
	bool is_new = false;
	int r = object_digest(object, &digest);

	if (r < 0)
		return r;
	o = find_or_add(t, kind, object, &is_new, &r);
	if (!o)
		return r;
	/* an event that came first may have been that of this write */
	r = is_new || o->digest != digest || (o->applied != digest && (o->applied || o->unsettled));
	o->applied = digest;
	/* what an event showed meanwhile may be newer than the answer */
	if (is_new || !o->unsettled)
		o->digest = digest;
	o->listed = true;
	return r;
}

bool object_table_settle(struct object_table *t, const char *owner)
{
	bool drifted = false;

	for (struct known_object *o = t->objects; o; o = o->hh.next) {
		if (!o->unsettled || strcmp(o->owner, owner) != 0)
			continue;
		o->unsettled = false;
		drifted |= o->digest != o->applied;
	}
	return drifted;
}

void object_table_list_begin(struct object_table *t, enum object_kind kind)
{
	for (struct known_object *o = t->objects; o; o = o->hh.next)
		if (o->kind == kind)
			o->listed = false;
}

void object_table_list_end(struct object_table *t, enum object_kind kind,
			   void (*removed)(void *ctx, const char *owner), void *ctx)
{
	struct known_object *o, *next;

	HASH_ITER(hh, t->objects, o, next)
	{
		if (o->kind != kind || o->listed)
			continue;
		if (!o->leaving)
			removed(ctx, o->owner);
		object_table_remove(t, o);
	}
}
