#include <errno.h>

#include "cluster-agent/receive/profile_handler.h"
#include "test/lib/unit.h"

static void assert_text(const struct row_text *t, const char *expected)
{
	assert_int_equal(t->len, strlen(expected));
	assert_memory_equal(t->data, expected, t->len);
}

TEST(everything_but_the_service_is_a_label)
{
	struct upload_params p = {0};

	upload_params_add(&p, "container.id", "/docker/a");
	upload_params_add(&p, "service.name", "/docker/web");
	upload_params_add(&p, "host.name", "node1");
	upload_params_add(&p, "empty", "");
	assert_int_equal(upload_params_finish(&p, NULL), 0);
	assert_text(&p.service, "/docker/web");
	assert_text(&p.host, "node1");
	assert_int_equal(p.n_labels, 3);
	assert_text(&p.labels[0].name, "container.id");
	assert_text(&p.labels[0].value, "/docker/a");
	assert_text(&p.labels[2].name, "empty");
	assert_text(&p.labels[2].value, "");
}

TEST(a_repeated_parameter_is_no_label)
{
	struct upload_params p = {0};

	upload_params_add(&p, "service.name", "a");
	upload_params_add(&p, "x", "1");
	upload_params_add(&p, "node", "n1");
	upload_params_add(&p, "x", "2");
	upload_params_add(&p, "x", "3");
	assert_int_equal(upload_params_finish(&p, NULL), 0);
	assert_int_equal(p.n_labels, 1);
	assert_text(&p.labels[0].name, "node");
	assert_text(&p.host, "n1");
}

TEST(host_name_is_preferred_to_node)
{
	struct upload_params p = {0};

	upload_params_add(&p, "service.name", "a");
	upload_params_add(&p, "host.name", "h");
	upload_params_add(&p, "node", "n");
	assert_int_equal(upload_params_finish(&p, NULL), 0);
	assert_text(&p.host, "h");
}

TEST(without_a_service_there_is_an_error)
{
	struct upload_params p = {0};
	struct err err = {""};

	upload_params_add(&p, "service.name", "");
	upload_params_add(&p, "node", "n1");
	assert_int_equal(upload_params_finish(&p, &err), -EINVAL);
	assert_string_equal(err.msg, "query parameter service.name is missing");
}

TEST(too_many_are_an_error)
{
	static char names[UPLOAD_PARAMS_MAX + 1][8];
	struct upload_params p = {0};

	upload_params_add(&p, "service.name", "a");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(upload_params_finish(&p, NULL), 0);
		snprintf(names[i], sizeof(names[i]), "l%zu", i);
		upload_params_add(&p, names[i], "v");
	}
	assert_int_equal(upload_params_finish(&p, NULL), -EINVAL);
}
