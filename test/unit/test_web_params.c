#include <errno.h>

#include "cluster-agent/notes/note_store.h"
#include "cluster-agent/web/web_params.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define NOW INT64_C(1700000000000)
#define MS INT64_C(1000000)
#define MAX_TEXTS 8

#define SERVICE                \
	{                      \
		"service", "s" \
	}
#define TYPE                    \
	{                       \
		"type", "a:b:c" \
	}

static size_t count(const struct web_param_text *texts)
{
	size_t n = 0;

	while (n < MAX_TEXTS && texts[n].name)
		n++;
	return n;
}

static int parse(struct query_request *p, enum web_endpoint_id endpoint,
		 const struct web_param_text texts[MAX_TEXTS], struct err *err)
{
	return web_params_parse(p, endpoint, texts, count(texts), NOW, err);
}

TEST(times_become_ns)
{
	const struct web_param_text texts[MAX_TEXTS] = {{"from", "1699999990000"},
							{"to", "1700000000000"}};
	struct query_request p;

	assert_int_equal(parse(&p, WEB_APPLICATIONS, texts, NULL), 0);
	assert_true(p.filter.from_ns == (NOW - 10000) * MS && p.filter.to_ns == NOW * MS);
	assert_false(p.has_base);
}

TEST(what_is_not_given_has_a_default)
{
	const struct web_param_text texts[MAX_TEXTS] = {SERVICE, TYPE};
	struct query_request p;

	assert_int_equal(parse(&p, WEB_TIMELINE, texts, NULL), 0);
	assert_true(p.filter.from_ns == (NOW - 3600000) * MS && p.filter.to_ns == NOW * MS);
	assert_int_equal(p.n_points, 300);
	assert_null(p.filter.where);
	assert_int_equal(parse(&p, WEB_FLAMEGRAPH, texts, NULL), 0);
	assert_int_equal(p.max_nodes, 200000);
	assert_true(p.zoom == 0);
}

TEST(a_note_is_about_a_moment_and_is_found_by_its_id)
{
	const struct web_param_text note[MAX_TEXTS] = {
		{"name", "n"}, {"url", "?x"}, {"at", "1699999990000"}};
	const struct web_param_text by_id[MAX_TEXTS] = {{"id", "00000000000000aa"}};
	const struct web_param_text none[MAX_TEXTS] = {{NULL, NULL}};
	struct query_request p;
	struct err err = {""};

	assert_int_equal(parse(&p, WEB_NOTE_ADD, note, NULL), 0);
	assert_string_equal(p.name, "n");
	assert_string_equal(p.url, "?x");
	assert_true(p.at_ns == (NOW - 10000) * MS);
	assert_int_equal(parse(&p, WEB_NOTES, none, NULL), 0);
	assert_true(p.id == 0 && p.at_ns == NOW * MS && p.limit == 500);
	assert_int_equal(parse(&p, WEB_NOTE_DELETE, by_id, NULL), 0);
	assert_true(p.id == 0xaa);
	assert_int_equal(parse(&p, WEB_SNAPSHOT, none, &err), -EINVAL);
	assert_string_equal(err.msg, "id is missing");
	assert_int_equal(parse(&p, WEB_SNAPSHOT_ADD, note, &err), -EINVAL);
	assert_string_equal(err.msg, "service is missing");
}

TEST(the_limit_of_a_name_is_in_characters)
{
	char name[4 * NOTE_STORE_NAME_CHARACTERS + 2] = "";
	const struct web_param_text note[MAX_TEXTS] = {{"name", name}};
	struct query_request p;
	struct err err = {""};

	for (unsigned i = 0; i < NOTE_STORE_NAME_CHARACTERS; i++)
		memcpy(name + strlen(name), "\xf0\x9f\x94\xa5", 5);
	assert_int_equal(parse(&p, WEB_NOTE_ADD, note, &err), 0);
	assert_string_equal(p.name, name);
	memcpy(name + strlen(name), "x", 2);
	assert_int_equal(parse(&p, WEB_NOTE_ADD, note, &err), -EINVAL);
	assert_string_equal(err.msg, "name is longer than 100 characters");
}

static int parse_ttl(const char *text, enum web_endpoint_id endpoint, uint64_t *ret_s,
		     struct err *err)
{
	const struct web_param_text texts[MAX_TEXTS] = {
		SERVICE, TYPE, {"name", "n"}, {"ttl", text}};
	struct query_request p;
	int r = parse(&p, endpoint, texts, err);

	*ret_s = p.ttl_ns / NS_PER_S;
	return r;
}

TEST(the_life_of_a_snapshot_is_in_seconds_or_a_duration)
{
	static const char *const bad[] = {"",   "0", "59",        "59s",   "-1",
					  "7x", "d", "315360001", "3651d", "99999999999999999999"};
	struct err err = {""};
	uint64_t s;

	assert_int_equal(parse_ttl("3600", WEB_SNAPSHOT_ADD, &s, &err), 0);
	assert_int_equal(s, 3600);
	assert_int_equal(parse_ttl("1d12h", WEB_SNAPSHOT_ADD, &s, &err), 0);
	assert_int_equal(s, 36 * 3600);
	assert_int_equal(parse_ttl("315360000", WEB_SNAPSHOT_ADD, &s, &err), 0);
	assert_int_equal(s, 315360000);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_ttl(bad[i], WEB_SNAPSHOT_ADD, &s, &err), -EINVAL);
	assert_string_equal(err.msg, "ttl is not a duration such as 7d or 3600 (seconds), from 60 "
				     "s to 3650 d");
	assert_int_equal(parse_ttl("3600", WEB_NOTE_ADD, &s, &err), -EINVAL);
}

TEST(nonsense_is_refused_with_a_sentence)
{
	static const struct {
		struct web_param_text texts[MAX_TEXTS];
		const char *reason;
	} cases[] = {
		{{{"from", "x"}}, "from is not a number from 0 to 7258118400000"},
		{{{"from", "-1"}}, "from is not a number from 0 to 7258118400000"},
		{{{"to", "0"}}, "to is not a number from 1 to 7258118400000"},
		{{{"to", "7258118400001"}}, "to is not a number from 1 to 7258118400000"},
		{{SERVICE, TYPE, {"from", "5"}, {"to", "5"}}, "from is not before to"},
		{{SERVICE, TYPE, {"from", "5"}, {"to", "4"}}, "from is not before to"},
		{{SERVICE, TYPE, {"from", "0"}}, "the range is longer than 366 days"},
		{{SERVICE, TYPE, {"baseFrom", "1700000000000"}}, "baseFrom is not before baseTo"},
		{{SERVICE, TYPE, {"baseFrom", "0"}}, "the range is longer than 366 days"},
		{{SERVICE, TYPE, {"zoom", "123"}}, "zoom is not 16 hexadecimal digits"},
		{{SERVICE, TYPE, {"zoom", "0123456789ABCDEF"}},
		 "zoom is not 16 hexadecimal digits"},
		{{{"maxNodes", "0"}}, "maxNodes is not a number from 1 to 1000000"},
		{{{"maxNodes", ""}}, "maxNodes is not a number from 1 to 1000000"},
		{{{"maxNodes", "1000001"}}, "maxNodes is not a number from 1 to 1000000"},
		{{TYPE}, "service is missing"},
		{{SERVICE}, "type is missing"},
		{{SERVICE, {"type", ""}}, "type is missing"},
		{{SERVICE, SERVICE}, "service is given twice"},
		{{SERVICE, TYPE, {"points", "5"}},
		 "points is not a parameter here; there are service, type, from, to, instance, "
		 "where, baseFrom, baseTo, baseService, baseInstance, baseWhere, maxNodes, zoom, "
		 "format"},
		{{SERVICE, TYPE, {"format", "xml"}}, "format is not json or columns"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct query_request p;
		struct err err = {""};

		assert_int_equal(parse(&p, WEB_FLAMEGRAPH, cases[i].texts, &err), -EINVAL);
		assert_string_equal(err.msg, cases[i].reason);
	}
}

TEST(wrong_matchers_are_refused_by_the_name_of_the_parameter)
{
	const struct web_param_text texts[MAX_TEXTS] = {SERVICE, TYPE, {"baseWhere", "pod"}};
	struct query_request p;
	struct err err = {""};

	assert_int_equal(parse(&p, WEB_FLAMEGRAPH, texts, &err), -EINVAL);
	assert_memory_equal(err.msg, "baseWhere: ", 11);
}

TEST(texts_that_are_too_long_are_refused)
{
	char *text = malloc(5000);
	const struct web_param_text texts[MAX_TEXTS] = {{"service", text}};
	struct query_request p;
	struct err err = {""};

	memset(text, 'x', 4999);
	text[4999] = '\0';
	assert_int_equal(parse(&p, WEB_FLAMEGRAPH, texts, &err), -EINVAL);
	assert_string_equal(err.msg, "service is longer than 4096 bytes");
	free(text);
}

TEST(texts_are_passed_on)
{
	const struct web_param_text texts[MAX_TEXTS] = {SERVICE,
							TYPE,
							{"instance", "i"},
							{"where", "pod=\"a\""},
							{"zoom", "00000000000000ff"}};
	struct query_request p;

	assert_int_equal(parse(&p, WEB_FLAMEGRAPH, texts, NULL), 0);
	assert_string_equal(p.filter.service, "s");
	assert_string_equal(p.filter.type, "a:b:c");
	assert_string_equal(p.filter.instance, "i");
	assert_ptr_equal(p.filter.where, &p.where);
	assert_string_equal(p.where.items[0].value, "a");
	assert_true(p.zoom == 255);
}

TEST(what_is_not_given_of_the_base_is_as_in_the_selection)
{
	const struct web_param_text range[MAX_TEXTS] = {
		SERVICE,          TYPE,           {"instance", "i"},   {"where", "pod=\"a\""},
		{"from", "1000"}, {"to", "2000"}, {"baseFrom", "500"}, {"baseTo", "1000"}};
	const struct web_param_text labels[MAX_TEXTS] = {
		SERVICE,          TYPE,           {"instance", "i"},    {"where", "pod=\"a\""},
		{"from", "1000"}, {"to", "2000"}, {"baseInstance", ""}, {"baseWhere", ""}};
	struct query_request p;

	assert_int_equal(parse(&p, WEB_FLAMEGRAPH, range, NULL), 0);
	assert_true(p.has_base && p.base.from_ns == 500 * MS && p.base.to_ns == 1000 * MS);
	assert_string_equal(p.base.service, "s");
	assert_string_equal(p.base.type, "a:b:c");
	assert_string_equal(p.base.instance, "i");
	assert_ptr_equal(p.base.where, &p.where);

	assert_int_equal(parse(&p, WEB_FLAMEGRAPH, labels, NULL), 0);
	assert_true(p.has_base && p.base.from_ns == 1000 * MS && p.base.to_ns == 2000 * MS);
	assert_string_equal(p.base.instance, "");
	assert_null(p.base.where);
}

TEST(names_that_begin_with_an_underscore_are_ignored)
{
	const struct web_param_text texts[MAX_TEXTS] = {{"_", "1"}, {"_t", ""}, {"_", "2"}};
	struct query_request p;

	assert_int_equal(parse(&p, WEB_TYPES, texts, NULL), 0);
}

TEST(seconds_are_the_length_of_the_range)
{
	const struct web_param_text texts[MAX_TEXTS] = {SERVICE, TYPE, {"seconds", "30"}};
	const struct web_param_text both[MAX_TEXTS] = {
		SERVICE, TYPE, {"seconds", "30"}, {"from", "1000"}};
	struct query_request p;
	struct err err = {""};

	assert_int_equal(parse(&p, WEB_PPROF, texts, NULL), 0);
	assert_true(p.filter.from_ns == (NOW - 30000) * MS && p.filter.to_ns == NOW * MS);
	assert_int_equal(parse(&p, WEB_PPROF, both, &err), -EINVAL);
	assert_string_equal(err.msg, "from and seconds exclude each other");
}

/* A row that no endpoint takes is forgotten, and a second one of a name would never be read. */
TEST(every_row_belongs_to_endpoints_and_is_found)
{
	size_t n;
	const struct web_param *rows = web_params(&n);

	for (size_t i = 0; i < n; i++) {
		assert_true(rows[i].endpoints != 0);
		assert_true((rows[i].required & ~rows[i].endpoints) == 0);
		assert_true(rows[i].help[0] && rows[i].name[0] != '_');
		for (size_t k = 0; k < i; k++)
			if (strcmp(rows[k].name, rows[i].name) == 0)
				assert_true((rows[k].endpoints & rows[i].endpoints) == 0);
	}
}
