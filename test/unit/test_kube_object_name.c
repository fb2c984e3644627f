#include "common/text/kube_names.h"
#include "test/lib/unit.h"

TEST(a_label_has_letters_digits_and_dashes_inside)
{
	char longest[65];

	assert_true(kube_name_is_label("a"));
	assert_true(kube_name_is_label("0-a9"));
	assert_false(kube_name_is_label(""));
	assert_false(kube_name_is_label("-a"));
	assert_false(kube_name_is_label("a-"));
	assert_false(kube_name_is_label("A"));
	assert_false(kube_name_is_label("a.b"));
	assert_false(kube_name_is_label("a/b"));
	assert_false(kube_name_is_label("a%2f"));
	memset(longest, 'x', 64);
	longest[64] = '\0';
	assert_false(kube_name_is_label(longest));
	longest[63] = '\0';
	assert_true(kube_name_is_label(longest));
}

TEST(a_subdomain_is_labels_joined_by_dots)
{
	char longest[256];

	assert_true(kube_name_is_subdomain("a"));
	assert_true(kube_name_is_subdomain("a.b-c.d"));
	assert_false(kube_name_is_subdomain(""));
	assert_false(kube_name_is_subdomain("."));
	assert_false(kube_name_is_subdomain("a..b"));
	assert_false(kube_name_is_subdomain("a."));
	assert_false(kube_name_is_subdomain("a.-b"));
	assert_false(kube_name_is_subdomain("../a"));
	assert_false(kube_name_is_subdomain("a?b"));
	memset(longest, 'x', 254);
	longest[254] = '\0';
	assert_false(kube_name_is_subdomain(longest));
	longest[253] = '\0';
	assert_true(kube_name_is_subdomain(longest));
}
