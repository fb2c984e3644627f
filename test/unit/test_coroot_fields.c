#include <jansson.h>

#include "cluster-agent/operator/spec/coroot_crd.h"
#include "cluster-agent/operator/spec/coroot_fields.h"
#include "common/limits.h"
#include "test/lib/unit.h"

#define PATH_BYTES 128

/* The path without its last part, without "[]". */
static void parent_of(const struct coroot_field *f, char ret[static PATH_BYTES])
{
	snprintf(ret, PATH_BYTES, "%.*s", (int)(coroot_field_name(f) - f->path - 1), f->path);
}

static const struct coroot_field *find(const char *path)
{
	for (size_t i = 0; i < n_coroot_fields; i++) {
		if (strcmp(coroot_fields[i].path, path) == 0)
			return &coroot_fields[i];
	}
	return NULL;
}

TEST(every_field_has_a_parent_of_the_right_type)
{
	char parent[PATH_BYTES];

	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i], *p;
		enum coroot_field_type type = FIELD_OBJECT;
		size_t len;

		assert_ptr_equal(find(f->path), f); /* once only */
		parent_of(f, parent);
		assert_ptr_equal(coroot_field_find(parent, coroot_field_name(f)), f);
		if (strcmp(parent, "spec") == 0)
			continue;
		len = strlen(parent);
		if (strcmp(parent + len - 2, "[]") == 0) {
			parent[len - 2] = '\0';
			type = FIELD_OBJECTS;
		}
		p = find(parent);
		if (!p || p->type != type || p->unused)
			fail_msg("%s has no such parent", f->path);
	}
}

TEST(every_field_says_what_it_is)
{
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];

		assert_true(strlen(f->help) > 3);
		assert_int_not_equal(f->help[strlen(f->help) - 1], '.');
		assert_null(strstr(f->help, "{{")); /* a chart has the text in it */
		assert_true(strlen(coroot_field_type_text(f->type)) > 3);
		if (f->unused)
			assert_int_equal(f->offset, 0);
		if (f->type == FIELD_STRING && !f->unused)
			assert_true(f->rule || f->choices);
		if (f->type == FIELD_INTEGER && !f->unused)
			assert_true(f->min < f->max);
		if (f->def && f->rule)
			assert_true(f->rule->fits(f->def));
	}
}

TEST(no_two_fields_are_stored_in_one_place)
{
	for (size_t i = 0; i < n_coroot_fields; i++) {
		for (size_t j = 0; j < i; j++)
			assert_true(coroot_fields[i].offset == 0 ||
				    coroot_fields[i].offset != coroot_fields[j].offset);
	}
}

TEST(a_misspelt_field_is_recognized)
{
	static const struct {
		const char *parent, *name, *meant;
	} cases[] = {
		{"spec", "nodeagent", "nodeAgent"},
		{"spec", "node_agent", "nodeAgent"},
		{"spec", "clickHouse", "clickhouse"},
		{"spec", "profilesTtl", "profilesTTL"},
		{"spec", "replica", "replicas"},
		{"spec", "apikey", "apiKey"},
		{"spec.nodeAgent", "updatestrategy", "updateStrategy"},
		{"spec.nodeAgent", "toleration", "tolerations"},
		{"spec.clickhouse", "shard", "shards"},
		{"spec.projects[].apiKeys[]", "secretKey", NULL},
		{"spec", "nothingOfTheKind", NULL},
		{"spec", "x", NULL},
		{"spec", "", NULL},
		{"spec.nodeAgent", "clickhouse", NULL},
		{"spec", "aNameThatIsMuchLongerThanAnyFieldThatThereIs", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct coroot_field *f = coroot_field_like(cases[i].parent, cases[i].name);

		if (!cases[i].meant) {
			if (f)
				fail_msg("%s is taken for %s", cases[i].name, f->path);
			continue;
		}
		assert_non_null(f);
		assert_string_equal(coroot_field_name(f), cases[i].meant);
	}
}

TEST(the_definition_names_every_field)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, MIB);
	assert_int_equal(coroot_crd_write(&out), 0);
	for (size_t i = 0; i < n_coroot_fields; i++) {
		char key[PATH_BYTES];

		snprintf(key, sizeof(key), " %s:\n", coroot_field_name(&coroot_fields[i]));
		assert_non_null(strstr(out.data, key));
	}
	assert_null(strstr(out.data, "{{"));
}

static int write_definition(void *arg)
{
	CLEANUP(buf_fini) struct buf out;

	(void)arg;
	buf_init(&out, MIB);
	return coroot_crd_write(&out);
}

TEST(memory_may_be_short)
{
	check_oom(write_definition, NULL);
}
