#include "common/kubernetes/lease_json.h"

#include <errno.h>

#include "common/text/json_writer.h"
#include "common/text/rfc3339.h"

/* Returns "" if missing or not a string; a string with a NUL inside ends there. */
static const char *get_string(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static bool parse_lease(struct lease *ret, const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *spec = json_object_get(object, "spec");

	*ret = (struct lease){
		.name = get_string(meta, "name"),
		.version = get_string(meta, "resourceVersion"),
		.uid = get_string(meta, "uid"),
		.holder = get_string(spec, "holderIdentity"),
		.acquired = get_string(spec, "acquireTime"),
		.transitions = json_integer_value(json_object_get(spec, "leaseTransitions")),
	};
	return ret->name[0] && strlen(ret->name) < LEASE_NAME_BYTES && ret->version[0] &&
	       strlen(ret->version) < LEASE_VERSION_BYTES &&
	       strlen(ret->uid) < LEASE_VERSION_BYTES && strlen(ret->acquired) < LEASE_TIME_BYTES &&
	       ret->transitions >= 0 && ret->transitions < INT32_MAX;
}

static void add_lease(struct lease_doc *d, const json_t *object)
{
	if (parse_lease(&d->leases[d->n], object))
		d->n++;
	else
		d->n_bad++;
}

static int read_items(struct lease_doc *d, const json_t *items)
{
	size_t n = json_array_size(items);

	d->more = n > LEASE_LIST_MAX;
	n = n < LEASE_LIST_MAX ? n : LEASE_LIST_MAX;
	d->leases = calloc(n > 0 ? n : 1, sizeof(*d->leases));
	if (!d->leases)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		add_lease(d, json_array_get(items, i));
	return 0;
}

static int read_lease(struct lease_doc *d)
{
	d->leases = calloc(1, sizeof(*d->leases));
	if (!d->leases)
		return -ENOMEM;
	add_lease(d, d->root);
	return d->n == 1 ? 0 : -EBADMSG;
}

int lease_doc_parse(struct lease_doc *ret, const char *text, size_t len)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};
	const json_t *items;
	const char *kind;
	int r = -EBADMSG;

	d.root = json_loadb(text, len, 0, NULL);
	kind = get_string(d.root, "kind");
	items = json_object_get(d.root, "items");
	if (!strcmp(kind, "LeaseList") && json_is_array(items))
		r = read_items(&d, items);
	else if (!strcmp(kind, "Lease"))
		r = read_lease(&d);
	if (r < 0)
		return r;
	if (get_string(json_object_get(d.root, "metadata"), "continue")[0])
		d.more = true;

	*ret = d;
	d = (struct lease_doc){0};
	return 0;
}

void lease_doc_fini(struct lease_doc *d)
{
	free(d->leases);
	json_decref(d->root);
	*d = (struct lease_doc){0};
}

static void put_pair(struct json_writer *w, const char *key, const char *value)
{
	json_key(w, key);
	json_put_string(w, value, strlen(value));
}

static void put_metadata(struct json_writer *w, const struct lease_text *t)
{
	json_key(w, "metadata");
	json_open(w, '{');
	put_pair(w, "name", t->lease.name);
	put_pair(w, "namespace", t->namespace);
	/* with these, the server refuses to change another object or version */
	if (t->lease.uid[0])
		put_pair(w, "uid", t->lease.uid);
	if (t->lease.version[0])
		put_pair(w, "resourceVersion", t->lease.version);
	if (t->group) {
		json_key(w, "labels");
		json_open(w, '{');
		put_pair(w, LEASE_GROUP_LABEL, t->group);
		put_pair(w, "app.kubernetes.io/name", "coroot-cluster-agent");
		put_pair(w, "app.kubernetes.io/managed-by", "coroot-cluster-agent");
		json_close(w, '}');
	}
	json_close(w, '}');
}

int lease_write(struct buf *out, const struct lease_text *t)
{
	struct json_writer w;
	char renewed[32];

	rfc3339_format_us(t->renewed_ns, renewed);
	json_writer_init(&w, out);
	json_open(&w, '{');
	put_pair(&w, "apiVersion", "coordination.k8s.io/v1");
	put_pair(&w, "kind", "Lease");
	put_metadata(&w, t);
	json_key(&w, "spec");
	json_open(&w, '{');
	/* the server refuses an empty one */
	if (t->lease.holder[0])
		put_pair(&w, "holderIdentity", t->lease.holder);
	json_key(&w, "leaseDurationSeconds");
	json_put_int(&w, t->duration_s);
	put_pair(&w, "acquireTime", t->lease.acquired[0] ? t->lease.acquired : renewed);
	put_pair(&w, "renewTime", renewed);
	json_key(&w, "leaseTransitions");
	json_put_int(&w, t->lease.transitions);
	json_close(&w, '}');
	json_close(&w, '}');
	return json_writer_finish(&w);
}

int lease_write_delete(struct buf *out, const char *version)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_open(&w, '{');
	put_pair(&w, "apiVersion", "v1");
	put_pair(&w, "kind", "DeleteOptions");
	json_key(&w, "preconditions");
	json_open(&w, '{');
	put_pair(&w, "resourceVersion", version);
	json_close(&w, '}');
	json_close(&w, '}');
	return json_writer_finish(&w);
}
