/*
 * Any bytes as a kubeconfig, alone and as the first and second of two: refused with a sentence, or
 * a server, a namespace and nothing that contradicts itself.
 */
#include <jansson.h>
#include <strings.h>

#include "common/kubernetes/kube_config_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	if (!value)
		abort();
	json_decref(value);
}

static void check_accepted(const struct kube_config *c)
{
	size_t len = c->server ? strlen(c->server) : 0;

	if (!c->server || !c->namespace || strncasecmp(c->server, "http", 4) != 0 ||
	    c->server[len - 1] == '/')
		abort();
	if ((c->ca_file && c->ca_pem) || (c->cert_file && c->cert_pem) ||
	    (c->key_file && c->key_pem))
		abort();
	if (!(c->cert_file || c->cert_pem) != !(c->key_file || c->key_pem))
		abort();
	if ((c->token || c->token_file) && (c->username || c->password))
		abort();
	if (c->exec.command && !c->exec.api_version)
		abort();
	if (c->exec.cluster_config)
		check_json(c->exec.cluster_config);
}

static void parse(const struct kube_config_text *files, size_t n)
{
	CLEANUP(kube_config_fini) struct kube_config c = {0}, copy = {0};
	struct err err = {""};

	if (kube_config_parse(&c, files, n, NULL, &err) < 0) {
		if (!err.msg[0])
			abort();
		return;
	}
	check_accepted(&c);
	if (kube_config_copy(&copy, &c) < 0)
		abort();
	check_accepted(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *cut = memmem(text, size, "\n---\n", 5);
	size_t first = cut ? (size_t)(cut - text) + 1 : size;
	const struct kube_config_text files[] = {{"/a/config", text, first},
						 {"b/config", text + first, size - first}};

	parse(files, 1);
	parse(files, 2);
	return 0;
}
