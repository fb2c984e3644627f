/*
 * Any bytes as the file of builds that are not asked for again: what is read is written as lines
 * that are read again as the same. And as the Location of a redirect: what is followed is a URL.
 */
#include <assert.h>

#include "cluster-agent/symbols/asked_builds.h"
#include "common/debuginfod/debuginfod_urls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_builds(const char *text, size_t size)
{
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL, *b = NULL;
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, ASKED_BUILDS_TEXT_MAX_BYTES);
	assert(asked_builds_new(&a) == 0 && asked_builds_new(&b) == 0);
	assert(asked_builds_read(a, "s", text, size, 1) == 0);
	assert(asked_builds_write(a, "s", &out) == 0);
	assert(asked_builds_read(b, "s", out.data, out.len, 1) == 0);
	assert(asked_builds_counts(a).n_settled == asked_builds_counts(b).n_settled);
}

static void follow(const char *text, size_t size)
{
	AUTO_FREE char *location = strndup(text, size), *to = NULL;
	struct debuginfod_urls urls;

	assert(location);
	if (debuginfod_redirect(&to, "https://a.example/x", location) == 0)
		assert(strncmp(to, "https://", 8) == 0);
	if (debuginfod_urls_parse(&urls, location, NULL) < 0)
		return;
	for (size_t i = 0; i < urls.n; i++)
		assert(strncmp(urls.urls[i], "http", 4) == 0);
	debuginfod_urls_fini(&urls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_builds((const char *)data, size);
	follow((const char *)data, size);
	return 0;
}
