#include "cluster-agent/push/sample_type_config.h"

#include <errno.h>
#include <jansson.h>

static void free_json(json_t **j)
{
	json_decref(*j);
}

static int broken(struct err *err)
{
	return err_set(err, -EBADMSG, "sample_type_config is not a JSON object of sample types");
}

static void read_metric(struct sample_type_config *c, const json_t *type)
{
	const char *shown = json_string_value(json_object_get(type, "display-name"));

	if (shown && strncmp(shown, "mutex", 5) == 0)
		c->metric = "mutex";
	else if (shown && strncmp(shown, "block", 5) == 0)
		c->metric = "block";
}

int sample_type_config_parse(struct sample_type_config *ret, const char *json, size_t len,
			     struct err *err)
{
	CLEANUP(free_json) json_t *all = NULL;
	const char *name;
	json_t *type;

	*ret = (struct sample_type_config){.metric = ""};
	if (len > SAMPLE_TYPE_CONFIG_MAX_BYTES)
		return broken(err);
	all = json_loadb(json, len, 0, NULL);
	if (!json_is_object(all))
		return broken(err);
	json_object_foreach (all, name, type) {
		struct sample_type *t = &ret->types[ret->n];

		if (!json_is_object(type) || ret->n == SAMPLE_TYPES_MAX ||
		    strlen(name) >= sizeof(t->name))
			return broken(err);
		memcpy(t->name, name, strlen(name) + 1);
		t->cumulative = json_is_true(json_object_get(type, "cumulative"));
		read_metric(ret, type);
		ret->n++;
	}
	return 0;
}

bool sample_type_is_cumulative(const struct sample_type_config *c, const char *name, size_t len)
{
	for (size_t i = 0; i < c->n; i++)
		if (strlen(c->types[i].name) == len && memcmp(c->types[i].name, name, len) == 0)
			return c->types[i].cumulative;
	return false;
}
