/*
 * A kubeconfig is small but deep: files, a context, which names a cluster and a user, each with
 * optional strings, paths and certificates. Nearly every step can fail, and an operator needs
 * the file, the line and the key.
 *
 * So the reader remembers the first error with that sentence, and the functions below return
 * NULL instead of an error code: what they read after a failure is discarded with the rest. A
 * struct entry carries the file along with each YAML node, for the error text and for relative
 * paths.
 */
#include "common/kubernetes/kube_config_parse.h"

#include <errno.h>
#include <strings.h>

#include "common/kubernetes/kube_config_yaml.h"
#include "common/text/base64.h"
#include "common/text/parse.h"

/* The first error is kept; what is read after it may be incomplete and is discarded. */
struct reader {
	int error;
	struct err *err;
	size_t n_files;
	struct file {
		const char *path;
		yaml_document_t doc;
	} files[KUBE_CONFIG_MAX_FILES];
};

/* A mapping, and the file that contains it. */
struct entry {
	struct reader *reader;
	struct file *file;
	const yaml_node_t *node; /* NULL if missing */
};

static void reader_fini(struct reader *rd)
{
	for (size_t i = 0; i < rd->n_files; i++)
		yaml_document_delete(&rd->files[i].doc);
}

static void out_of_memory(struct reader *rd)
{
	if (!rd->error)
		rd->error = -ENOMEM;
}

static void complain(const struct entry *e, int error, const yaml_node_t *at, const char *key,
		     const char *what)
{
	if (!e->reader->error)
		e->reader->error = err_set(e->reader->err, error, "%s:%zu: %s: %s", e->file->path,
					   at ? at->start_mark.line + 1 : 1, key, what);
}

static const yaml_node_t *get(const struct entry *e, const char *key)
{
	return kube_config_yaml_get(&e->file->doc, e->node, key);
}

static struct entry get_entry(const struct entry *e, const char *key)
{
	return (struct entry){e->reader, e->file, get(e, key)};
}

static bool has_name(const struct entry *item, const char *name)
{
	const yaml_node_t *node = get(item, "name");
	const char *text = node ? kube_config_yaml_text(node) : NULL;

	return text && strcmp(text, name) == 0;
}

/*
 * Returns the value of kind in the list item with that name; its node is NULL if there is none.
 */
static struct entry find(const struct entry *e, const char *list, const char *kind,
			 const char *name)
{
	struct entry item = {e->reader, e->file, NULL};
	const yaml_node_t *items = get(e, list);

	if (!items || items->type != YAML_SEQUENCE_NODE)
		return item;
	for (const yaml_node_item_t *i = items->data.sequence.items.start;
	     i < items->data.sequence.items.top; i++) {
		item.node = yaml_document_get_node(&e->file->doc, *i);
		if (has_name(&item, name))
			return get_entry(&item, kind);
	}
	item.node = NULL;
	return item;
}

/* ---- values: NULL if missing, empty or invalid ---- */

/* Borrowed from the document. */
static const char *get_text(const struct entry *e, const char *key)
{
	const yaml_node_t *node = get(e, key);
	const char *text = node ? kube_config_yaml_text(node) : NULL;

	if (node && !text)
		complain(e, -EBADMSG, node, key, "expected one value");
	return text && *text ? text : NULL;
}

static char *copy(const struct entry *e, const char *text)
{
	char *s = text ? strdup(text) : NULL;

	if (text && !s)
		out_of_memory(e->reader);
	return s;
}

static char *copy_text(const struct entry *e, const char *key)
{
	return copy(e, get_text(e, key));
}

static char *copy_path(const struct entry *e, const char *key)
{
	const char *path = get_text(e, key), *slash = strrchr(e->file->path, '/');
	char *joined;

	if (!path || path[0] == '/' || !slash)
		return copy(e, path);
	if (asprintf(&joined, "%.*s/%s", (int)(slash - e->file->path), e->file->path, path) < 0) {
		out_of_memory(e->reader);
		return NULL;
	}
	return joined;
}

static char *copy_data(const struct entry *e, const char *key, const char *text)
{
	CLEANUP(buf_fini) struct buf pem;
	size_t len;
	int r;

	buf_init(&pem, KUBE_CONFIG_FILE_BYTES);
	r = base64_decode(text, strlen(text), &pem);
	if (r == -ENOMEM)
		out_of_memory(e->reader);
	else if (r < 0)
		complain(e, -EBADMSG, get(e, key), key, "not base64");
	/* strlen() finds a NUL inside, which PEM cannot contain */
	else if (!strstr(pem.data, "-----BEGIN ") || strlen(pem.data) != pem.len)
		complain(e, -EBADMSG, get(e, key), key, "not PEM");
	else
		return buf_take(&pem, &len);
	return NULL;
}

/* Reads KEY-data (base64) or else KEY (a path). */
static void copy_pem(const struct entry *e, const char *key, char **ret_pem, char **ret_file)
{
	char data_key[64];
	const char *text;

	snprintf(data_key, sizeof(data_key), "%s-data", key);
	text = get_text(e, data_key);
	if (text)
		*ret_pem = copy_data(e, data_key, text);
	else
		*ret_file = copy_path(e, key);
}

static bool get_flag(const struct entry *e, const char *key)
{
	const char *text = get_text(e, key);
	bool flag = false;

	if (text && parse_bool(text, strlen(text), &flag) < 0)
		complain(e, -EBADMSG, get(e, key), key, "expected true or false");
	return flag;
}

/*
 * ---- lists of exec --------------------------------------------------------------------------
 */

static char *argument(const struct entry *item)
{
	const char *text = kube_config_yaml_text(item->node);

	if (!text)
		complain(item, -EBADMSG, item->node, "args", "expected one value");
	return copy(item, text);
}

static char *variable(const struct entry *item)
{
	const char *name = get_text(item, "name"), *value = get_text(item, "value");
	char *pair;

	if (!name || strchr(name, '=')) {
		complain(item, -EBADMSG, item->node, "env", "expected a name and a value");
		return NULL;
	}
	if (asprintf(&pair, "%s=%s", name, value ? value : "") < 0) {
		out_of_memory(item->reader);
		return NULL;
	}
	return pair;
}

static char **copy_list(const struct entry *e, const char *key, char *(*word)(const struct entry *))
{
	const yaml_node_t *list = get(e, key);
	char **words;
	size_t n;

	if (!list)
		return NULL;
	if (list->type != YAML_SEQUENCE_NODE) {
		complain(e, -EBADMSG, list, key, "expected a list");
		return NULL;
	}
	n = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
	if (n > KUBE_CONFIG_MAX_EXEC_WORDS) {
		complain(e, -EBADMSG, list, key, "too long");
		return NULL;
	}
	words = calloc(n + 1, sizeof(*words));
	if (!words)
		out_of_memory(e->reader);
	for (size_t i = 0; words && i < n && !e->reader->error; i++) {
		int id = list->data.sequence.items.start[i];
		struct entry item = {e->reader, e->file, yaml_document_get_node(&e->file->doc, id)};

		words[i] = word(&item);
	}
	return words;
}

/* ---- users ---- */

static void check_exec(const struct entry *e, const struct kube_exec *x)
{
	const char *mode = get_text(e, "interactiveMode");

	if (!x->command)
		complain(e, -EBADMSG, e->node, "exec", "no command");
	else if (!x->api_version)
		complain(e, -EBADMSG, e->node, "exec", "no apiVersion");
	else if (strcmp(x->api_version, "client.authentication.k8s.io/v1") != 0 &&
		 strcmp(x->api_version, "client.authentication.k8s.io/v1beta1") != 0)
		complain(e, -ENOTSUP, get(e, "apiVersion"), "apiVersion",
			 "neither client.authentication.k8s.io/v1 nor v1beta1");
	if (mode && strcmp(mode, "Always") == 0)
		complain(e, -ENOTSUP, get(e, "interactiveMode"), "interactiveMode",
			 "the agent has no terminal to prompt at");
}

static void read_exec(const struct entry *user, struct kube_exec *ret)
{
	struct entry e = get_entry(user, "exec");
	const char *command;

	if (!e.node)
		return;
	command = get_text(&e, "command");
	/* a bare name is searched in PATH */
	ret->command =
		command && strchr(command, '/') ? copy_path(&e, "command") : copy(&e, command);
	ret->args = copy_list(&e, "args", argument);
	ret->env = copy_list(&e, "env", variable);
	ret->api_version = copy_text(&e, "apiVersion");
	ret->provide_cluster_info = get_flag(&e, "provideClusterInfo");
	check_exec(&e, ret);
}

/* Ignoring these would mean acting as somebody else. */
static void check_supported(const struct entry *e)
{
	static const char *const unsupported[] = {"auth-provider", "as", "as-uid", "as-groups",
						  "as-user-extra"};

	for (size_t i = 0; i < ARRAY_SIZE(unsupported); i++)
		if (get(e, unsupported[i]))
			complain(e, -ENOTSUP, get(e, unsupported[i]), unsupported[i],
				 "not supported");
}

static void read_user(const struct entry *e, struct kube_config *ret)
{
	check_supported(e);
	copy_pem(e, "client-certificate", &ret->cert_pem, &ret->cert_file);
	copy_pem(e, "client-key", &ret->key_pem, &ret->key_file);
	ret->token = copy_text(e, "token");
	ret->token_file = copy_path(e, "tokenFile");
	ret->username = copy_text(e, "username");
	ret->password = copy_text(e, "password");
	read_exec(e, &ret->exec);

	if ((ret->cert_pem || ret->cert_file) != (ret->key_pem || ret->key_file))
		complain(e, -EBADMSG, e->node, "user", "a client certificate needs its key");
	if ((ret->token || ret->token_file) && (ret->username || ret->password))
		complain(e, -EBADMSG, e->node, "user", "a token and a user name");
}

/* ---- clusters ---- */

static char *copy_server(const struct entry *e)
{
	char *server = copy_text(e, "server");
	size_t len = server ? strlen(server) : 0;

	if (!server)
		complain(e, -EBADMSG, e->node, "cluster", "no server");
	else if (strncasecmp(server, "https://", 8) != 0 && strncasecmp(server, "http://", 7) != 0)
		complain(e, -EBADMSG, get(e, "server"), "server", "expected https://…");
	while (len > 0 && server[len - 1] == '/')
		server[--len] = '\0';
	return server;
}

/* Go lets a SOCKS proxy resolve host names; curl's name for that is socks5h. */
static char *copy_proxy(const struct entry *e)
{
	static const char socks[] = "socks5://";
	const char *url = get_text(e, "proxy-url");
	char *remote;

	if (!url || strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0)
		return copy(e, url);
	if (strncasecmp(url, socks, strlen(socks)) != 0) {
		complain(e, -EBADMSG, get(e, "proxy-url"), "proxy-url",
			 "expected http://, https:// or socks5://");
		return NULL;
	}
	if (asprintf(&remote, "socks5h://%s", url + strlen(socks)) < 0) {
		out_of_memory(e->reader);
		return NULL;
	}
	return remote;
}

static char *copy_plugin_config(const struct entry *e)
{
	static const char name[] = "client.authentication.k8s.io/exec";
	struct entry extension = find(e, "extensions", "extension", name);
	CLEANUP(buf_fini) struct buf json;
	size_t len;
	int r;

	buf_init(&json, KUBE_CONFIG_MAX_EXEC_CONFIG_BYTES);
	if (!extension.node)
		return NULL;
	r = kube_config_yaml_to_json(&e->file->doc, extension.node, &json);
	if (r == -ENOMEM)
		out_of_memory(e->reader);
	else if (r < 0)
		complain(e, -EBADMSG, extension.node, name, "nested too deeply or too long");
	return r < 0 ? NULL : buf_take(&json, &len);
}

static void read_cluster(const struct entry *e, struct kube_config *ret)
{
	ret->server = copy_server(e);
	copy_pem(e, "certificate-authority", &ret->ca_pem, &ret->ca_file);
	ret->insecure_skip_verify = get_flag(e, "insecure-skip-tls-verify");
	ret->tls_server_name = copy_text(e, "tls-server-name");
	ret->proxy_url = copy_proxy(e);
	ret->exec.cluster_config = copy_plugin_config(e);
}

/* ---- files and contexts ---- */

static struct entry root_of(struct reader *rd, struct file *f)
{
	return (struct entry){rd, f, yaml_document_get_root_node(&f->doc)};
}

static void load(struct reader *rd, const struct kube_config_text *text)
{
	struct file *f = &rd->files[rd->n_files];
	const yaml_node_t *root;
	int r = kube_config_yaml_load(&f->doc, text->text, text->len, rd->err);

	f->path = text->path;
	if (r < 0) {
		rd->error = r == -ENOMEM ? r : err_wrap(rd->err, r, "%s", f->path);
		return;
	}
	rd->n_files++;
	root = yaml_document_get_root_node(&f->doc);
	if (root && root->type != YAML_MAPPING_NODE)
		rd->error = err_set(rd->err, -EBADMSG, "%s: not a kubeconfig", f->path);
}

static struct entry require(struct reader *rd, const char *kind, const char *name)
{
	struct entry e = {rd, &rd->files[0], NULL};
	char list[16];

	snprintf(list, sizeof(list), "%ss", kind);
	for (size_t i = 0; i < rd->n_files && !e.node; i++) {
		struct entry root = root_of(rd, &rd->files[i]);

		e = find(&root, list, kind, name);
	}
	if (!e.node && !rd->error)
		rd->error = err_set(rd->err, -ENOENT, "%s%s: no %s \"%s\"", rd->files[0].path,
				    rd->n_files > 1 ? " and others" : "", kind, name);
	else if (e.node && e.node->type != YAML_MAPPING_NODE)
		complain(&e, -EBADMSG, e.node, kind, "expected names and values");
	return e;
}

static const char *current_context(struct reader *rd)
{
	const char *context = NULL;

	for (size_t i = 0; i < rd->n_files && !context; i++) {
		struct entry root = root_of(rd, &rd->files[i]);

		context = get_text(&root, "current-context");
	}
	if (!context && !rd->error)
		rd->error = err_set(rd->err, -ENOENT, "%s%s: no current-context", rd->files[0].path,
				    rd->n_files > 1 ? " and others" : "");
	return context ? context : "";
}

static void read_context(struct reader *rd, const char *context, struct kube_config *ret)
{
	struct entry c = require(rd, "context", context ? context : current_context(rd)), e;
	const char *cluster = get_text(&c, "cluster"), *user = get_text(&c, "user");

	ret->namespace = copy_text(&c, "namespace");
	if (!ret->namespace)
		ret->namespace = copy(&c, "default");
	e = require(rd, "cluster", cluster ? cluster : "");
	if (e.node)
		read_cluster(&e, ret);
	if (!user)
		return;
	e = require(rd, "user", user);
	if (e.node)
		read_user(&e, ret);
}

int kube_config_parse(struct kube_config *ret, const struct kube_config_text *files, size_t n_files,
		      const char *context, struct err *err)
{
	CLEANUP(reader_fini) struct reader rd = {.err = err};

	if (n_files == 0 || n_files > KUBE_CONFIG_MAX_FILES)
		return err_set(err, -EBADMSG, "expected 1 to %d kubeconfig files",
			       KUBE_CONFIG_MAX_FILES);
	for (size_t i = 0; i < n_files && !rd.error; i++)
		load(&rd, &files[i]);
	if (!rd.error)
		read_context(&rd, context, ret);
	if (rd.error)
		kube_config_fini(ret);
	return rd.error;
}
