/* Any JSON as a Pod: what comes out can be used without another look. */
#include <arpa/inet.h>
#include <errno.h>

#include "cluster-agent/discover/pod_annotations.h"
#include "cluster-agent/discover/pod_target.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static void check_endpoint(const struct scrape_endpoint *e)
{
	require(e->kind < PROFILE_KIND_MAX);
	require(e->port != 0);
	require(e->path[0] == '/' && strlen(e->path) < POD_ANNOTATIONS_PATH_BYTES + 64);
	require(!strstr(e->path, ".."));
	require(e->path[strcspn(e->path, "?#%\\ \"<>")] == '\0' && is_printable(e->path));
}

static void check_container(const struct scrape_container *c)
{
	require(c->name[0] == '\0' || (is_printable(c->name) && !strchr(c->name, '/')));
	require(strncmp(c->coroot_service, "/k8s", 4) == 0);
	require(c->process != NULL);
}

static void check_target(const struct scrape_target *t)
{
	const char *const names[] = {t->uid, t->namespace, t->pod};
	unsigned char addr[16];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		require(names[i][0] && !strchr(names[i], '/') && is_printable(names[i]));
	require(t->n_endpoints > 0 || t->problem[0]);
	require(t->n_endpoints <= SCRAPE_TARGET_MAX_ENDPOINTS);
	require(is_printable(t->problem) && utf8_is_valid(t->problem, strlen(t->problem)));
	require(strlen(t->problem) < POD_ANNOTATIONS_PROBLEM_BYTES);
	require(t->n_endpoints == 0 || inet_pton(AF_INET, t->ip, addr) == 1 ||
		inet_pton(AF_INET6, t->ip, addr) == 1);
	require(strncmp(t->service, "/k8s/", 5) == 0 && t->service[strlen(t->service) - 1] != '/');
	require(t->node && t->n_containers <= SCRAPE_TARGET_MAX_CONTAINERS);
	for (size_t i = 0; i < t->n_containers; i++)
		check_container(&t->containers[i]);
	for (size_t i = 0; i < t->n_endpoints; i++) {
		check_endpoint(&t->endpoints[i]);
		require(t->endpoints[i].container < t->n_containers);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool kinds[PROFILE_KIND_MAX] = {
		[PROFILE_KIND_CPU] = true, [PROFILE_KIND_HEAP] = true};
	json_t *pod = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	struct scrape_target t;
	struct arena arena;
	int r;

	if (!pod)
		return 0;
	arena_init(&arena, POD_TARGET_ARENA_BYTES);
	r = pod_target_make(&t, &arena, pod, kinds, 0);
	require(r == 0 || r == 1 || r == -EBADMSG);
	if (r == 1)
		check_target(&t);
	arena_fini(&arena);
	json_decref(pod);
	return 0;
}
