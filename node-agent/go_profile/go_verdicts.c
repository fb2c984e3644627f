#include "node-agent/go_profile/go_verdicts.h"

#include <errno.h>

#include "common/data/table.h"

struct verdict {
	UT_hash_handle hh;
	struct file_id key;
	bool is_go;
};

struct go_verdicts {
	struct verdict *table;
};

int go_verdicts_new(struct go_verdicts **ret)
{
	struct go_verdicts *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	*ret = v;
	return 0;
}

static void forget(struct go_verdicts *v)
{
	struct verdict *one, *next;

	for (one = v->table; one; one = next) {
		next = one->hh.next;
		HASH_DEL(v->table, one);
		table_free(one);
	}
}

void go_verdicts_free(struct go_verdicts *v)
{
	if (!v)
		return;
	forget(v);
	free(v);
}

int go_verdicts_find(const struct go_verdicts *v, const struct file_id *key)
{
	struct verdict *one;

	HASH_FIND(hh, v->table, key, sizeof(*key), one);
	return one ? one->is_go : -ENOENT;
}

int go_verdicts_add(struct go_verdicts *v, const struct file_id *key, bool is_go)
{
	struct verdict *one;

	if (HASH_COUNT(v->table) >= GO_VERDICTS_MAX)
		forget(v);
	one = table_malloc(sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct verdict){.key = *key, .is_go = is_go};
	HASH_ADD(hh, v->table, key, sizeof(one->key), one);
	if (!TABLE_ADDED(hh, one)) {
		table_free(one);
		return -ENOMEM;
	}
	return 0;
}
