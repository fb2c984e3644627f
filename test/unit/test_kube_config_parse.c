#include <errno.h>

#include "common/kubernetes/kube_config_parse.h"
#include "test/lib/unit.h"

static const char whole[] = "apiVersion: v1\n"
			    "kind: Config\n"
			    "preferences: {}\n"
			    "current-context: work\n"
			    "contexts:\n"
			    "- name: work\n"
			    "  context: {cluster: c1, user: u1, namespace: shop}\n"
			    "- name: plain\n"
			    "  context:\n"
			    "    cluster: c2\n"
			    "- context: {cluster: c1, user: plugin}\n"
			    "  name: exec\n"
			    "clusters:\n"
			    "- name: c1\n"
			    "  cluster:\n"
			    "    server: https://10.0.0.1:6443/k8s/\n"
			    "    certificate-authority: pki/ca.crt\n"
			    "    tls-server-name: kubernetes\n"
			    "    proxy-url: http://proxy:3128\n"
			    "- name: c2\n"
			    "  cluster:\n"
			    "    server: https://[fd00::1]:6443\n"
			    "    insecure-skip-tls-verify: true\n"
			    "    certificate-authority: /not/used\n"
			    "    certificate-authority-data: LS0tLS1CRUdJTiBDRVJU\n"
			    "    proxy-url: socks5://proxy:1080\n"
			    "users:\n"
			    "- name: u1\n"
			    "  user:\n"
			    "    client-certificate: /abs/cert.pem\n"
			    "    client-key-data: |\n"
			    "      LS0tLS1CRUdJ\n"
			    "      TiBLRVk=\n"
			    "    token: abc\n"
			    "    tokenFile: ../token\n"
			    "- name: plugin\n"
			    "  user:\n"
			    "    exec:\n"
			    "      apiVersion: client.authentication.k8s.io/v1\n"
			    "      command: ./bin/plugin\n"
			    "      args: [get-token, --cluster, \"x y\", 7]\n"
			    "      env:\n"
			    "      - {name: A, value: \"1=2\"}\n"
			    "      - name: B\n"
			    "        value:\n"
			    "      interactiveMode: IfAvailable\n"
			    "      provideClusterInfo: true\n"
			    "- name: sso\n"
			    "  user: {auth-provider: {name: oidc}}\n";

/* Surrounds the text of a test with a context of one cluster and one user. */
#define AROUND(cluster, user)                                     \
	"current-context: x\n"                                    \
	"contexts: [{name: x, context: {cluster: c, user: u}}]\n" \
	"clusters: [{name: c, cluster: " cluster "}]\n"           \
	"users: [{name: u, user: " user "}]\n"
#define SERVER "{server: https://a}"
#define EXEC(more) "{exec: {apiVersion: client.authentication.k8s.io/v1" more "}}"

static int parse(struct kube_config *c, const char *text, const char *context, struct err *err)
{
	const struct kube_config_text file = {"/home/me/.kube/config", text, strlen(text)};

	return kube_config_parse(c, &file, 1, context, err);
}

static void assert_parses(struct kube_config *c, const char *text, const char *context)
{
	struct err err = {""};

	if (parse(c, text, context, &err) < 0)
		fail_msg("%s", err.msg);
}

TEST(the_current_context_names_server_and_user)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};

	assert_parses(&c, whole, NULL);
	assert_string_equal(c.server, "https://10.0.0.1:6443/k8s");
	assert_string_equal(c.namespace, "shop");
	assert_string_equal(c.tls_server_name, "kubernetes");
	assert_string_equal(c.proxy_url, "http://proxy:3128");
	assert_false(c.insecure_skip_verify);
	assert_string_equal(c.ca_file, "/home/me/.kube/pki/ca.crt");
	assert_null(c.ca_pem);
	assert_string_equal(c.cert_file, "/abs/cert.pem");
	assert_null(c.key_file);
	assert_string_equal(c.key_pem, "-----BEGIN KEY");
	assert_string_equal(c.token, "abc");
	assert_string_equal(c.token_file, "/home/me/.kube/../token");
	assert_null(c.username);
	assert_null(c.exec.command);
}

TEST(another_context_can_be_asked_for)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};

	assert_parses(&c, whole, "plain");
	assert_string_equal(c.server, "https://[fd00::1]:6443");
	assert_string_equal(c.namespace, "default");
	assert_true(c.insecure_skip_verify);
	/* data wins over a file */
	assert_null(c.ca_file);
	assert_string_equal(c.ca_pem, "-----BEGIN CERT");
	/* Go lets the proxy resolve host names */
	assert_string_equal(c.proxy_url, "socks5h://proxy:1080");
	assert_null(c.token);
}

TEST(a_plugin_is_read_with_its_arguments_and_variables)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};

	assert_parses(&c, whole, "exec");
	assert_string_equal(c.exec.command, "/home/me/.kube/./bin/plugin");
	assert_string_equal(c.exec.api_version, "client.authentication.k8s.io/v1");
	assert_true(c.exec.provide_cluster_info);
	assert_string_equal(c.exec.args[0], "get-token");
	assert_string_equal(c.exec.args[2], "x y");
	assert_string_equal(c.exec.args[3], "7");
	assert_null(c.exec.args[4]);
	assert_string_equal(c.exec.env[0], "A=1=2");
	assert_string_equal(c.exec.env[1], "B=");
	assert_null(c.exec.env[2]);
}

TEST(a_command_without_a_slash_is_searched_for)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};

	assert_parses(&c, AROUND(SERVER, EXEC(", command: aws")), NULL);
	assert_string_equal(c.exec.command, "aws");
	assert_null(c.exec.args);
	assert_null(c.exec.env);
	assert_false(c.exec.provide_cluster_info);
}

TEST(the_cluster_s_configuration_for_the_plugin_becomes_json)
{
	static const struct {
		const char *yaml, *json;
	} cases[] = {
		{"{audience: x, n: [1, -2.5, 1e400, 0x1], t: true, f: 'true', '~': ~}",
		 "{\"audience\":\"x\",\"n\":[1,-2.5,null,\"0x1\"],\"t\":true,\"f\":\"true\","
		 "\"~\":null}"},
		{"text \"with\" quotes", "\"text \\\"with\\\" quotes\""},
		{"[]", "[]"},
		{"99999999999999999999", "1e+20"},
		{"'5'", "\"5\""},
	};
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kube_config_fini) struct kube_config c = {0};

		snprintf(text, sizeof(text),
			 AROUND("{server: https://a, extensions: [{name: other, extension: 7}, "
				"{name: "
				"client.authentication.k8s.io/exec, extension: %s}]}",
				"{}"),
			 cases[i].yaml);
		assert_parses(&c, text, NULL);
		assert_string_equal(c.exec.cluster_config, cases[i].json);
	}
}

TEST(what_never_ends_as_json_is_refused)
{
	static const char *const configs[] = {
		"&a [*a]",
		"&a {b: *a}",
		"{[a]: b}",
		"[&a [x,x,x,x,x,x,x,x,x,x], &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], "
		"&c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b], &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c], "
		"&e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d], [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]]",
	};
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct kube_config c = {0};
		struct err err = {""};

		snprintf(text, sizeof(text),
			 AROUND("{server: https://a, extensions: [{name: "
				"client.authentication.k8s.io/exec, extension: %s}]}",
				"{}"),
			 configs[i]);
		assert_int_equal(parse(&c, text, NULL, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, "exec: nested too deeply or too long"));
	}
}

TEST(json_is_read_too)
{
	static const char json[] = "{\"kind\": \"Config\", \"current-context\": \"x\",\n"
				   " \"contexts\": [{\"name\": \"x\", \"context\": {\"cluster\": "
				   "\"c\", \"user\": \"u\"}}],\n"
				   "\t\"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": "
				   "\"http://a:8080\"}}],\n"
				   " \"users\": [{\"name\": \"u\", \"user\": {\"username\": "
				   "\"me\", \"password\": \"p\"}}]}";
	CLEANUP(kube_config_fini) struct kube_config c = {0};

	assert_parses(&c, json, NULL);
	assert_string_equal(c.server, "http://a:8080");
	assert_string_equal(c.username, "me");
	assert_string_equal(c.password, "p");
}

TEST(of_several_files_the_first_entry_wins_as_a_whole)
{
	static const char first[] = "current-context:\n"
				    "users: [{name: u, user: {token: first}}]\n"
				    "contexts: [{name: a, context: {cluster: c, user: u}}]\n";
	static const char second[] =
		"current-context: a\n"
		"users: [{name: u, user: {token: second, client-certificate: c, client-key: k}}]\n"
		"contexts: [{name: a, context: {cluster: other, user: u, namespace: n}}]\n"
		"clusters: [{name: c, cluster: {server: https://a, certificate-authority: ca}}]\n";
	const struct kube_config_text files[] = {{"/one/config", first, strlen(first)},
						 {"/none", "", 0},
						 {"/two/config", second, strlen(second)}};
	CLEANUP(kube_config_fini) struct kube_config c = {0};

	assert_int_equal(kube_config_parse(&c, files, 3, NULL, NULL), 0);
	assert_string_equal(c.token, "first");
	assert_null(c.cert_file);
	assert_string_equal(c.namespace, "default");
	assert_string_equal(c.ca_file, "/two/ca");
}

static const struct {
	const char *text;
	int r;
	const char *sentence;
} refused[] = {
	{"", -ENOENT, "no current-context"},
	{"current-context: x\n", -ENOENT, "no context \"x\""},
	{"- a\n- b\n", -EBADMSG, "not a kubeconfig"},
	{"just words\n", -EBADMSG, "not a kubeconfig"},
	{"current-context: [a]\n", -EBADMSG, "config:1: current-context: expected one value"},
	{"a: b: c\n", -EBADMSG, "config: 1: mapping values are not allowed"},
	{"a: \"\n", -EBADMSG, "config: "},
	{"\xff\xfe\xfd", -EBADMSG, "config: 1: "},
	{"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n", -ENOENT,
	 "no cluster \"c\""},
	{"current-context: x\ncontexts: [{name: x, context: {}}]\n", -ENOENT, "no cluster \"\""},
	{"current-context: x\ncontexts: {name: x}\n", -ENOENT, "no context \"x\""},
	{"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
	 "clusters: [{name: c, cluster: {server: https://a}}]\n",
	 -ENOENT, "no user \"u\""},
	{AROUND("{}", "{}"), -EBADMSG, "config:3: cluster: no server"},
	{AROUND("{server: 10.0.0.1:6443}", "{}"), -EBADMSG, "config:3: server: expected https"},
	{AROUND("{server: https://a, insecure-skip-tls-verify: maybe}", "{}"), -EBADMSG,
	 "insecure-skip-tls-verify: expected true or false"},
	{AROUND("{server: https://a, certificate-authority-data: '?'}", "{}"), -EBADMSG,
	 "certificate-authority-data: not base64"},
	{AROUND("{server: https://a, certificate-authority-data: Zm9v}", "{}"), -EBADMSG,
	 "certificate-authority-data: not PEM"},
	/* a NUL and then PEM */
	{AROUND("{server: https://a, certificate-authority-data: AC0tLS0tQkVHSU4g}", "{}"),
	 -EBADMSG, "not PEM"},
	{AROUND("{server: https://a, certificate-authority-data: ''}", "{token: \"a\\0b\"}"),
	 -EBADMSG, "token: expected one value"},
	{AROUND("{server: https://a, proxy-url: 'ftp://p'}", "{}"), -EBADMSG,
	 "proxy-url: expected http"},
	{AROUND(SERVER, "[]"), -EBADMSG, "user: expected names and values"},
	{AROUND(SERVER, "{token: [a]}"), -EBADMSG, "token: expected one value"},
	{AROUND(SERVER, "{client-certificate: c}"), -EBADMSG, "needs its key"},
	{AROUND(SERVER, "{client-key: k}"), -EBADMSG, "needs its key"},
	{AROUND(SERVER, "{token: a, username: b}"), -EBADMSG, "a token and a user name"},
	{AROUND(SERVER, "{tokenFile: a, password: b}"), -EBADMSG, "a token and a user name"},
	{AROUND(SERVER, "{auth-provider: {name: gcp}}"), -ENOTSUP,
	 "config:4: auth-provider: not supported"},
	{AROUND(SERVER, "{token: a, as: admin}"), -ENOTSUP, "as: not supported"},
	{AROUND(SERVER, EXEC("")), -EBADMSG, "exec: no command"},
	{AROUND(SERVER, "{exec: {command: a}}"), -EBADMSG, "exec: no apiVersion"},
	{AROUND(SERVER, "{exec: a}"), -EBADMSG, "exec: no command"},
	{AROUND(SERVER, "{exec: {command: a, apiVersion: client.authentication.k8s.io/v1alpha1}}"),
	 -ENOTSUP, "apiVersion: neither"},
	{AROUND(SERVER, EXEC(", command: a, interactiveMode: Always")), -ENOTSUP,
	 "the agent has no terminal to prompt at"},
	{AROUND(SERVER, EXEC(", command: a, args: b")), -EBADMSG, "args: expected a list"},
	{AROUND(SERVER, EXEC(", command: a, args: [[b]]")), -EBADMSG, "args: expected one value"},
	{AROUND(SERVER, EXEC(", command: a, env: [{value: b}]")), -EBADMSG, "env: expected a name"},
	{AROUND(SERVER, EXEC(", command: a, env: [{name: a=b}]")), -EBADMSG,
	 "env: expected a name"},
	{AROUND(SERVER, EXEC(", command: a, env: [b]")), -EBADMSG, "env: expected a name"},
	{AROUND(SERVER, EXEC(", command: a, provideClusterInfo: 2")), -EBADMSG,
	 "provideClusterInfo: expected true"},
};

TEST(what_cannot_be_used_is_refused_with_a_sentence)
{
	const struct kube_config zero = {0};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct kube_config c = {0};
		struct err err = {""};
		int r = parse(&c, refused[i].text, NULL, &err);

		if (r != refused[i].r || !strstr(err.msg, refused[i].sentence) ||
		    strncmp(err.msg, "/home/me/.kube/config", 21) != 0)
			fail_msg("%d \"%s\" instead of \"%s\"", r, err.msg, refused[i].sentence);
		assert_memory_equal(&c, &zero, sizeof(c));
	}
}

TEST(nothing_given_is_nothing_set)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};

	assert_parses(
		&c, AROUND(SERVER, "{token: , tokenFile: ~, username: null, password: '', exec: }"),
		NULL);
	assert_null(c.token);
	assert_null(c.token_file);
	assert_null(c.username);
	assert_null(c.password);
	assert_null(c.exec.command);
	kube_config_fini(&c);
	/* only unquoted, these words mean nothing */
	assert_parses(&c, AROUND(SERVER, "{token: 'null'}"), NULL);
	assert_string_equal(c.token, "null");
}

static void repeat(char *to, size_t size, const char *what)
{
	for (size_t i = 0; i < size; i++)
		to[i] = what[i % strlen(what)];
	to[size] = '\0';
}

TEST(hostile_sizes_are_refused_at_once)
{
	static const char *const patterns[] = {"[",  "{",  "{a: ", "- ",
					       "? ", "[[", "- - ", "&a [*a, "};
	size_t size = KUBE_CONFIG_FILE_BYTES;
	AUTO_FREE char *text = malloc(size + 1);

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct kube_config c = {0};
		struct err err = {""};

		repeat(text, size, patterns[i]);
		assert_int_equal(parse(&c, text, NULL, &err), -EBADMSG);
		if (!strstr(err.msg, "nested too deeply") && !strstr(err.msg, "too many values"))
			fail_msg("\"%s\": %s", patterns[i], err.msg);
	}
}

TEST(too_many_arguments_are_refused)
{
	char args[2 * 300 + 1], text[1024];
	struct kube_config c = {0};
	struct err err = {""};

	repeat(args, sizeof(args) - 1, "a,");
	snprintf(text, sizeof(text), AROUND(SERVER, EXEC(", command: a, args: [%s]")), args);
	assert_int_equal(parse(&c, text, NULL, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "args: too long"));
}

TEST(a_document_that_refers_to_itself_does_no_harm)
{
	struct kube_config c = {0};

	assert_int_equal(parse(&c, "&a\ncurrent-context: x\ncontexts: [{name: x, context: *a}]\n",
			       NULL, NULL),
			 -ENOENT);
	assert_int_equal(parse(&c, "&a\ncurrent-context: x\ncontexts: [*a]\n", NULL, NULL),
			 -ENOENT);
}

static int parse_each(void *arg)
{
	static const char *const contexts[] = {"work", "plain", "exec"};
	int r = 0;

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(contexts) && r == 0; i++) {
		struct kube_config c = {0};

		r = parse(&c, whole, contexts[i], NULL);
		kube_config_fini(&c);
	}
	return r;
}

TEST(lack_of_memory_is_enomem)
{
	check_oom(parse_each, NULL);
}
