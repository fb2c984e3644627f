/* Any bytes as the answer of a container runtime: every string that is passed on ends. */
#include <errno.h>

#include "node-agent/container/cri_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t total;

static void see(const char *s)
{
	total += strlen(s);
}

static void container(void *ctx, const struct cri_container *c)
{
	(void)ctx;
	see(c->id), see(c->sandbox_id), see(c->name), see(c->image), see(c->image_id);
	see(c->namespace), see(c->pod), see(c->pod_uid);
}

static void sandbox(void *ctx, const struct cri_sandbox *s)
{
	(void)ctx;
	see(s->id), see(s->namespace), see(s->pod), see(s->pod_uid), see(s->application);
	for (size_t i = 0; i < KUBE_LABEL_MAX; i++)
		see(s->labels.values[i]);
}

static void image(void *ctx, const struct cri_image *i)
{
	(void)ctx;
	see(i->id), see(i->name);
}

static void check(int r)
{
	if (r < 0 && r != -EBADMSG && r != -ENOMEM)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cri_visitor v = {container, sandbox, image, NULL};
	struct cri_version version;
	int r;

	check(cri_visit_containers(data, size, &v));
	check(cri_visit_sandboxes(data, size, &v));
	check(cri_visit_images(data, size, &v));
	r = cri_parse_version(data, size, &version);
	check(r);
	if (r == 0)
		see(version.runtime), see(version.version);
	return 0;
}
