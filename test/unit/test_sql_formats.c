#include "cluster-agent/sql/sql_formats.h"
#include "test/lib/unit.h"

static const struct sql_format *find(const char *name)
{
	return sql_format_find(name, strlen(name));
}

TEST(finds_every_format_of_its_list_in_any_case)
{
	const struct sql_format *f;
	size_t n = 0;

	for (; (f = sql_format_at(n)); n++) {
		char name[64];

		assert_ptr_equal(find(f->name), f);
		for (size_t i = 0; i <= strlen(f->name); i++)
			name[i] = f->name[i] >= 'a' && f->name[i] <= 'z'
					  ? (char)(f->name[i] - 'a' + 'A')
					  : f->name[i];
		assert_ptr_equal(find(name), f);
	}
	assert_true(n > 50);
	assert_string_equal(find("jsoneachrow")->content_type,
			    "application/x-ndjson; charset=UTF-8");
	assert_string_equal(find("CSVWithNames")->content_type,
			    "text/csv; charset=UTF-8; header=present");
}

TEST(does_not_know_formats_with_side_effects_and_other_texts)
{
	static const char *const names[] = {
		"Protobuf", "ProtobufSingle", "ProtobufList", "CapnProto",      "Template",
		"Regexp",   "AvroConfluent",  "MySQLWire",    "PostgreSQLWire", "",
		"J",        "JSONx",          "CSVWithName",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (find(names[i]))
			fail_msg("%s", names[i]);
	}
	assert_null(sql_format_find("JSON\0", 5));
	assert_string_equal(sql_format_find("CSVx", 3)->name, "CSV");
}
