#include "common/kubernetes/kube_exec_credential.h"

#include <errno.h>
#include <jansson.h>

#include "common/text/base64.h"
#include "common/text/json_writer.h"
#include "common/text/rfc3339.h"

#define MAX_INFO_BYTES ((size_t)1024 * 1024)

bool kube_token_is_usable(const char *token)
{
	for (const char *c = token; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return *token;
}

void kube_exec_credential_fini(struct kube_exec_credential *c)
{
	free(c->token);
	free(c->cert_pem);
	free(c->key_pem);
	*c = (struct kube_exec_credential){0};
}

/*
 * Returns NULL if the value is missing, null or empty, or not a string; the last sets *wrong.
 */
static const char *get_text(const json_t *object, const char *key, bool *wrong)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);

	if (value && !json_is_null(value) && !text)
		*wrong = true;
	return text && *text ? text : NULL;
}

static int read_expiry(const json_t *status, int64_t *ret, struct err *err)
{
	bool wrong = false;
	const char *text = get_text(status, "expirationTimestamp", &wrong);
	int r = wrong ? -EINVAL : 0;

	*ret = INT64_MAX;
	if (text)
		r = rfc3339_parse(text, strlen(text), ret);
	/* some plugins write "9999-12-31T23:59:59Z" for never */
	if (r == -ERANGE)
		*ret = text && text[0] >= '2' ? INT64_MAX : INT64_MIN;
	else if (r < 0)
		return err_set(err, -EBADMSG, "its expirationTimestamp is not a valid time");
	return 0;
}

static int copy_text(char **ret, const char *text)
{
	if (!text)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int read_status(struct kube_exec_credential *ret, const json_t *status, struct err *err)
{
	bool wrong = false;
	const char *token = get_text(status, "token", &wrong);
	const char *cert = get_text(status, "clientCertificateData", &wrong);
	const char *key = get_text(status, "clientKeyData", &wrong);
	int r;

	if (wrong || (token && !kube_token_is_usable(token)))
		return err_set(err, -EBADMSG, "its token or certificate cannot be used");
	if (!cert != !key)
		return err_set(err, -EBADMSG,
			       "it returned a certificate or a key without the other");
	if (!token && !cert)
		return err_set(err, -EBADMSG, "it returned neither a token nor a certificate");
	r = read_expiry(status, &ret->expires_ns, err);
	if (r < 0)
		return r;
	r = copy_text(&ret->token, token);
	if (r < 0)
		return r;
	r = copy_text(&ret->cert_pem, cert);
	if (r < 0)
		return r;
	return copy_text(&ret->key_pem, key);
}

static int read_credential(struct kube_exec_credential *ret, const json_t *root,
			   const char *api_version, struct err *err)
{
	const char *kind = json_string_value(json_object_get(root, "kind"));
	const char *version = json_string_value(json_object_get(root, "apiVersion"));
	const json_t *status = json_object_get(root, "status");

	if (!kind || strcmp(kind, "ExecCredential") != 0)
		return err_set(err, -EBADMSG, "its output is not an ExecCredential");
	if (!version || strcmp(version, api_version) != 0)
		return err_set(err, -EBADMSG, "its output does not have the apiVersion %s",
			       api_version);
	if (!json_is_object(status))
		return err_set(err, -EBADMSG, "its output has no status");
	return read_status(ret, status, err);
}

int kube_exec_credential_parse(struct kube_exec_credential *ret, const char *text, size_t len,
			       const char *api_version, struct err *err)
{
	json_error_t why;
	json_t *root;
	int r;

	if (len == 0)
		return err_set(err, -EBADMSG, "it printed nothing");
	root = json_loadb(text, len, 0, &why);
	if (!root && json_error_code(&why) == json_error_out_of_memory)
		return -ENOMEM;
	if (!root)
		return err_set(err, -EBADMSG, "its output is not valid JSON (line %d)", why.line);
	r = read_credential(ret, root, api_version, err);
	json_decref(root);
	if (r < 0)
		kube_exec_credential_fini(ret);
	return r;
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
	if (!text)
		return;
	json_key(w, key);
	json_put_string(w, text, strlen(text));
}

/* json is inserted as it is; NULL becomes null. */
static void put_config(struct json_writer *w, const char *json)
{
	json_key(w, "config");
	if (!json) {
		json_put_null(w);
	} else if (w->error == 0) {
		w->error = buf_add(w->out, json, strlen(json));
		w->comma = true;
	}
}

static int put_cluster(struct json_writer *w, const struct kube_config *cfg, const char *ca_pem)
{
	CLEANUP(buf_fini) struct buf ca;
	int r = 0;

	buf_init(&ca, MAX_INFO_BYTES);
	if (ca_pem)
		r = base64_encode(ca_pem, strlen(ca_pem), &ca);
	json_key(w, "cluster");
	json_open(w, '{');
	put_text(w, "server", cfg->server);
	put_text(w, "tls-server-name", cfg->tls_server_name);
	if (cfg->insecure_skip_verify) {
		json_key(w, "insecure-skip-tls-verify");
		json_put_bool(w, true);
	}
	put_text(w, "certificate-authority-data", ca.data);
	put_text(w, "proxy-url", cfg->proxy_url);
	put_config(w, cfg->exec.cluster_config);
	json_close(w, '}');
	return r;
}

int kube_exec_info(char **ret, const struct kube_config *cfg, const char *ca_pem)
{
	CLEANUP(buf_fini) struct buf out;
	struct json_writer w;
	size_t len;
	int r = 0, finished;

	buf_init(&out, 2 * MAX_INFO_BYTES);
	json_writer_init(&w, &out);
	json_open(&w, '{');
	put_text(&w, "kind", "ExecCredential");
	put_text(&w, "apiVersion", cfg->exec.api_version);
	json_key(&w, "spec");
	json_open(&w, '{');
	json_key(&w, "interactive");
	json_put_bool(&w, false);
	if (cfg->exec.provide_cluster_info)
		r = put_cluster(&w, cfg, ca_pem);
	json_close(&w, '}');
	json_close(&w, '}');
	finished = json_writer_finish(&w);
	if (r == 0)
		r = finished;
	if (r < 0)
		return r;
	*ret = buf_take(&out, &len);
	return 0;
}
