#include "cluster-agent/operator/render/render_service.h"

#include <errno.h>

#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/render_parts.h"

#define COMPONENT "coroot"

static int add_port(json_t *ports, const char *name, int64_t number, int64_t node_port)
{
	json_t *port = json_pack("{s:s s:s s:I s:s}", "name", name, "protocol", "TCP", "port",
				 (json_int_t)number, "targetPort", name);

	if (!port || object_set_number(port, "nodePort", node_port) < 0) {
		json_decref(port);
		return -ENOMEM;
	}
	return json_array_append_new(ports, port) < 0 ? -ENOMEM : 0;
}

static json_t *service_ports(const struct coroot_service *v)
{
	json_t *ports = json_array();
	int r = ports ? add_port(ports, RENDER_PORT, v->port, v->node_port) : -ENOMEM;

	if (r == 0 && v->grpc_port)
		r = add_port(ports, RENDER_GRPC_PORT, v->grpc_port, v->grpc_node_port);
	if (r < 0) {
		json_decref(ports);
		return NULL;
	}
	return ports;
}

int render_service(struct rendered *out, const struct coroot_spec *s)
{
	const struct coroot_service *v = &s->service;
	json_t *spec = json_pack("{s:o s:o}", "selector", object_selector_labels(s, COMPONENT),
				 "ports", service_ports(v));

	if (!spec || object_set_text(spec, "type", v->type) < 0) {
		json_decref(spec);
		return -ENOMEM;
	}
	return rendered_add(
		out, OBJECT_SERVICE,
		json_pack("{s:o s:o}", "metadata",
			  object_metadata(s, COMPONENT, RENDER_SERVER, v->annotations, true),
			  "spec", spec));
}

static json_t *ingress_rule(const struct coroot_spec *s)
{
	const struct coroot_ingress *i = &s->ingress;
	json_t *rule = json_pack("{s:{s:[{s:s s:s s:{s:{s:o s:{s:s}}}}]}}", "http", "paths", "path",
				 i->path, "pathType", "Prefix", "backend", "service", "name",
				 object_name(s, RENDER_SERVER), "port", "name", RENDER_PORT);

	if (!rule || object_set_text(rule, "host", i->host) < 0) {
		json_decref(rule);
		return NULL;
	}
	return rule;
}

int render_ingress(struct rendered *out, const struct coroot_spec *s)
{
	const struct coroot_ingress *i = &s->ingress;
	json_t *spec = json_pack("{s:[o]}", "rules", ingress_rule(s));

	if (!spec || object_set_text(spec, "ingressClassName", i->class_name) < 0 ||
	    (i->tls && object_set_made(spec, "tls", json_pack("[O]", i->tls)) < 0)) {
		json_decref(spec);
		return -ENOMEM;
	}
	return rendered_add(out, OBJECT_INGRESS,
			    json_pack("{s:o s:o}", "metadata",
				      object_metadata(s, "ingress", NULL, i->annotations, true),
				      "spec", spec));
}
