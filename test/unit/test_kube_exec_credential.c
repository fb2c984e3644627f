#include <errno.h>
#include <jansson.h>

#include "common/kubernetes/kube_exec_credential.h"
#include "test/lib/unit.h"

#define V1 "client.authentication.k8s.io/v1"
#define START "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":"

static int parse(struct kube_exec_credential *c, const char *text, struct err *err)
{
	return kube_exec_credential_parse(c, text, strlen(text), V1, err);
}

TEST(tokens_and_certificates_are_read)
{
	struct kube_exec_credential c = {0};

	assert_int_equal(parse(&c,
			       START "{\"token\":\"abc\",\"expirationTimestamp\":"
				     "\"1970-01-01T00:00:02Z\"}}\n",
			       NULL),
			 0);
	assert_string_equal(c.token, "abc");
	assert_null(c.cert_pem);
	assert_true(c.expires_ns == 2000000000);
	kube_exec_credential_fini(&c);

	assert_int_equal(parse(&c,
			       START "{\"clientCertificateData\":\"C\\n\",\"clientKeyData\":\"K\","
				     "\"token\":null,\"expirationTimestamp\":null}}",
			       NULL),
			 0);
	assert_null(c.token);
	assert_string_equal(c.cert_pem, "C\n");
	assert_string_equal(c.key_pem, "K");
	assert_true(c.expires_ns == INT64_MAX);
	kube_exec_credential_fini(&c);
}

TEST(an_expiry_out_of_range_is_never_or_past)
{
	struct kube_exec_credential c = {0};

	assert_int_equal(parse(&c,
			       START "{\"token\":\"a\",\"expirationTimestamp\":"
				     "\"9999-12-31T23:59:59Z\"}}",
			       NULL),
			 0);
	assert_true(c.expires_ns == INT64_MAX);
	kube_exec_credential_fini(&c);
	assert_int_equal(parse(&c,
			       START "{\"token\":\"a\",\"expirationTimestamp\":"
				     "\"0001-01-01T00:00:00Z\"}}",
			       NULL),
			 0);
	assert_true(c.expires_ns == INT64_MIN);
	kube_exec_credential_fini(&c);
}

TEST(everything_else_is_refused_without_showing_it)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{"", "it printed nothing"},
		{"Secret: password\n", "its output is not valid JSON (line 1)"},
		{START "{\"token\":\"a\"}}\nmore", "is not valid JSON (line 2)"},
		{"[]", "is not an ExecCredential"},
		{"{\"kind\":\"Pod\"}", "is not an ExecCredential"},
		{"{\"kind\":\"ExecCredential\"}", "does not have the apiVersion " V1},
		{"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\"}",
		 "does not have the apiVersion"},
		{START "null}", "has no status"},
		{START "{}}", "neither a token nor a certificate"},
		{START "{\"token\":\"\"}}", "neither a token nor a certificate"},
		{START "{\"token\":7}}", "cannot be used"},
		{START "{\"token\":\"a\\nX-Evil: 1\"}}", "cannot be used"},
		{START "{\"token\":\"a b\"}}", "cannot be used"},
		{START "{\"token\":\"\\u00e4\"}}", "cannot be used"},
		{START "{\"token\":\"a\\u0000b\"}}", "is not valid JSON"},
		{START "{\"token\":\"a\",\"clientKeyData\":\"K\"}}", "without the other"},
		{START "{\"clientCertificateData\":\"C\"}}", "without the other"},
		{START "{\"token\":\"a\",\"clientCertificateData\":[],\"clientKeyData\":{}}}",
		 "cannot be used"},
		{START "{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}}",
		 "is not a valid time"},
		{START "{\"token\":\"a\",\"expirationTimestamp\":5}}", "is not a valid time"},
	};
	const struct kube_exec_credential zero = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kube_exec_credential c = {0};
		struct err err = {""};

		assert_int_equal(parse(&c, cases[i].text, &err), -EBADMSG);
		if (!strstr(err.msg, cases[i].sentence) || strstr(err.msg, "Secret"))
			fail_msg("\"%s\" instead of \"%s\"", err.msg, cases[i].sentence);
		assert_memory_equal(&c, &zero, sizeof(c));
	}
}

TEST(nesting_without_end_is_refused)
{
	size_t len = 1 << 20;
	AUTO_FREE char *text = malloc(len + 1);
	struct kube_exec_credential c = {0};

	memset(text, '[', len);
	text[len] = '\0';
	assert_int_equal(parse(&c, text, NULL), -EBADMSG);
}

TEST(a_plugin_gets_the_cluster_if_it_asks_for_it)
{
	char server[] = "https://a:1", version[] = V1, proxy[] = "http://p";
	char config[] = "{\"audience\":\"x\"}";
	json_t *info;
	struct kube_config cfg = {.server = server,
				  .proxy_url = proxy,
				  .insecure_skip_verify = true,
				  .exec.api_version = version};
	char *text;

	assert_int_equal(kube_exec_info(&text, &cfg, "PEM"), 0);
	assert_string_equal(text, "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
				  "\",\"spec\":{\"interactive\":false}}");
	free(text);

	cfg.exec.provide_cluster_info = true;
	assert_int_equal(kube_exec_info(&text, &cfg, "PEM"), 0);
	assert_non_null(strstr(text, "\"spec\":{\"interactive\":false,\"cluster\":{\"server\":"
				     "\"https://a:1\",\"insecure-skip-tls-verify\":true,"
				     "\"certificate-authority-data\":\"UEVN\","
				     "\"proxy-url\":\"http://p\",\"config\":null}}}"));
	free(text);

	cfg.exec.cluster_config = config;
	assert_int_equal(kube_exec_info(&text, &cfg, NULL), 0);
	info = json_loads(text, 0, NULL);
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(json_object_get(json_object_get(info, "spec"), "cluster"),
					"config"),
			"audience")),
		"x");
	json_decref(info);
	free(text);
}

static int read_and_write(void *arg)
{
	char server[] = "https://a:1", version[] = V1;
	const struct kube_config cfg = {
		.server = server, .exec = {.api_version = version, .provide_cluster_info = true}};
	struct kube_exec_credential c = {0};
	AUTO_FREE char *text = NULL;
	int r;

	(void)arg;
	r = parse(&c,
		  START "{\"token\":\"a\",\"clientCertificateData\":\"C\","
			"\"clientKeyData\":\"K\"}}",
		  NULL);
	kube_exec_credential_fini(&c);
	return r < 0 ? r : kube_exec_info(&text, &cfg, "PEM");
}

TEST(lack_of_memory_is_enomem)
{
	check_oom(read_and_write, NULL);
}
