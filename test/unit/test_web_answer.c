#include "cluster-agent/web/web_answer.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

static const char *file_name(const char *service, const char *type, const char *suffix)
{
	static char name[WEB_FILE_NAME_BYTES];
	const struct query_filter f = {
		.service = service,
		.type = type,
		.from_ns = INT64_C(1700000000) * (int64_t)NS_PER_S,
	};

	web_answer_file_name(name, &f, suffix);
	return name;
}

TEST(a_file_is_named_by_service_type_and_time)
{
	assert_string_equal(file_name("/k8s/shop/cart-7/app", "ebpf:cpu:nanoseconds", ".pb.gz"),
			    "k8s-shop-cart-7-app-ebpf-cpu-nanoseconds-20231114T221320Z.pb.gz");
}

TEST(names_of_others_cannot_break_out)
{
	char long_name[5000];

	assert_string_equal(file_name("../../.bashrc\"; x=\r\n\xc3\xa4 \x7f", "$(id)", ".txt"),
			    "bashrc-x-id-20231114T221320Z.txt");
	assert_string_equal(file_name("", NULL, ".txt"), "20231114T221320Z.txt");
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_true(strlen(file_name(long_name, long_name, ".speedscope.json")) <
		    WEB_FILE_NAME_BYTES);
	assert_non_null(strstr(file_name(long_name, long_name, ".speedscope.json"),
			       "-20231114T221320Z.speedscope.json"));
}
