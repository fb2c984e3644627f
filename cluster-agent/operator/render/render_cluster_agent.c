#include "cluster-agent/operator/render/component.h"
#include "cluster-agent/operator/render/render.h"

int render_cluster_agent(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	CLEANUP(component_fini) struct component c;

	component_begin(&c, in, "cluster-agent", &s->cluster_agent, in->images->cluster_agent);
	component_agent(&c, &s->cluster_agent, &s->cluster_agent_tls);
	component_storage(&c, &s->cluster_agent_storage, NULL);
	component_flag(&c, "spoolEnds", !s->cluster_agent_storage.size);
	return component_add(out, &c, "objects");
}
