/*
 * A kubelet or cert-manager replaces certificates while we run, and an exec plugin returns a
 * new one every few hours. curl keeps connections alive that were authenticated with the old
 * certificate, so a change needs a new http_client, not just new files.
 *
 * The files are compared by their stamps at every request (three calls of stat()). An old
 * transport stays in the list until its requests have ended; the watch's request may last for
 * minutes. It cannot be freed within the callback of its own last request, so the client sweeps
 * the list on its next turn.
 */
#include "common/kubernetes/kube_transport.h"

#include <errno.h>

#include "common/system/fs.h"
#include "version.h"

#define N_FILES 3

struct kube_transport {
	struct kube_transport *next;
	struct http_client *http;
	unsigned n_requests;

	/* the inputs it was made with */
	struct file_stamp files[N_FILES];
	char *cert_pem; /* from a plugin; NULL if none */
	char *key_pem;
};

struct kube_transports {
	struct loop *loop;
	const struct kube_config *cfg;
	struct kube_transport *newest; /* older ones follow; they only finish their requests */
};

static void transport_free(struct kube_transport *t)
{
	http_client_free(t->http);
	free(t->cert_pem);
	free(t->key_pem);
	free(t);
}

DEFINE_CLEANUP(struct kube_transport *, transport_free);

int kube_transports_new(struct kube_transports **ret, struct loop *l, const struct kube_config *cfg)
{
	struct kube_transports *ts = calloc(1, sizeof(*ts));

	if (!ts)
		return -ENOMEM;
	ts->loop = l;
	ts->cfg = cfg;
	*ret = ts;
	return 0;
}

void kube_transports_free(struct kube_transports *ts)
{
	while (ts && ts->newest) {
		struct kube_transport *t = ts->newest;

		ts->newest = t->next;
		transport_free(t);
	}
	free(ts);
}

static void stamp_files(const struct kube_config *cfg, struct file_stamp *ret)
{
	const char *const paths[N_FILES] = {cfg->ca_file, cfg->cert_file, cfg->key_file};

	for (size_t i = 0; i < N_FILES; i++)
		ret[i] = file_stamp(paths[i]);
}

static bool equal_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_current(const struct kube_transport *t, const struct kube_identity *who,
		       const struct file_stamp *files)
{
	if (!t)
		return false;
	for (size_t i = 0; i < N_FILES; i++)
		if (!file_stamp_equal(&t->files[i], &files[i]))
			return false;
	return equal_texts(t->cert_pem, who->cert_pem) && equal_texts(t->key_pem, who->key_pem);
}

static int make(struct kube_transport **ret, const struct kube_transports *ts,
		const struct kube_identity *who, const struct file_stamp *files)
{
	CLEANUP(transport_freep) struct kube_transport *t = NULL;
	const struct kube_config *cfg = ts->cfg;
	const struct http_client_config http = {
		.ca_file = cfg->ca_file,
		.ca_pem = cfg->ca_pem,
		.insecure_skip_verify = cfg->insecure_skip_verify,
		.cert_file = who->cert_pem ? NULL : cfg->cert_file,
		.cert_pem = who->cert_pem ? who->cert_pem : cfg->cert_pem,
		.key_file = who->key_pem ? NULL : cfg->key_file,
		.key_pem = who->key_pem ? who->key_pem : cfg->key_pem,
		.user_agent = "coroot-cluster-agent/" VERSION,
		.proxy = cfg->proxy_url,
	};
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	if (who->cert_pem && !(t->cert_pem = strdup(who->cert_pem)))
		return -ENOMEM;
	if (who->key_pem && !(t->key_pem = strdup(who->key_pem)))
		return -ENOMEM;
	memcpy(t->files, files, sizeof(t->files));
	r = http_client_new(&t->http, ts->loop, &http);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

int kube_transports_get(struct kube_transports *ts, const struct kube_identity *who,
			struct kube_transport **ret)
{
	struct file_stamp files[N_FILES];
	int r;

	stamp_files(ts->cfg, files);
	if (!is_current(ts->newest, who, files)) {
		struct kube_transport *t;

		r = make(&t, ts, who, files);
		if (r < 0)
			return r;
		t->next = ts->newest;
		ts->newest = t;
	}
	ts->newest->n_requests++;
	*ret = ts->newest;
	return 0;
}

struct http_client *kube_transport_http(const struct kube_transport *t)
{
	return t->http;
}

void kube_transport_put(struct kube_transport *t)
{
	t->n_requests--;
}

void kube_transports_sweep(struct kube_transports *ts)
{
	struct kube_transport **link = ts->newest ? &ts->newest->next : &ts->newest;

	while (*link) {
		struct kube_transport *t = *link;

		if (t->n_requests > 0) {
			link = &t->next;
			continue;
		}
		*link = t->next;
		transport_free(t);
	}
}
