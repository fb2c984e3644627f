#include <errno.h>

#include "common/kubernetes/kube_endpoint.h"
#include "test/lib/unit.h"

TEST(requests_go_to_the_server)
{
	struct kube_endpoint e = {0};

	assert_int_equal(kube_endpoint_make(&e, "https://api.example.test/base", NULL, NULL), 0);
	assert_string_equal(e.base, "https://api.example.test/base");
	assert_null(e.connect_to);
	assert_null(e.host_header);
	kube_endpoint_fini(&e);
}

TEST(another_name_of_the_certificate_is_expected_at_the_same_address)
{
	static const struct {
		const char *server, *base, *connect_to, *host;
	} cases[] = {
		{"https://10.0.0.1:6443", "https://kubernetes:6443", "10.0.0.1:6443",
		 "Host: 10.0.0.1:6443"},
		{"https://10.0.0.1", "https://kubernetes", "10.0.0.1:443", "Host: 10.0.0.1"},
		{"HTTPS://[fd00::1]:8443/k8s/c1", "https://kubernetes:8443/k8s/c1",
		 "[fd00::1]:8443", "Host: [fd00::1]:8443"},
		{"https://api.example.test:6443", "https://kubernetes:6443",
		 "api.example.test:6443", "Host: api.example.test:6443"},
		{"https://[fd00::1]/k8s:1", "https://kubernetes/k8s:1", "[fd00::1]:443",
		 "Host: [fd00::1]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kube_endpoint e = {0};

		assert_int_equal(kube_endpoint_make(&e, cases[i].server, "kubernetes", NULL), 0);
		assert_string_equal(e.base, cases[i].base);
		assert_string_equal(e.connect_to, cases[i].connect_to);
		assert_string_equal(e.host_header, cases[i].host);
		kube_endpoint_fini(&e);
	}
}

TEST(a_server_without_host_or_tls_has_no_other_name)
{
	static const char *const servers[] = {"http://10.0.0.1", "https://", "https://:6443",
					      "https://me@10.0.0.1"};
	const struct kube_endpoint zero = {0};

	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		struct kube_endpoint e = {0};
		struct err err = {""};

		assert_int_equal(kube_endpoint_make(&e, servers[i], "x", &err), -ENOTSUP);
		assert_non_null(strstr(err.msg, "tls-server-name"));
		assert_memory_equal(&e, &zero, sizeof(e));
	}
}

static int make(void *arg)
{
	struct kube_endpoint e = {0};
	int r;

	(void)arg;
	r = kube_endpoint_make(&e, "https://10.0.0.1", NULL, NULL);
	kube_endpoint_fini(&e);
	return r;
}

TEST(lack_of_memory_is_enomem)
{
	check_oom(make, NULL);
}
