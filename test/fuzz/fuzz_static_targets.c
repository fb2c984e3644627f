/* Any text as a file of targets: what comes out can be asked for without another look. */
#include <errno.h>

#include "cluster-agent/scrape/static_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_target(const struct scrape_target *t)
{
	require(t->ip[0] && t->ip[strcspn(t->ip, "/@?#% \t\r\n[]")] == '\0');
	require(t->service[0] && t->settings && t->problem && t->node);
	require(strncmp(t->uid, "static/", 7) == 0);
	require(t->n_endpoints <= PROFILE_KIND_MAX && t->n_labels <= SCRAPE_TARGET_MAX_LABELS);
	for (size_t i = 0; i < t->n_labels; i++)
		require(t->labels[i].name[0] && t->labels[i].value[0]);
	for (size_t i = 0; i < t->n_endpoints; i++) {
		const struct scrape_endpoint *e = &t->endpoints[i];

		require(e->port != 0 && e->path[0] == '/' && !strstr(e->path, ".."));
		require(e->path[strcspn(e->path, "?#%\\ \"<>")] == '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool kinds[PROFILE_KIND_MAX] = {[PROFILE_KIND_CPU] = true};
	struct static_targets t;
	struct arena arena;
	struct err err = {""};
	int r;

	arena_init(&arena, STATIC_TARGETS_ARENA_BYTES);
	r = static_targets_parse(&t, &arena, (const char *)data, size, kinds, &err);
	require(r == 0 || r == -EBADMSG || r == -EFBIG);
	require(r == 0 || r == -EFBIG || err.msg[0]);
	for (size_t i = 0; r == 0 && i < t.n; i++)
		check_target(&t.targets[i]);
	arena_fini(&arena);
	return 0;
}
