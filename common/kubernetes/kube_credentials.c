/*
 * Three kinds of credentials, in client-go's order of precedence: a user name with password or
 * a token in the kubeconfig, a token file, an exec plugin.
 *
 * The kubelet replaces the token file of a pod every hour or so by renaming a symbolic link. A
 * stat() per request shows whether the file has changed; because that may miss a change, for
 * instance on a network file system, the file is also read again after 50 s. A failed read
 * keeps the old token: it may well still be valid, and if not, the server answers 401.
 *
 * A plugin is slow, since it usually asks a cloud provider, so there is at most one run of it at a
 * time. Its result is kept until shortly before it expires.
 *
 * Every change increments the generation. A request remembers the generation it was sent with,
 * so a 401 that arrives after a refresh does not trigger another one.
 */
#include "common/kubernetes/kube_credentials.h"

#include <errno.h>
#include <fcntl.h>

#include "common/data/buf.h"
#include "common/kubernetes/kube_exec.h"
#include "common/kubernetes/kube_exec_credential.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/text/base64.h"

#define EXEC_TIMEOUT_NS (60 * NS_PER_S)
#define TOKEN_MAX_AGE_NS (50 * NS_PER_S)
#define TOKEN_FILE_BYTES ((size_t)64 * 1024)
#define CA_FILE_BYTES ((size_t)256 * 1024)

/* Credentials from a plugin are replaced this long before they expire, at most. */
#define EXPIRY_MARGIN_NS (60 * NS_PER_S)
/*
 * Lower limit of the lifetime, so that a plugin with a wrong clock does not run for each
 * request.
 */
#define EXEC_MIN_NS NS_PER_S

struct kube_credentials {
	struct loop *loop;
	const struct kube_config *cfg; /* borrowed */
	kube_fetched_fn fetched;
	void *fetched_ctx;

	char *header; /* NULL: none */
	uint64_t generation;

	/* the token file */
	struct file_stamp stamp;
	uint64_t read_ns; /* monotonic */

	/* the plugin */
	struct kube_exec_run *run; /* NULL if not running */
	struct kube_exec_credential credential;
	bool has_credential;
	uint64_t refresh_ns; /* monotonic */
};

/* Like client-go: the plugin is used only without token and user name. */
static bool uses_plugin(const struct kube_config *cfg)
{
	return cfg->exec.command && !cfg->token && !cfg->token_file && !cfg->username;
}

/* token may be NULL: no header is sent. */
static int set_bearer(struct kube_credentials *c, const char *token)
{
	char *header = NULL;

	if (token && asprintf(&header, "Authorization: Bearer %s", token) < 0)
		return -ENOMEM;
	if (!header || !c->header || strcmp(header, c->header) != 0)
		c->generation++;
	free(c->header);
	c->header = header;
	return 0;
}

static int set_basic(struct kube_credentials *c)
{
	CLEANUP(buf_fini) struct buf pair, text;
	int r;

	buf_init(&pair, TOKEN_FILE_BYTES);
	buf_init(&text, 2 * TOKEN_FILE_BYTES);
	r = buf_addf(&pair, "%s:%s", c->cfg->username, c->cfg->password ? c->cfg->password : "");
	if (r == 0)
		r = base64_encode(pair.data, pair.len, &text);
	if (r < 0)
		return r;
	if (asprintf(&c->header, "Authorization: Basic %s", text.data) < 0) {
		c->header = NULL;
		return -ENOMEM;
	}
	return 0;
}

int kube_credentials_new(struct kube_credentials **ret, struct loop *l,
			 const struct kube_config *cfg, struct err *err)
{
	CLEANUP(kube_credentials_freep) struct kube_credentials *c = NULL;
	int r = 0;

	if (cfg->token && !kube_token_is_usable(cfg->token))
		return err_set(err, -EBADMSG,
			       "the token contains spaces or characters outside of ASCII");
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->loop = l;
	c->cfg = cfg;
	if (cfg->username)
		r = set_basic(c);
	else if (cfg->token && !cfg->token_file)
		r = set_bearer(c, cfg->token);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void kube_credentials_free(struct kube_credentials *c)
{
	if (!c)
		return;
	kube_exec_cancel(c->run);
	kube_exec_credential_fini(&c->credential);
	free(c->header);
	free(c);
}

void kube_credentials_on_fetched(struct kube_credentials *c, kube_fetched_fn fetched, void *ctx)
{
	c->fetched = fetched;
	c->fetched_ctx = ctx;
}

/* ---- token file ---- */

static int read_token(struct kube_credentials *c, struct err *err)
{
	const char *path = c->cfg->token_file;
	CLEANUP(buf_fini) struct buf text;
	char *token;
	int r;

	buf_init(&text, TOKEN_FILE_BYTES);
	r = fs_read_at(AT_FDCWD, path, &text);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return err_set(err, -EACCES, "token file %s: %s", path, strerror(-r));
	token = text.data ? text.data : NULL;
	if (token) {
		token += strspn(token, " \t\r\n");
		token[strcspn(token, " \t\r\n")] = '\0';
	}
	if (!token || !kube_token_is_usable(token))
		return err_set(err, -EACCES, "token file %s: contains no token", path);
	return set_bearer(c, token);
}

/*
 * Keeps the previous token if the file cannot be read: the server will say if it is not valid.
 */
static int refresh_token(struct kube_credentials *c, struct err *err)
{
	struct file_stamp stamp = file_stamp(c->cfg->token_file);
	uint64_t now = clock_monotonic_ns();
	int r;

	if (c->header && now - c->read_ns < TOKEN_MAX_AGE_NS && file_stamp_equal(&stamp, &c->stamp))
		return 0;
	r = read_token(c, err);
	if (r == -EACCES && !c->header && c->cfg->token)
		r = set_bearer(c, c->cfg->token);
	if (r == 0) {
		c->stamp = stamp;
		c->read_ns = now;
	}
	return c->header ? 0 : r;
}

/* ---- plugin ---- */

static uint64_t refresh_time(int64_t expires_ns)
{
	int64_t now = (int64_t)clock_realtime_ns();
	uint64_t left, margin;

	if (expires_ns == INT64_MAX)
		return UINT64_MAX;
	left = expires_ns > now ? (uint64_t)(expires_ns - now) : 0;
	margin = left / 4 < EXPIRY_MARGIN_NS ? left / 4 : EXPIRY_MARGIN_NS;
	left -= margin;
	return clock_monotonic_ns() + (left > EXEC_MIN_NS ? left : EXEC_MIN_NS);
}

static int adopt(struct kube_credentials *c, const struct kube_exec_result *result, struct err *err)
{
	struct kube_exec_credential credential = {0};
	int r;

	if (result->error)
		return err_set(err, result->error, "%s", result->msg);
	r = kube_exec_credential_parse(&credential, result->out, result->len,
				       c->cfg->exec.api_version, err);
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (r < 0)
		return err_wrap(err, r, "%s", c->cfg->exec.command);
	kube_exec_credential_fini(&c->credential);
	c->credential = credential;
	c->generation++;
	r = set_bearer(c, credential.token);
	if (r < 0)
		return err_set(err, r, "out of memory");
	c->has_credential = true;
	c->refresh_ns = refresh_time(credential.expires_ns);
	return 0;
}

static void on_plugin_done(void *ctx, const struct kube_exec_result *result)
{
	struct kube_credentials *c = ctx;
	struct err err = {""};
	int r = adopt(c, result, &err);

	c->run = NULL;
	c->fetched(c->fetched_ctx, r < 0 ? &err : NULL);
}

/* Returns NULL also if the file cannot be read: most plugins do not use it. */
static const char *ca_of(const struct kube_config *cfg, struct buf *file)
{
	if (cfg->ca_file && fs_read_at(AT_FDCWD, cfg->ca_file, file) == 0)
		return file->data;
	return cfg->ca_pem;
}

static int start_plugin(struct kube_credentials *c, struct err *err)
{
	const struct kube_exec *x = &c->cfg->exec;
	CLEANUP(buf_fini) struct buf ca;
	AUTO_FREE char *info = NULL;
	struct kube_exec_request req = {
		.command = x->command,
		.args = x->args,
		.env = x->env,
		.timeout_ns = EXEC_TIMEOUT_NS,
	};
	int r;

	buf_init(&ca, CA_FILE_BYTES);
	r = kube_exec_info(&info, c->cfg, x->provide_cluster_info ? ca_of(c->cfg, &ca) : NULL);
	if (r < 0)
		return r == -ENOMEM ? r
				    : err_set(err, -EACCES, "%s: the CA is too large", x->command);
	req.exec_info = info;
	r = kube_exec_start(&c->run, c->loop, &req, on_plugin_done, c, err);
	return r < 0 && r != -ENOMEM ? -EACCES : r;
}

/* ---- what callers get ---- */

int kube_credentials_get(struct kube_credentials *c, struct kube_identity *ret, struct err *err)
{
	int r = 0;

	if (uses_plugin(c->cfg)) {
		if (c->has_credential && clock_monotonic_ns() >= c->refresh_ns)
			c->has_credential = false;
		if (!c->has_credential && !c->run)
			r = start_plugin(c, err);
		if (r == 0 && !c->has_credential)
			return KUBE_CREDENTIALS_FETCHING;
	} else if (c->cfg->token_file) {
		r = refresh_token(c, err);
	}
	if (r < 0)
		return r;
	*ret = (struct kube_identity){c->header, c->credential.cert_pem, c->credential.key_pem,
				      c->generation};
	return KUBE_CREDENTIALS_READY;
}

bool kube_credentials_refused(struct kube_credentials *c, uint64_t generation)
{
	if (generation != c->generation)
		return true;
	if (uses_plugin(c->cfg)) {
		c->has_credential = false;
		return true;
	}
	if (c->cfg->token_file)
		(void)read_token(c, NULL);
	return generation != c->generation;
}
