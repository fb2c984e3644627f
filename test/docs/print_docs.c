/*
 * print_docs PAGE: a page of docs/ that is made of the code's own tables, on standard output;
 * "push-types" is a section of docs/push.md.
 *
 * Options come from the tables that both agents parse their command lines with. Metrics come from
 * the section "metric_tables", in which METRIC_TABLE() lists every table of the program. This
 * program links all objects of both agents, so a metric that exists is on the page.
 */
#include "cluster-agent/cluster_options.h"
#include "cluster-agent/operator/operator_command.h"
#include "cluster-agent/operator/spec/coroot_crd.h"
#include "cluster-agent/operator/spec/coroot_fields.h"
#include "cluster-agent/push/foreign_types.h"
#include "cluster-agent/wait_command.h"
#include "common/limits.h"
#include "common/options/option_value.h"
#include "common/telemetry/metrics.h"
#include "node-agent/goroutines_command.h"
#include "node-agent/node_options.h"

#define MAX_METRICS 512
#define NAME_BYTES 128

static void print_generated(const char *title)
{
	printf("# %s\n\n<!-- Generated from the code by `make docs`. -->\n\n", title);
}

/* In a table '|' separates columns, in code too. */
static void print_cell(const char *text)
{
	for (; *text; text++) {
		if (*text == '|' || *text == '<')
			putchar('\\');
		putchar(*text);
	}
}

/* ---- options ------------------------------------------------------------------------------- */

/* A value in code is shown as it is, apart from '|'. */
static void print_code(const char *text)
{
	putchar('`');
	for (; *text; text++) {
		if (*text == '|')
			putchar('\\');
		putchar(*text);
	}
	putchar('`');
}

static void print_option(const struct option_def *d)
{
	char form[OPTION_FORM_BYTES], range[2 * OPTION_VALUE_BYTES];

	option_form(d, form);
	option_range(d, range);
	printf("| ");
	print_code(form);
	printf(" | ");
	if (d->def || d->type == OPTION_BOOL || d->type == OPTION_ENUM)
		print_code(option_default(d));
	printf(" | ");
	print_cell(d->help);
	if (range[0])
		printf(" (%s)", range);
	if (d->variable)
		printf("; also from `%s`", d->variable);
	printf(" |\n");
}

static void print_options(const char *program, const struct option_def *defs,
			  const struct agent_command *commands)
{
	char title[64];

	snprintf(title, sizeof(title), "Options of %s", program);
	print_generated(title);
	printf("Each option is a flag, an environment variable and a key of the YAML file given "
	       "by\n"
	       "`--config`: `--log-level=warn`, `LOG_LEVEL=warn`, `log-level: warn`. A flag "
	       "overrides the\n"
	       "environment, the environment overrides the file. A flag of true or false alone "
	       "means true.\n"
	       "Durations are numbers with units: `90s`, `1m30s`, `500ms`, `2h`, `7d`.\n\n"
	       "| option | default | meaning |\n|---|---|---|\n");
	for (const struct option_def *d = defs; d->name; d++)
		print_option(d);
	printf("\nOn their own: `--config=FILE` (or `CONFIG`), `--print-config` prints the\n"
	       "configuration in effect as YAML with secrets masked, `--version`, `--help`.\n");
	if (commands->name)
		printf("\n## Commands\n\n");
	for (const struct agent_command *c = commands; c->name; c++) {
		if (c->program)
			printf("* `%s %s`: %s ([its options](options-%s.md)).\n", program, c->name,
			       c->help, c->name);
		else
			printf("* `%s %s%s%s`: %s.\n", program, c->name, c->arguments[0] ? " " : "",
			       c->arguments, c->help);
	}
}

/* ---- metrics ------------------------------------------------------------------------------- */

enum section {
	SECTION_BOTH,
	SECTION_NODE,
	SECTION_CLUSTER,
	SECTION_MAX,
};

/* Metrics of common code belong to both agents, with these exceptions. */
static const struct {
	const char *file;
	enum section section;
	const char *prefix;
} special[] = {
	{"common/http/grpc_server.c", SECTION_CLUSTER, ""},
	{"common/http/http_server.c", SECTION_CLUSTER, ""},
	{"common/kubernetes/kube_watch_metrics.c", SECTION_CLUSTER,
	 "coroot_cluster_agent_kubernetes_pods"},
};

static const struct {
	const char *title;
	const char *folder;
	const char *prefix;
} sections[SECTION_MAX] = {
	[SECTION_BOTH] = {"Both agents", "common/", "AGENT"},
	[SECTION_NODE] = {"coroot-node-agent", "node-agent/", ""},
	[SECTION_CLUSTER] = {"coroot-cluster-agent", "cluster-agent/", ""},
};

struct shown_metric {
	enum section section;
	char name[NAME_BYTES];
	const struct metric_def *defs; /* of this name, one after the other */
	size_t n_defs;
};

extern const struct metric_table *const __start_metric_tables[];
extern const struct metric_table *const __stop_metric_tables[];

static void place(const struct metric_table *t, enum section *ret, const char **ret_prefix)
{
	for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
		if (strcmp(t->file, special[i].file) == 0) {
			*ret = special[i].section;
			*ret_prefix = special[i].prefix;
			return;
		}
	}
	for (*ret = 0; *ret < SECTION_MAX; (*ret)++) {
		const char *folder = sections[*ret].folder;

		*ret_prefix = sections[*ret].prefix;
		if (strncmp(t->file, folder, strlen(folder)) == 0)
			return;
	}
	fprintf(stderr, "print_docs: metrics of %s belong to no agent\n", t->file);
	exit(EXIT_FAILURE);
}

static size_t add_table(const struct metric_table *t, struct shown_metric *to, size_t n)
{
	enum section section;
	const char *prefix;

	place(t, &section, &prefix);
	for (size_t i = 0; i < t->n; i++) {
		const struct metric_def *d = &t->defs[i];

		if (i > 0 && strcmp(d->name, d[-1].name) == 0) {
			to[n - 1].n_defs++;
			continue;
		}
		if (n == MAX_METRICS)
			abort();
		to[n] = (struct shown_metric){.section = section, .defs = d, .n_defs = 1};
		snprintf(to[n].name, NAME_BYTES, "%s%s", d->name[0] == '_' ? prefix : "", d->name);
		n++;
	}
	return n;
}

static int by_section_and_name(const void *left, const void *right)
{
	const struct shown_metric *a = left, *b = right;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* `reason`: `a`, `b`; or the names alone of labels whose values come and go. */
static void print_labels(const struct shown_metric *m)
{
	const char *labels = m->defs->labels;
	size_t len;

	if (!labels)
		return;
	len = strcspn(labels, "=");
	if (!labels[len]) {
		printf("`%s`", labels);
		return;
	}
	printf("`%.*s`: ", (int)len, labels);
	for (size_t i = 0; i < m->n_defs; i++) {
		const char *value = m->defs[i].labels + len + 2; /* after =" */

		printf("%s`%.*s`", i ? ", " : "", (int)strcspn(value, "\""), value);
	}
}

static void print_metric(const struct shown_metric *m)
{
	printf("| `%s` | %s | ", m->name, metric_kind_counts(m->defs->kind) ? "counter" : "gauge");
	print_labels(m);
	printf(" | ");
	print_cell(m->defs->help);
	printf(" |\n");
}

static void print_metrics(void)
{
	static struct shown_metric metrics[MAX_METRICS];
	size_t n = 0;

	for (const struct metric_table *const *t = __start_metric_tables; t < __stop_metric_tables;
	     t++)
		n = add_table(*t, metrics, n);
	qsort(metrics, n, sizeof(*metrics), by_section_and_name);

	print_generated("Metrics");
	printf("Both agents serve these in Prometheus' text format on `/metrics` of `--listen`. "
	       "`AGENT`\n"
	       "stands for `coroot_node_agent` and `coroot_cluster_agent`.\n");
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || metrics[i].section != metrics[i - 1].section)
			printf("\n## %s\n\n| metric | type | labels | meaning "
			       "|\n|---|---|---|---|\n",
			       sections[metrics[i].section].title);
		print_metric(&metrics[i]);
	}
}

/* ---- the Coroot resource ------------------------------------------------------------------- */

static void print_crd(void)
{
	struct buf out;

	buf_init(&out, MIB);
	if (coroot_crd_write(&out) < 0)
		abort();
	fwrite(out.data, 1, out.len, stdout);
	buf_fini(&out);
}

/* "spec.", apart from fields of lists. */
static void print_field_type(const struct coroot_field *f)
{
	printf(" | ");
	if (f->choices) {
		for (size_t i = 0; f->choices[i]; i++)
			printf("%s`%s`", i ? ", " : "", f->choices[i]);
	} else if (f->type == FIELD_INTEGER && f->max > 0) {
		printf("%lld to %lld", (long long)f->min, (long long)f->max);
	} else {
		print_cell(f->rule ? f->rule->what : coroot_field_type_text(f->type));
	}
	printf(" | ");
}

static void print_field(const struct coroot_field *f)
{
	printf("| `%s`", f->path + strlen("spec."));
	print_field_type(f);
	if (f->def)
		print_code(f->def);
	printf(" | ");
	print_cell(f->help);
	printf(" |\n");
}

/* The table of fields is in this order. */
static const struct {
	const char *first, *title;
} field_sections[] = {
	{"spec.metricsRefreshInterval", "All components"},
	{"spec.nodeAgent", "Node agent"},
	{"spec.clusterAgent", "Cluster agent"},
	{"spec.nodeSelector", "Server"},
	{"spec.clickhouse", "ClickHouse"},
	{"spec.externalClickhouse", "A ClickHouse that is there already"},
};

static void print_field_section(const struct coroot_field *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(field_sections); i++) {
		if (strcmp(f->path, field_sections[i].first) == 0)
			printf("\n### %s\n\n| field | value | default | meaning |\n"
			       "|---|---|---|---|\n",
			       field_sections[i].title);
	}
}

static const char resource_head[] =
	"A `Coroot` resource (`coroot.com/v1`) says what the operator installs in its namespace. "
	"Everything\nhas a default; this one reads heap profiles of Go programs that nobody "
	"prepared for it:\n\n"
	"```yaml\n"
	"apiVersion: coroot.com/v1\n"
	"kind: Coroot\n"
	"metadata:\n"
	"  name: coroot\n"
	"  namespace: coroot\n"
	"spec:\n"
	"  nodeAgent:\n"
	"    env:\n"
	"      - name: GO_HEAP_PROFILER\n"
	"        value: force\n"
	"```\n\n"
	"The fields are those of Coroot's operator (v1.9), so an existing resource is accepted as "
	"it is. Those\nthat are not about profiles are listed in its status as not used. A field "
	"that is wrong or unknown\ncounts as not given and is in `status.errors` with its path; "
	"the rest of the resource is applied:\n\n"
	"```sh\n"
	"kubectl get coroots -A\n"
	"kubectl describe coroot -n coroot coroot\n"
	"kubectl explain coroot.spec.clickhouse\n"
	"```\n\n"
	"Where profiles are stored: with `externalClickhouse` there; with `clickhouse` in servers "
	"that the\noperator runs; with `agentsOnly` nowhere, they are sent to another server; "
	"otherwise in the server's\nown pod, on its volume.\n\n"
	"## Fields\n\n"
	"All paths begin with `spec.`; `[]` stands for each item of a list.\n";

static void print_resource(void)
{
	print_generated("The Coroot resource");
	fputs(resource_head, stdout);
	for (size_t i = 0; i < n_coroot_fields; i++) {
		print_field_section(&coroot_fields[i]);
		if (!coroot_fields[i].unused)
			print_field(&coroot_fields[i]);
	}
	printf("\n## Accepted, not used\n\n| field | what it is about |\n|---|---|\n");
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];

		if (!f->unused)
			continue;
		printf("| `%s` | ", f->path + strlen("spec."));
		print_cell(f->help);
		printf(" |\n");
	}
}

/* ---- sample types of other profilers ------------------------------------------------------- */

static bool same_target(const struct foreign_type *a, const struct foreign_type *b)
{
	return a->source == b->source && strcmp(a->metric, b->metric) == 0 &&
	       strcmp(a->type, b->type) == 0;
}

/* A row per profile type, with all sample types that become it. */
static void print_push_types(void)
{
	size_t n;
	const struct foreign_type *t = foreign_types(&n);

	printf("| from | sample type | profile type |\n|---|---|---|\n");
	for (size_t i = 0; i < n; i++) {
		bool any = t[i].source == FOREIGN_ANY, first = true;

		for (size_t j = 0; j < i; j++)
			first &= !same_target(&t[i], &t[j]);
		if (!first)
			continue;
		printf("| %s%s%s | ", any ? "all others" : foreign_source_name(t[i].source),
		       t[i].metric[0] ? ", " : "", t[i].metric);
		for (size_t j = i; j < n; j++)
			if (same_target(&t[i], &t[j]))
				printf("%s`%s`", j > i ? ", " : "", t[j].name);
		printf(" | `%s:%s` |\n", any ? "<source>" : foreign_source_name(t[i].source),
		       t[i].type);
	}
	printf("\n`<source>` is one of");
	for (int s = 0; s < FOREIGN_SOURCE_MAX; s++)
		printf("%s `%s`", s > 0 ? "," : "", foreign_source_name((enum foreign_source)s));
	printf(".\n");
}

int main(int argc, char **argv)
{
	const struct agent_command node_commands[] = {goroutines_command, {0}};
	const struct agent_command cluster_commands[] = {operator_command, wait_command, {0}};
	const char *page = argc == 2 ? argv[1] : "";

	if (strcmp(page, "options-node-agent") == 0) {
		print_options("coroot-node-agent", node_option_defs, node_commands);
	} else if (strcmp(page, "options-cluster-agent") == 0) {
		print_options("coroot-cluster-agent", cluster_option_defs, cluster_commands);
	} else if (strcmp(page, "options-operator") == 0) {
		print_options(operator_program.name, operator_program.options,
			      operator_program.commands);
	} else if (strcmp(page, "metrics") == 0) {
		print_metrics();
	} else if (strcmp(page, "custom-resource") == 0) {
		print_resource();
	} else if (strcmp(page, "push-types") == 0) {
		print_push_types();
	} else if (strcmp(page, "crd") == 0) {
		print_crd();
	} else {
		fprintf(stderr, "usage: print_docs options-node-agent|options-cluster-agent|"
				"options-operator|metrics|custom-resource|push-types|crd\n");
		return EXIT_FAILURE;
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
