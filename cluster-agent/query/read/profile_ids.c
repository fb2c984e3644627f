#include "cluster-agent/query/read/profile_ids.h"

#include <errno.h>

#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define WALL "wall:wall:nanoseconds:wall:nanoseconds"
#define MEMORY(name, unit) "memory:" name ":" unit ":space:bytes"
#define CONTENTIONS(name) name ":contentions:count:contentions:count"
#define DELAY(name) name ":delay:nanoseconds:contentions:count"

/* what programs of these languages push (cluster-agent/push/foreign_types.c) */
#define PUSHED(name, id)                                                                    \
	{"nodejs:" name, id}, {"python:" name, id}, {"ruby:" name, id}, {"rust:" name, id}, \
		{"dotnet:" name, id}, {"php:" name, id},                                    \
	{                                                                                   \
		"pprof:" name, id                                                           \
	}
#define HEAP(name, unit)                                          \
	{"go_runtime:heap_" name ":" unit, MEMORY(name, unit)},   \
		{"go:heap_" name ":" unit, MEMORY(name, unit)},   \
		{"java:heap_" name ":" unit, MEMORY(name, unit)}, \
		PUSHED("heap_" name ":" unit, MEMORY(name, unit))

static const struct profile_id ids[] = {
	{"ebpf:cpu:nanoseconds", CPU},
	{"go:profile_cpu:nanoseconds", CPU},
	{"java:cpu:nanoseconds", CPU},
	PUSHED("cpu:nanoseconds", CPU),
	{"java:wall:nanoseconds", WALL},
	PUSHED("wall:nanoseconds", WALL),
	HEAP("alloc_objects", "count"),
	HEAP("alloc_space", "bytes"),
	HEAP("inuse_objects", "count"),
	HEAP("inuse_space", "bytes"),
	{"go:goroutine_goroutine:count", "goroutine:goroutine:count:goroutine:count"},
	{"python:threads:count", "goroutine:goroutine:count:goroutine:count"},
	{"go:block_contentions:count", CONTENTIONS("block")},
	{"go:block_delay:nanoseconds", DELAY("block")},
	{"go:mutex_contentions:count", CONTENTIONS("mutex")},
	{"java:lock_contentions:count", CONTENTIONS("mutex")},
	PUSHED("lock_contentions:count", CONTENTIONS("mutex")),
	{"go:mutex_delay:nanoseconds", DELAY("mutex")},
	{"java:lock_delay:nanoseconds", DELAY("mutex")},
	PUSHED("lock_delay:nanoseconds", DELAY("mutex")),
};
_Static_assert(ARRAY_SIZE(ids) <= PROFILE_IDS_MAX, "as large as arrays of all ids");

const struct profile_id *profile_ids(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(ids);
	return ids;
}

void profile_id_part(const char *id, unsigned part, const char **ret, size_t *ret_len)
{
	for (; part > 0; part--) {
		id += strcspn(id, ":");
		id += *id == ':';
	}
	*ret = id;
	*ret_len = strcspn(id, ":");
}

/* The length of the first three parts, or 0 if one of them is missing or empty. */
static size_t own_len(const char *id)
{
	const char *part;
	size_t len = 0;

	for (unsigned i = 0; i < 3; i++) {
		profile_id_part(id, i, &part, &len);
		if (len == 0)
			return 0;
	}
	return (size_t)(part - id) + len;
}

/* Whether given is id, or id with ":delta". */
static bool is_id(const char *given, const char *id)
{
	size_t len = strlen(id);

	return strncmp(given, id, len) == 0 && (!given[len] || strcmp(given + len, ":delta") == 0);
}

int profile_id_types(struct profile_id_types *ret, const char *id)
{
	size_t len = own_len(id);

	ret->n_items = 0;
	if (len == 0 || len >= sizeof(ret->own))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(ids) && ret->n_items < PROFILE_ID_MAX_TYPES; i++)
		if (is_id(id, ids[i].id))
			ret->items[ret->n_items++] = ids[i].type;
	if (ret->n_items > 0)
		return 0;
	memcpy(ret->own, id, len);
	ret->own[len] = '\0';
	ret->items[ret->n_items++] = ret->own;
	return 0;
}
