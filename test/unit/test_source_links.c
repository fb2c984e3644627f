#include "cluster-agent/source/source_links.h"

#include <errno.h>

#include "test/lib/unit.h"

#define URL "https://github.com/acme/shop/blob/"

static int get(void *ctx, const char *name, char ret[static SOURCE_LABEL_BYTES], struct err *err)
{
	(void)err;
	if (strcmp(name, "broken") == 0)
		return -EIO;
	if (strcmp(name, "version") != 0)
		return 0;
	snprintf(ret, SOURCE_LABEL_BYTES, "%s", (const char *)ctx);
	return 1;
}

/* The address with this value of the label "version"; "" if there is none. */
static const char *make(const char *templates, const char *app, const char *file,
			const char *version)
{
	char value[SOURCE_LABEL_BYTES];
	static char url[SOURCE_URL_MAX_BYTES];
	const struct source_labels labels = {get, value};
	CLEANUP(buf_fini) struct buf out;
	struct source_links l;
	int r;

	snprintf(value, sizeof(value), "%s", version);
	buf_init(&out, sizeof(url) - 1);
	assert_int_equal(source_links_parse(&l, templates, NULL), 0);
	r = source_links_make(&l, app, file, &labels, &out, NULL);
	assert_true(r == 0 || r == 1);
	snprintf(url, sizeof(url), "%s", r ? out.data : "");
	source_links_fini(&l);
	return url;
}

TEST(the_first_template_that_fits_is_used)
{
	static const char templates[] =
		"app=/k8s/shop/cart/* strip=/build/cart/ strip=/src " URL
		"{label:version}/{path}#L{line}\n"
		"\n"
		"  strip=/usr/local/go https://github.com/golang/go/blob/go1.26/{path}#L{line}\n"
		"https://git.example/{path}?v={label:version|main}";

	assert_string_equal(make(templates, "/k8s/shop/cart/app", "/build/cart/a/b.go", "v1.2"),
			    URL "v1.2/a/b.go#L{line}");
	assert_string_equal(make(templates, "/k8s/shop/cart/app", "/src/b.go", "v1.2"),
			    URL "v1.2/b.go#L{line}");
	assert_string_equal(make(templates, "/k8s/shop/pay/app", "/usr/local/go/src/a.go", ""),
			    "https://github.com/golang/go/blob/go1.26/src/a.go#L{line}");
	assert_string_equal(make(templates, "/k8s/shop/pay/app", "./a.go", ""),
			    "https://git.example/a.go?v=main");
	assert_string_equal(make(templates, "/k8s/shop/pay/app", "/build/cart/b.go", "v1"), "");
	assert_string_equal(make(NULL, "/a", "a.go", "v1"), "");
}

TEST(what_is_filled_in_stays_one_part_of_the_path)
{
	static const char t[] = URL "{label:version}/{path}";

	assert_string_equal(make(t, "/a", "x y/\xc3\xa4#?.go", "a/../../evil"),
			    URL "a%2F..%2F..%2Fevil/x%20y/%C3%A4%23%3F.go");
	assert_string_equal(make(t, "/a", "a.go", ".."), "");
	assert_string_equal(make(t, "/a", "a.go", ""), "");
	assert_string_equal(make(t, "/a", "../a.go", "v1"), "");
	assert_string_equal(make(t, "/a", "b/../../a.go", "v1"), "");
	assert_string_equal(make(t, "/a", "/a.go", "v1"), "");
}

TEST(an_address_that_is_too_long_is_none)
{
	char path[4000];

	memset(path, '#', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_string_equal(make(URL "{path}", "/a", path, ""), "");
}

TEST(an_error_of_a_label_ends_it)
{
	const struct source_labels labels = {get, NULL};
	CLEANUP(buf_fini) struct buf out;
	struct source_links l;

	buf_init(&out, SOURCE_URL_MAX_BYTES);
	assert_int_equal(source_links_parse(&l, URL "{label:broken}/{path}", NULL), 0);
	assert_int_equal(source_links_make(&l, "/a", "a.go", &labels, &out, NULL), -EIO);
	source_links_fini(&l);
}

TEST(a_template_that_could_lead_elsewhere_is_refused)
{
	static const struct {
		const char *text;
		const char *error;
	} wrong[] = {
		{"ftp://a/{path}", "is not an http:// or https:// URL of a host and a path"},
		{"javascript:{path}", "is not an http:// or https:// URL"},
		{"https://{label:host}/{path}", "is not an http:// or https:// URL"},
		{"https://git.example", "is not an http:// or https:// URL"},
		{"https://git.example/a", "has no {path}"},
		{"https://git.example/{path}{x}", "\"{x}\" is not {path}, {line}"},
		{"https://git.example/{path}{label:}", "\"{label:}\" is not {path}"},
		{"https://git.example/{path}{", "\"{\" is not {path}"},
		{"app=/a strip=/b", "has no URL"},
		{"https://git.example/{path} more", "follows the URL"},
	};
	struct source_links l;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct err err = {""};

		assert_int_equal(source_links_parse(&l, wrong[i].text, &err), -EINVAL);
		assert_non_null(strstr(err.msg, wrong[i].error));
	}
}
