#include "cluster-agent/operator/render/render.h"

#include <ctype.h>
#include <errno.h>

#include "cluster-agent/operator/render/component.h"
#include "common/text/parse.h"

/* Whether a user's environment has the variable with a value that an option takes for true. */
static bool env_on(const json_t *env, const char *name)
{
	bool on = false;

	for (size_t i = 0; i < json_array_size(env); i++) {
		const json_t *e = json_array_get(env, i);
		const char *n = json_string_value(json_object_get(e, "name"));
		const char *v = json_string_value(json_object_get(e, "value"));

		if (n && v && !strcmp(n, name) && parse_bool(v, strlen(v), &on) < 0)
			on = false;
	}
	return on;
}

/*
 * Profiles are all that this agent sends, and without a place to send them it does not start:
 * where the profiler is switched off, there is no agent.
 */
static bool wanted(const struct coroot_node_agent *n)
{
	return n->profiler || component_env_has(n->pod.env, "PROFILES_ENDPOINT", NULL) ||
	       component_env_has(n->pod.env, "COLLECTOR_ENDPOINT", NULL);
}

/* Whether the user's environment gives the option that value, which is a text or true. */
static bool has_option(const json_t *env, const char *option, const json_t *value)
{
	char name[64];
	size_t n = 0;

	for (; n < sizeof(name) - 1 && option[n]; n++)
		name[n] = option[n] == '-' ? '_' : (char)toupper((unsigned char)option[n]);
	name[n] = '\0';
	return json_is_true(value) ? env_on(env, name)
				   : component_env_has(env, name, json_string_value(value));
}

/* Capabilities that the agent needs for what its options ask for. */
static json_t *added_capabilities(const json_t *env)
{
	const json_t *asked = json_object_get(object_templates("agents"), "askedCapabilities");
	json_t *all = json_array();

	for (size_t i = 0; all && i < json_array_size(asked); i++) {
		const json_t *a = json_array_get(asked, i);
		json_t *options = json_object_get(a, "options"), *value;
		const char *option;
		bool found = false;

		json_object_foreach (options, option, value)
			found |= has_option(env, option, value);
		if (found && json_array_extend(all, json_object_get(a, "add")) < 0) {
			json_decref(all);
			all = NULL;
		}
	}
	return all;
}

int render_node_agent(struct rendered *out, const struct render_input *in)
{
	const struct coroot_node_agent *n = &in->spec->node_agent;
	CLEANUP(component_fini) struct component c = {0};

	if (!wanted(n))
		return 0;
	component_begin(&c, in, "node-agent", &n->pod, in->images->node_agent);
	component_agent(&c, &n->pod, &n->tls);
	component_text(&c, "scc", in->images->node_agent_scc);
	component_flag(&c, "profiler", n->profiler);
	component_made(&c, "addedCapabilities", added_capabilities(n->pod.env));
	component_json(&c, "updateStrategy", n->update_strategy);
	return component_add(out, &c, "objects");
}
