#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/kubernetes/kube_config_load.h"
#include "common/kubernetes/kube_config_parse.h"
#include "test/lib/unit.h"

struct fixture {
	const char *dir;
	char path[128]; /* of the file written last */
};

static void write_file(struct fixture *f, const char *name, const char *text, size_t len)
{
	AUTO_CLOSE int fd = -1;

	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, name);
	fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, text + done, len - done);

		assert_true(n > 0);
		done += (size_t)n;
	}
}

static void write_text(struct fixture *f, const char *name, const char *text)
{
	write_file(f, name, text, strlen(text));
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_PORT");
	f->dir = temp_dir();
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"token", "ca.crt", "namespace", "a", "b"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, names[i]);
		unlink(f->path);
	}
	free(f);
	return 0;
}

static void be_in_a_pod(const char *host, const char *port)
{
	setenv("KUBERNETES_SERVICE_HOST", host, 1);
	setenv("KUBERNETES_SERVICE_PORT", port, 1);
}

static void assert_ends_with(const char *text, const char *end)
{
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

/* ---- service account ---- */

TEST_FIXTURE(the_service_account_is_used_in_a_pod, set_up, tear_down)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};
	struct fixture *f = *state;

	write_text(f, "ca.crt", "PEM");
	write_text(f, "namespace", "shop\n");
	be_in_a_pod("10.96.0.1", "443");
	assert_false(kube_config_in_cluster(f->dir));
	write_text(f, "token", "secret");
	assert_true(kube_config_in_cluster(f->dir));
	assert_int_equal(kube_config_load_service_account(&c, f->dir, NULL), 0);
	assert_string_equal(c.server, "https://10.96.0.1:443");
	assert_string_equal(c.namespace, "shop");
	assert_ends_with(c.token_file, "/token");
	assert_ends_with(c.ca_file, "/ca.crt");
	/* the token changes while we run, so the file is what counts */
	assert_null(c.token);
	assert_false(c.insecure_skip_verify);
}

TEST_FIXTURE(an_ipv6_address_is_put_in_brackets, set_up, tear_down)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};
	struct fixture *f = *state;

	write_text(f, "token", "secret");
	be_in_a_pod("fd00:10::1", "6443");
	assert_int_equal(kube_config_load_service_account(&c, f->dir, NULL), 0);
	assert_string_equal(c.server, "https://[fd00:10::1]:6443");
	/* missing files */
	assert_string_equal(c.namespace, "default");
	assert_null(c.ca_file);
}

TEST_FIXTURE(outside_of_a_pod_or_without_a_token_loading_the_account_fails, set_up, tear_down)
{
	static const struct {
		const char *host, *port;
		int r;
		const char *sentence;
	} cases[] = {
		{"", "443", -ENOENT, "not in a pod"},
		{"10.0.0.1", "", -ENOENT, "not in a pod"},
		{"10.0.0.1", "0", -EINVAL, "KUBERNETES_SERVICE_PORT is not a port: \"0\""},
		{"10.0.0.1", "tcp://10.0.0.1:443", -EINVAL, "is not a port"},
		{"10.0.0.1/x", "443", -EINVAL, "KUBERNETES_SERVICE_HOST is not a host"},
		{"user@10.0.0.1", "443", -EINVAL, "KUBERNETES_SERVICE_HOST is not a host"},
		{"10.0.0.1", "443", -ENOENT, "token of the service account "},
	};
	const struct kube_config zero = {0};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kube_config c = {0};
		struct err err = {""};

		be_in_a_pod(cases[i].host, cases[i].port);
		assert_int_equal(kube_config_load_service_account(&c, f->dir, &err), cases[i].r);
		assert_non_null(strstr(err.msg, cases[i].sentence));
		assert_memory_equal(&c, &zero, sizeof(c));
	}
}

/* ---- files ---- */

static const char file_a[] = "current-context: x\n"
			     "contexts:\n"
			     "- {name: x, context: {cluster: c, user: u}}\n"
			     "- {name: y, context: {cluster: c, user: v}}\n"
			     "users: [{name: u, user: {tokenFile: token}}]\n";
static const char file_b[] =
	"clusters: [{name: c, cluster: {server: 'https://b'}}]\n"
	"users:\n"
	"- {name: u, user: {token: other}}\n"
	"- name: v\n"
	"  user:\n"
	"    exec: {apiVersion: client.authentication.k8s.io/v1, command: p, args: [1, 2],\n"
	"           env: [{name: A, value: b}], provideClusterInfo: true}\n";

TEST_FIXTURE(a_list_of_files_is_merged_and_missing_ones_are_skipped, set_up, tear_down)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};
	struct fixture *f = *state;
	char paths[256], token[128];

	write_text(f, "a", file_a);
	write_text(f, "b", file_b);
	snprintf(paths, sizeof(paths), "%s/none::%s/a:%s/b", f->dir, f->dir, f->dir);
	assert_int_equal(kube_config_load_file(&c, paths, NULL, NULL), 0);
	assert_string_equal(c.server, "https://b");
	snprintf(token, sizeof(token), "%s/token", f->dir);
	assert_string_equal(c.token_file, token);
	assert_null(c.token);
}

TEST_FIXTURE(files_that_cannot_be_read_are_named, set_up, tear_down)
{
	struct fixture *f = *state;
	struct kube_config c = {0};
	struct err err = {""};
	char *large = malloc(KUBE_CONFIG_FILE_BYTES + 1);

	assert_int_equal(kube_config_load_file(&c, "/nonexistent/config", NULL, &err), -ENOENT);
	assert_string_equal(err.msg, "read /nonexistent/config: No such file or directory");
	assert_int_equal(kube_config_load_file(&c, "", NULL, &err), -ENOENT);
	assert_string_equal(err.msg, "no kubeconfig file is named");
	assert_int_equal(kube_config_load_file(&c, f->dir, NULL, &err), -EISDIR);
	assert_non_null(strstr(err.msg, f->dir));

	memset(large, '#', KUBE_CONFIG_FILE_BYTES + 1);
	write_file(f, "a", large, KUBE_CONFIG_FILE_BYTES + 1);
	assert_int_equal(kube_config_load_file(&c, f->path, NULL, &err), -EFBIG);
	assert_ends_with(err.msg, "/a: larger than 4194304 bytes");
	write_file(f, "a", large, KUBE_CONFIG_FILE_BYTES);
	assert_int_equal(kube_config_load_file(&c, f->path, NULL, &err), -ENOENT);
	assert_ends_with(err.msg, "/a: no current-context");
	free(large);
}

TEST_FIXTURE(more_files_than_the_limit_are_refused, set_up, tear_down)
{
	struct fixture *f = *state;
	struct kube_config c = {0};
	struct err err = {""};
	char paths[17 * 128] = "";
	size_t len = 0;

	write_text(f, "a", file_a);
	for (int i = 0; i < 17; i++)
		len += (size_t)snprintf(paths + len, sizeof(paths) - len, "%s:", f->path);
	assert_int_equal(kube_config_load_file(&c, paths, NULL, &err), -EBADMSG);
	assert_string_equal(err.msg, "more than 16 kubeconfig files");
}

TEST_FIXTURE(a_copy_has_everything, set_up, tear_down)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0}, copy = {0};
	struct fixture *f = *state;
	char paths[256];

	write_text(f, "a", file_a);
	write_text(f, "b", file_b);
	snprintf(paths, sizeof(paths), "%s/a:%s/b", f->dir, f->dir);
	assert_int_equal(kube_config_load_file(&c, paths, "y", NULL), 0);
	assert_int_equal(kube_config_copy(&copy, &c), 0);
	kube_config_fini(&c);
	assert_string_equal(copy.server, "https://b");
	assert_string_equal(copy.namespace, "default");
	assert_string_equal(copy.exec.command, "p");
	assert_string_equal(copy.exec.args[1], "2");
	assert_null(copy.exec.args[2]);
	assert_string_equal(copy.exec.env[0], "A=b");
	assert_true(copy.exec.provide_cluster_info);
}

static int load_and_copy(void *arg)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0}, copy = {0}, account = {0};
	struct fixture *f = arg;
	char paths[256];
	int r;

	snprintf(paths, sizeof(paths), "%s/a:%s/b", f->dir, f->dir);
	r = kube_config_load_file(&c, paths, "y", NULL);
	if (r == 0)
		r = kube_config_copy(&copy, &c);
	if (r == 0)
		r = kube_config_load_service_account(&account, f->dir, NULL);
	return r;
}

TEST_FIXTURE(lack_of_memory_is_enomem, set_up, tear_down)
{
	struct fixture *f = *state;

	write_text(f, "a", file_a);
	write_text(f, "b", file_b);
	write_text(f, "token", "secret");
	write_text(f, "namespace", "shop");
	be_in_a_pod("10.0.0.1", "443");
	check_oom(load_and_copy, f);
}
