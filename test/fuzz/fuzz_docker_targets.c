/* Any text as Docker's list of containers: what comes out can be asked for without another look. */
#include <arpa/inet.h>
#include <errno.h>

#include "cluster-agent/discover/docker_targets.h"
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
	return utf8_is_valid(s, strlen(s));
}

static void check_target(void *ctx, const struct scrape_target *t)
{
	unsigned *n = ctx;
	unsigned char addr[16];

	require(++*n <= DOCKER_TARGETS_MAX);
	require(t->is_local && !t->settings && strlen(t->uid) == strlen("docker/") + 64);
	require(strncmp(t->service, "/docker/", 8) == 0 || strncmp(t->service, "/swarm/", 7) == 0);
	require(is_printable(t->service) && !strstr(t->service, "//") && !strchr(t->pod, '/'));
	require(is_printable(t->problem) && (t->n_endpoints > 0 || t->problem[0]));
	require(t->n_endpoints <= SCRAPE_TARGET_MAX_ENDPOINTS && t->n_containers == 1);
	require(t->n_endpoints == 0 || inet_pton(AF_INET, t->ip, addr) == 1 ||
		inet_pton(AF_INET6, t->ip, addr) == 1);
	for (size_t i = 0; i < t->n_labels; i++)
		require(t->labels[i].name[0] && t->labels[i].value[0]);
	for (size_t i = 0; i < t->n_endpoints; i++) {
		const struct scrape_endpoint *e = &t->endpoints[i];

		require(e->port != 0 && e->container == 0 && e->path[0] == '/');
		require(e->path[strcspn(e->path, "?#%\\ \"<>")] == '\0' && !strstr(e->path, ".."));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool kinds[PROFILE_KIND_MAX] = {[PROFILE_KIND_CPU] = true};
	unsigned n = 0;
	const struct docker_targets_reader reader = {false, kinds, check_target, &n};
	int r = docker_targets_read((const char *)data, size, &reader);

	require(r == 0 || r == -EBADMSG || r == -ENOSPC);
	require(r != -EBADMSG || n == 0);
	return 0;
}
