/*
 * For people who want to see, before they apply a resource, what becomes of it, and for tests: the
 * objects go to standard output as a List that kubectl understands, what is wrong with the resource
 * to standard error.
 *
 * There is no cluster to ask, so the namespace may be missing, the uid is made up, and ClickHouse
 * counts as not there.
 */
#include "cluster-agent/operator/render_command.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "cluster-agent/operator/operator_options.h"
#include "cluster-agent/operator/render/object_template.h"
#include "cluster-agent/operator/render/render.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/limits.h"
#include "common/system/fs.h"

#define FILE_BYTES (4 * MIB)
#define NO_UID "00000000-0000-0000-0000-000000000000"

static void put_default(json_t *object, const char *key, const char *value, int *r)
{
	if (json_is_object(object) && !json_object_get(object, key) &&
	    json_object_set_new(object, key, json_string(value)) < 0)
		*r = -ENOMEM;
}

static int load_resource(json_t **ret, const char *file, struct err *err)
{
	CLEANUP(buf_fini) struct buf text;
	json_t *metadata;
	int r;

	buf_init(&text, FILE_BYTES);
	if (strcmp(file, "-") != 0)
		r = fs_read_at(AT_FDCWD, file, &text);
	else
		r = fs_read_fd(STDIN_FILENO, &text);
	if (r < 0)
		return err_set(err, r, "%s: %s", file, strerror(-r));
	r = text.len > 0 ? object_yaml_load(ret, text.data, text.len, err)
			 : err_set(err, -EBADMSG, "is empty");
	if (r < 0)
		return err_wrap(err, r, "%s", file);
	metadata = json_object_get(*ret, "metadata");
	put_default(metadata, "namespace", "default", &r);
	put_default(metadata, "uid", NO_UID, &r);
	return r;
}

/* NULL if the variable is missing or empty. */
static const char *given(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0] ? value : NULL;
}

/* As the operator itself has them in its environment, where its chart puts them. */
static const char *image(const char *variable, const char *option)
{
	const char *value = given(variable);

	if (value)
		return value;
	for (const struct option_def *d = operator_option_defs; d->name; d++) {
		if (!strcmp(d->name, option) && d->def)
			return d->def;
	}
	return option;
}

static int print_list(const struct rendered *out, struct err *err)
{
	json_t *items = json_array(), *list;
	int r = items ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < out->n_objects; i++)
		r = json_array_append(items, out->objects[i].body) < 0 ? -ENOMEM : 0;
	list = json_pack("{s:s s:s s:o}", "apiVersion", "v1", "kind", "List", "items", items);
	if (r == 0 && (!list || json_dumpf(list, stdout, JSON_INDENT(2)) < 0 ||
		       putchar('\n') == EOF || fflush(stdout) != 0))
		r = err_set(err, -EIO, "cannot write to standard output");
	json_decref(list);
	return r;
}

static void print_notes(const struct rendered *out, const struct spec_problems *problems)
{
	const struct spec_problem_list *wrong = &problems->wrong, *unused = &problems->unused;

	for (size_t i = 0; i < wrong->n; i++)
		fprintf(stderr, "%s: %s\n", wrong->at[i].path, wrong->at[i].text);
	for (size_t i = 0; i < unused->n; i++)
		fprintf(stderr, "%s: %s\n", unused->at[i].path,
			unused->at[i].text ? unused->at[i].text : "has no effect");
	for (size_t i = 0; i < out->n_secrets; i++)
		fprintf(stderr, "Secret %s: is made with a random \"%s\" if it is missing\n",
			out->secrets[i].name, out->secrets[i].key);
}

static int render(const json_t *resource, struct err *err)
{
	const struct operator_images images = {
		.node_agent = image("NODE_AGENT_IMAGE", "coroot-node-agent"),
		.cluster_agent = image("CLUSTER_AGENT_IMAGE", "coroot-cluster-agent"),
		.store = image("STORE_IMAGE", "coroot-cluster-agent-store"),
		.clickhouse = image("CLICKHOUSE_IMAGE", "clickhouse-image"),
		.keeper = image("KEEPER_IMAGE", "keeper-image"),
		.pull_secret = given("IMAGE_PULL_SECRET"),
		.node_agent_scc = given("NODE_AGENT_SCC"),
	};
	CLEANUP(coroot_spec_fini) struct coroot_spec spec = {0};
	CLEANUP(spec_problems_fini) struct spec_problems problems = {0};
	CLEANUP(rendered_fini) struct rendered out = {0};
	const struct render_input in = {.spec = &spec, .images = &images};
	int r = coroot_spec_parse(&spec, resource, &problems);

	if (r < 0)
		return err_set(err, r, "is not a Coroot resource with a name");
	r = render_check(&in, &problems);
	if (r == 0)
		r = render_coroot(&out, &in);
	if (r < 0)
		return err_set(err, r, "cannot be rendered: %s", strerror(-r));
	print_notes(&out, &problems);
	return print_list(&out, err);
}

int render_command(char **args, struct err *err)
{
	json_t *resource = NULL;
	int r;

	if (!args[0] || args[1])
		return err_set(err, -EINVAL, "usage: coroot-cluster-agent operator render FILE");
	r = load_resource(&resource, args[0], err);
	if (r == 0) {
		r = render(resource, err);
		if (r < 0)
			err_wrap(err, r, "%s", args[0]);
	}
	json_decref(resource);
	return r;
}
