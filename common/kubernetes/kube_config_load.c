/*
 * Two sources end in the same struct kube_config: the service account that the kubelet mounts
 * into a pod, and kubeconfig files, which kube_config_parse.c understands; here they are only
 * found and read.
 *
 * Of the service account only the names of the files are kept (except for the namespace, which
 * never changes): the kubelet rotates token and CA, and kube_credentials.c and kube_transport.c
 * read them again.
 *
 * KUBECONFIG may name several files. As in client-go a missing one is skipped, and it is an
 * error only if none exists.
 */
#include "common/kubernetes/kube_config_load.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "common/kubernetes/kube_config_parse.h"
#include "common/system/fs.h"
#include "common/text/parse.h"

/* ---- service account ---- */

static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool kube_config_in_cluster(const char *dir)
{
	AUTO_FREE char *token = NULL;

	if (asprintf(&token, "%s/token", dir) < 0) {
		token = NULL;
		return false;
	}
	return from_environment("KUBERNETES_SERVICE_HOST") &&
	       from_environment("KUBERNETES_SERVICE_PORT") && access(token, F_OK) == 0;
}

static int set_server(struct kube_config *ret, struct err *err)
{
	const char *host = from_environment("KUBERNETES_SERVICE_HOST");
	const char *port = from_environment("KUBERNETES_SERVICE_PORT");
	bool is_v6;
	uint64_t n;

	if (!host || !port)
		return err_set(err, -ENOENT,
			       "not in a pod: KUBERNETES_SERVICE_HOST and "
			       "KUBERNETES_SERVICE_PORT are not set");
	if (parse_u64(port, strlen(port), 1, UINT16_MAX, &n) < 0)
		return err_set(err, -EINVAL, "KUBERNETES_SERVICE_PORT is not a port: \"%s\"", port);
	if (strpbrk(host, "/?#@[] \t\r\n"))
		return err_set(err, -EINVAL, "KUBERNETES_SERVICE_HOST is not a host: \"%s\"", host);
	is_v6 = strchr(host, ':');
	if (asprintf(&ret->server, "https://%s%s%s:%u", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
		     (unsigned)n) < 0) {
		ret->server = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int set_path(char **ret, const char *dir, const char *name)
{
	if (asprintf(ret, "%s/%s", dir, name) >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}

static int set_token_file(struct kube_config *ret, const char *dir, struct err *err)
{
	int r = set_path(&ret->token_file, dir, "token");

	if (r == 0 && access(ret->token_file, R_OK) < 0)
		r = err_set(err, -errno, "token of the service account %s: %m", ret->token_file);
	return r;
}

/* Without ca.crt the system's CA bundle is used, as in client-go. */
static int set_ca_file(struct kube_config *ret, const char *dir)
{
	int r = set_path(&ret->ca_file, dir, "ca.crt");

	if (r == 0 && access(ret->ca_file, F_OK) < 0) {
		free(ret->ca_file);
		ret->ca_file = NULL;
	}
	return r;
}

static int set_namespace(struct kube_config *ret, const char *dir)
{
	CLEANUP(buf_fini) struct buf text;
	AUTO_FREE char *path = NULL;
	int r;

	buf_init(&text, 253);
	r = set_path(&path, dir, "namespace");
	if (r == 0)
		r = fs_read_at(AT_FDCWD, path, &text);
	if (r == -ENOMEM)
		return r;
	if (r == 0 && text.data)
		text.data[strcspn(text.data, " \t\r\n")] = '\0';
	ret->namespace = strdup(r == 0 && text.data && *text.data ? text.data : "default");
	return ret->namespace ? 0 : -ENOMEM;
}

int kube_config_load_service_account(struct kube_config *ret, const char *dir, struct err *err)
{
	int r = set_server(ret, err);

	if (r == 0)
		r = set_token_file(ret, dir, err);
	if (r == 0)
		r = set_ca_file(ret, dir);
	if (r == 0)
		r = set_namespace(ret, dir);
	if (r < 0)
		kube_config_fini(ret);
	return r;
}

/* ---- kubeconfig files ---- */

struct loaded {
	struct kube_config_text files[KUBE_CONFIG_MAX_FILES];
	struct buf texts[KUBE_CONFIG_MAX_FILES];
	size_t n;
	char *paths; /* a copy, split at each ':'; files[].path point into it */
};

static void loaded_fini(struct loaded *l)
{
	for (size_t i = 0; i < l->n; i++)
		buf_fini(&l->texts[i]);
	free(l->paths);
}

static int load_one(struct loaded *l, const char *path, struct err *err)
{
	struct buf *text = &l->texts[l->n];
	int r;

	if (l->n == KUBE_CONFIG_MAX_FILES)
		return err_set(err, -EBADMSG, "more than %d kubeconfig files",
			       KUBE_CONFIG_MAX_FILES);
	buf_init(text, KUBE_CONFIG_FILE_BYTES);
	r = fs_read_at(AT_FDCWD, path, text);
	if (r < 0) {
		buf_fini(text);
		if (r == -EFBIG)
			return err_set(err, r, "%s: larger than %zu bytes", path,
				       KUBE_CONFIG_FILE_BYTES);
		return err_set(err, r, "read %s: %s", path, strerror(-r));
	}
	l->files[l->n] = (struct kube_config_text){path, text->data ? text->data : "", text->len};
	l->n++;
	return 0;
}

static int load_all(struct loaded *l, const char *paths, struct err *err)
{
	struct err why = {"no kubeconfig file is named"};
	char *rest, *path;
	int r = 0;

	l->paths = rest = strdup(paths);
	if (!l->paths)
		return -ENOMEM;
	while (r >= 0 && (path = strsep(&rest, ":"))) {
		if (!*path)
			continue;
		r = load_one(l, path, &why);
		if (r == -ENOENT)
			r = 0;
	}
	if (r == 0 && l->n == 0)
		r = -ENOENT;
	return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}

int kube_config_load_file(struct kube_config *ret, const char *path, const char *context,
			  struct err *err)
{
	CLEANUP(loaded_fini) struct loaded l = {.n = 0};
	int r = load_all(&l, path, err);

	return r < 0 ? r : kube_config_parse(ret, l.files, l.n, context, err);
}

bool kube_config_file_starts_program(const char *path, const char *context)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0};
	struct err unused = {""};

	return kube_config_load_file(&c, path, context, &unused) == 0 && c.exec.command;
}
