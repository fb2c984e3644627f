#include "cluster-agent/discover/scrape_target.h"

#include <assert.h>

#define PPROF "/debug/pprof/"

static const struct {
	const char *name;
	const char *path;
	const char *grafana;
	bool is_timed;
} kinds[PROFILE_KIND_MAX] = {
	[PROFILE_KIND_CPU] = {"cpu", PPROF "profile", "cpu", true},
	[PROFILE_KIND_HEAP] = {"heap", PPROF "heap", "memory", false},
	[PROFILE_KIND_GOROUTINE] = {"goroutine", PPROF "goroutine", "goroutine", false},
	[PROFILE_KIND_MUTEX] = {"mutex", PPROF "mutex", "mutex", false},
	[PROFILE_KIND_BLOCK] = {"block", PPROF "block", "block", false},
	[PROFILE_KIND_WALL] = {"wall", PPROF "wall", "wall", true},
	[PROFILE_KIND_DELTA_HEAP] = {"godeltaprof_memory", PPROF "delta_heap", "godeltaprof_memory",
				     false},
	[PROFILE_KIND_DELTA_MUTEX] = {"godeltaprof_mutex", PPROF "delta_mutex", "godeltaprof_mutex",
				      false},
	[PROFILE_KIND_DELTA_BLOCK] = {"godeltaprof_block", PPROF "delta_block", "godeltaprof_block",
				      false},
	[PROFILE_KIND_FGPROF] = {"fgprof", "/debug/fgprof", "fgprof", true},
};

const char *profile_kind_name(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].name;
}

const char *profile_kind_grafana(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].grafana;
}

const char *profile_kind_path(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].path;
}

bool profile_kind_is_timed(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].is_timed;
}

enum profile_kind profile_kind_whole(enum profile_kind k)
{
	switch (k) {
	case PROFILE_KIND_DELTA_HEAP:
		return PROFILE_KIND_HEAP;
	case PROFILE_KIND_DELTA_MUTEX:
		return PROFILE_KIND_MUTEX;
	case PROFILE_KIND_DELTA_BLOCK:
		return PROFILE_KIND_BLOCK;
	default:
		return PROFILE_KIND_MAX;
	}
}

static bool is_text(const char *s, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(s, text, len) == 0;
}

enum profile_kind profile_kind_find(const char *name, size_t len)
{
	unsigned k = 0;

	while (k < PROFILE_KIND_MAX && !is_text(name, len, kinds[k].name) &&
	       !is_text(name, len, kinds[k].grafana))
		k++;
	return (enum profile_kind)k;
}

bool scrape_path_is_valid(const char *path, size_t len)
{
	static const char marks[] = "/-._~!$&'()*+,;=:@";

	if (len == 0 || len > SCRAPE_PATH_BYTES || path[0] != '/')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = path[i];
		bool is_word =
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!is_word && (c == '\0' || !strchr(marks, c)))
			return false;
	}
	return !memmem(path, len, "..", 2);
}
