/* Any bytes as the answer of an exec plugin: a sentence, or something that can be sent. */
#include "common/kubernetes/kube_exec_credential.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_exec_credential c = {0};
	struct err err = {""};

	if (kube_exec_credential_parse(&c, (const char *)data, size,
				       "client.authentication.k8s.io/v1", &err) < 0) {
		if (!err.msg[0] || c.token || c.cert_pem || c.key_pem)
			abort();
		return 0;
	}
	if (!c.token && !c.cert_pem)
		abort();
	if (!c.cert_pem != !c.key_pem)
		abort();
	/* a line break would be further headers */
	if (c.token && (!*c.token || strpbrk(c.token, " \r\n")))
		abort();
	kube_exec_credential_fini(&c);
	return 0;
}
