#include "node-agent/runtime/file_verdicts.h"

#include <errno.h>

#include "common/data/table.h"

struct verdict {
	UT_hash_handle hh;
	struct file_id file;
	bool has_runtime;
};

struct file_verdicts {
	struct verdict *table;
	unsigned max;
};

int file_verdicts_new(struct file_verdicts **ret, unsigned max)
{
	struct file_verdicts *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->max = max ?: FILE_VERDICTS_MAX;
	*ret = v;
	return 0;
}

static void clear(struct file_verdicts *v)
{
	struct verdict *one, *next;

	for (one = v->table; one; one = next) {
		next = one->hh.next;
		HASH_DEL(v->table, one);
		table_free(one);
	}
}

void file_verdicts_free(struct file_verdicts *v)
{
	if (!v)
		return;
	clear(v);
	free(v);
}

int file_verdicts_find(const struct file_verdicts *v, const struct file_id *file)
{
	struct verdict *one;

	HASH_FIND(hh, v->table, file, sizeof(*file), one);
	return one ? one->has_runtime : -ENOENT;
}

int file_verdicts_add(struct file_verdicts *v, const struct file_id *file, bool has_runtime)
{
	struct verdict *one;

	if (HASH_COUNT(v->table) >= v->max)
		clear(v);
	one = table_malloc(sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct verdict){.file = *file, .has_runtime = has_runtime};
	HASH_ADD(hh, v->table, file, sizeof(one->file), one);
	if (!TABLE_ADDED(hh, one)) {
		table_free(one);
		return -ENOMEM;
	}
	return 0;
}
