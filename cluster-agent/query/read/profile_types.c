#include "cluster-agent/query/read/profile_types.h"

#define SUM PROFILE_AGGREGATION_SUM
#define AVG PROFILE_AGGREGATION_AVG

#define ROW(type, title, category, aggregation, featured)           \
	{                                                           \
		type, title, category, aggregation, featured, false \
	}
/* What profilers of a language push, under names that are the same for all (docs/push.md). */
#define PUSHED(of, title)                                                                       \
	ROW(of ":cpu:nanoseconds", title " CPU", "cpu", SUM, true),                             \
		ROW(of ":wall:nanoseconds", title " Wall", "", SUM, false),                     \
		ROW(of ":off_cpu:nanoseconds", title " Off-CPU", "", SUM, false),               \
		ROW(of ":heap_alloc_objects:count", title " Memory (alloc_objects)", "memory",  \
		    SUM, false),                                                                \
		ROW(of ":heap_alloc_space:bytes", title " Memory (alloc_space)", "memory", SUM, \
		    false),                                                                     \
		ROW(of ":heap_inuse_objects:count", title " Memory (inuse_objects)", "memory",  \
		    AVG, false),                                                                \
		ROW(of ":heap_inuse_space:bytes", title " Memory (inuse_space)", "memory", AVG, \
		    true),                                                                      \
		ROW(of ":lock_contentions:count", title " Lock (contentions)", "lock", SUM,     \
		    false),                                                                     \
		ROW(of ":lock_delay:nanoseconds", title " Lock (delay)", "lock", SUM, true)

static const struct profile_type types[] = {
	{"ebpf:cpu:nanoseconds", "CPU (eBPF)", "cpu", SUM, false, true},
	{"go:profile_cpu:nanoseconds", "CPU", "cpu", SUM, true, false},
	{"java:cpu:nanoseconds", "Java CPU (async-profiler)", "cpu", SUM, true, true},
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
	{"java:heap_inuse_objects:count", "Java Memory (inuse_objects)", "memory", AVG, false,
	 true},
	{"java:heap_inuse_space:bytes", "Java Memory (inuse_space)", "memory", AVG, false, true},
	{"java:malloc_objects:count", "Java Malloc (objects)", "memory", SUM, false, false},
	{"java:malloc_space:bytes", "Java Malloc (space)", "memory", SUM, false, false},
	{"ebpf:off_cpu:nanoseconds", "Off-CPU (eBPF)", "", SUM, false, true},
	PUSHED("nodejs", "Node.js"),
	PUSHED("python", "Python"),
	PUSHED("ruby", "Ruby"),
	PUSHED("rust", "Rust"),
	PUSHED("dotnet", ".NET"),
	PUSHED("php", "PHP"),
	PUSHED("pprof", "pprof"),
	{"python:threads:count", "Python (threads)", "", AVG, false, false},
	{"go:wall:nanoseconds", "Go Wall", "", SUM, false, false},
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

/* Objects are what the memory in use consists of, once more. */
bool profile_type_is_level(const struct profile_type *t)
{
	return t->aggregation == PROFILE_AGGREGATION_AVG && !strstr(t->type, "_objects:");
}

const char *profile_type_language(const char *type)
{
	static const char *const languages[] = {"go",   "java", "nodejs", "python",
						"ruby", "rust", "dotnet", "php"};
	size_t len = strcspn(type, ":_");

	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		if (strlen(languages[i]) == len && memcmp(type, languages[i], len) == 0)
			return languages[i];
	return "";
}
