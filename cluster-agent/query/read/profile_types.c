#include "cluster-agent/query/read/profile_types.h"

#define SUM PROFILE_AGGREGATION_SUM
#define AVG PROFILE_AGGREGATION_AVG

static const struct profile_type types[] = {
	{"ebpf:cpu:nanoseconds", "CPU (eBPF)", "cpu", SUM, false, true},
	{"go:profile_cpu:nanoseconds", "CPU", "cpu", SUM, true, false},
	{"java:cpu:nanoseconds", "Java CPU (async-profiler)", "cpu", SUM, false, true},
	{"java:wall:nanoseconds", "Java Wall (async-profiler)", "", SUM, false, true},
	{"go:heap_alloc_objects:count", "Memory (alloc_objects)", "memory", SUM, false, false},
	{"go:heap_alloc_space:bytes", "Memory (alloc_space)", "memory", SUM, false, false},
	{"go:heap_inuse_objects:count", "Memory (inuse_objects)", "memory", AVG, false, false},
	{"go:heap_inuse_space:bytes", "Memory (inuse_space)", "memory", AVG, true, false},
	{"go:goroutine_goroutine:count", "Golang (goroutines)", "", AVG, false, false},
	{"go:block_contentions:count", "Golang (block_contentions)", "", SUM, false, false},
	{"go:block_delay:nanoseconds", "Golang (block_delay)", "", SUM, false, false},
	{"go:mutex_contentions:count", "Golang (mutex_contentions)", "", SUM, false, false},
	{"go:mutex_delay:nanoseconds", "Golang (mutex_delay)", "", SUM, false, false},
	{"go_runtime:heap_alloc_objects:count", "Go Memory (alloc_objects)", "memory", SUM, false,
	 true},
	{"go_runtime:heap_alloc_space:bytes", "Go Memory (alloc_space)", "memory", SUM, true, true},
	{"go_runtime:heap_inuse_objects:count", "Go Memory (inuse_objects)", "memory", AVG, false,
	 true},
	{"go_runtime:heap_inuse_space:bytes", "Go Memory (inuse_space)", "memory", AVG, true, true},
	{"java:heap_alloc_objects:count", "Java Memory (alloc_objects)", "memory", SUM, false,
	 true},
	{"java:heap_alloc_space:bytes", "Java Memory (alloc_space)", "memory", SUM, true, true},
	{"java:lock_contentions:count", "Java Lock (contentions)", "lock", SUM, false, true},
	{"java:lock_delay:nanoseconds", "Java Lock (delay)", "lock", SUM, true, true},
};

static const struct profile_type unknown = {.category = "", .aggregation = SUM};

const struct profile_type *profile_types(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(types);
	return types;
}

const struct profile_type *profile_type_find(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i].type, type) == 0)
			return &types[i];
	return NULL;
}

const struct profile_type *profile_type_get(const char *type)
{
	const struct profile_type *t = profile_type_find(type);

	return t ? t : &unknown;
}

const char *profile_type_unit(const char *type)
{
	const char *name = strchr(type, ':');
	const char *unit = name ? strchr(name + 1, ':') : NULL;

	return unit ? unit + 1 : "";
}

bool profile_type_is_cpu_time(const struct profile_type *t)
{
	return t->type && strcmp(t->category, "cpu") == 0 &&
	       strcmp(profile_type_unit(t->type), "nanoseconds") == 0;
}

const char *profile_type_language(const char *type)
{
	size_t len = strcspn(type, ":_");

	return len == 2 && memcmp(type, "go", 2) == 0     ? "go"
	       : len == 4 && memcmp(type, "java", 4) == 0 ? "java"
							  : "";
}
