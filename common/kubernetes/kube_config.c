#include "common/kubernetes/kube_config.h"

#include <errno.h>

#define N_TEXTS 17

/* The addresses of all strings of c, so that copying and freeing need only one list of them. */
static void texts_of(struct kube_config *c, char **ret[static N_TEXTS])
{
	char **const texts[N_TEXTS] = {
		&c->server,
		&c->namespace,
		&c->tls_server_name,
		&c->proxy_url,
		&c->ca_file,
		&c->ca_pem,
		&c->cert_file,
		&c->cert_pem,
		&c->key_file,
		&c->key_pem,
		&c->token,
		&c->token_file,
		&c->username,
		&c->password,
		&c->exec.command,
		&c->exec.api_version,
		&c->exec.cluster_config,
	};

	memcpy(ret, texts, sizeof(texts));
}

static void free_list(char **list)
{
	for (char **s = list; s && *s; s++)
		free(*s);
	free(list);
}

void kube_config_fini(struct kube_config *c)
{
	char **texts[N_TEXTS];

	texts_of(c, texts);
	for (size_t i = 0; i < N_TEXTS; i++)
		free(*texts[i]);
	free_list(c->exec.args);
	free_list(c->exec.env);
	*c = (struct kube_config){0};
}

/* Even on failure *ret belongs to the caller, who frees it with free_list(). */
static int copy_list(char ***ret, char *const *from)
{
	char **list;
	size_t n = 0;

	if (!from)
		return 0;
	while (from[n])
		n++;
	list = calloc(n + 1, sizeof(*list));
	*ret = list;
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i] = strdup(from[i]);
		if (!list[i])
			return -ENOMEM;
	}
	return 0;
}

static int copy_texts(struct kube_config *ret, const struct kube_config *c)
{
	char **to[N_TEXTS], **from[N_TEXTS];
	struct kube_config borrowed = *c;

	texts_of(ret, to);
	texts_of(&borrowed, from);
	for (size_t i = 0; i < N_TEXTS; i++) {
		*to[i] = *from[i] ? strdup(*from[i]) : NULL;
		if (*from[i] && !*to[i])
			return -ENOMEM;
	}
	return 0;
}

int kube_config_copy(struct kube_config *ret, const struct kube_config *c)
{
	int r;

	ret->insecure_skip_verify = c->insecure_skip_verify;
	ret->exec.provide_cluster_info = c->exec.provide_cluster_info;
	r = copy_texts(ret, c);
	if (r == 0)
		r = copy_list(&ret->exec.args, c->exec.args);
	if (r == 0)
		r = copy_list(&ret->exec.env, c->exec.env);
	if (r < 0)
		kube_config_fini(ret);
	return r;
}
