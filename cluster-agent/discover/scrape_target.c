#include "cluster-agent/discover/scrape_target.h"

#include <assert.h>

static const struct {
	const char *name;
	const char *path;
	const char *grafana;
} kinds[PROFILE_KIND_MAX] = {
	[PROFILE_KIND_CPU] = {"cpu", "profile", "cpu"},
	[PROFILE_KIND_HEAP] = {"heap", "heap", "memory"},
	[PROFILE_KIND_GOROUTINE] = {"goroutine", "goroutine", "goroutine"},
	[PROFILE_KIND_MUTEX] = {"mutex", "mutex", "mutex"},
	[PROFILE_KIND_BLOCK] = {"block", "block", "block"},
};

const char *profile_kind_name(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].name;
}

const char *profile_kind_path(enum profile_kind k)
{
	assert(k < PROFILE_KIND_MAX);
	return kinds[k].path;
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
