#include "common/upload/upload_item.h"
#include "test/lib/unit.h"

static struct upload_item *make(const char *query)
{
	static const struct upload_key key = {"0123456789abcdef0123456789abcdef"};
	char *q = strdup(query), *body = strdup("body");
	struct upload_item *i = q && body ? upload_item_new(&key, 1, q, body, 4) : NULL;

	if (!i) {
		free(q);
		free(body);
	}
	return i;
}

TEST(the_service_is_decoded_for_the_log)
{
	static const struct {
		const char *query, *service;
	} cases[] = {
		{"service.name=/k8s/shop/cart&host.name=n1", "/k8s/shop/cart"},
		{"host.name=n1&service.name=a%20b%C3%B6", "a b\xc3\xb6"},
		{"service.name=100%", "100%"},
		{"service.name=%2", "%2"},
		{"service.name=%zz", "%zz"},
		{"service.name=", ""},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(upload_item_unrefp) struct upload_item *item = make(cases[i].query);
		char service[UPLOAD_SERVICE_BYTES];

		assert_non_null(item);
		upload_item_service(item, service);
		assert_string_equal(service, cases[i].service);
	}
}

TEST(a_long_service_is_cut)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;
	char query[400] = "service.name=", service[UPLOAD_SERVICE_BYTES];

	memset(query + strlen(query), 'x', 300);
	item = make(query);
	assert_non_null(item);
	upload_item_service(item, service);
	assert_int_equal(strlen(service), UPLOAD_SERVICE_BYTES - 1);
}

TEST(the_last_reference_frees_it)
{
	struct upload_item *item = make("");

	assert_non_null(item);
	assert_ptr_equal(upload_item_ref(item), item);
	upload_item_unref(item);
	assert_string_equal(item->body, "body");
	upload_item_unref(item);
	upload_item_unref(NULL);
}
