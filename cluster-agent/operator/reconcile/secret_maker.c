#include "cluster-agent/operator/reconcile/secret_maker.h"

#include <errno.h>
#include <sys/random.h>

#include "cluster-agent/operator/objects/object_facts.h"
#include "cluster-agent/operator/render/rendered.h"
#include "common/text/base64.h"

int secret_maker_text(char *ret, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789";
	const size_t n = sizeof(letters) - 1;
	size_t made = 0;

	while (made < len) {
		unsigned char bytes[64];

		if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
			return -EIO;
		/* what is above the last multiple of n would make some letters more likely */
		for (size_t i = 0; i < sizeof(bytes) && made < len; i++)
			if (bytes[i] < 256 / n * n)
				ret[made++] = letters[bytes[i] % n];
	}
	ret[len] = '\0';
	return 0;
}

bool secret_maker_has(const json_t *secret, const char *key)
{
	return json_object_get(json_object_get(secret, "data"), key) != NULL;
}

bool secret_maker_may_add(const json_t *secret)
{
	struct object_facts f;

	object_facts_read(&f, secret);
	return f.managed;
}

/* {key: base64 of a new secret} */
static json_t *make_data(const struct wanted_secret *wanted)
{
	char text[SECRET_MAKER_MAX_BYTES + 1];
	CLEANUP(buf_fini) struct buf encoded;
	json_t *data = NULL;

	buf_init(&encoded, (size_t)2 * SECRET_MAKER_MAX_BYTES);
	if (wanted->length <= SECRET_MAKER_MAX_BYTES &&
	    secret_maker_text(text, wanted->length) == 0 &&
	    base64_encode(text, wanted->length, &encoded) == 0)
		data = json_pack("{s:s}", wanted->key, encoded.data);
	explicit_bzero(text, sizeof(text));
	if (encoded.data)
		explicit_bzero(encoded.data, encoded.len);
	return data;
}

json_t *secret_maker_body(const struct coroot_spec *s, const struct wanted_secret *wanted,
			  const json_t *existing)
{
	const json_t *metadata = json_object_get(existing, "metadata");
	const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
	json_t *data = make_data(wanted);

	if (!data)
		return NULL;
	/* with the version, a key that somebody else adds at this moment is not overwritten */
	if (existing)
		return json_pack("{s:{s:s*} s:o}", "metadata", "resourceVersion", version, "data",
				 data);
	return json_pack("{s:s s:s s:s s:{s:s s:s s:{s:s s:s}} s:o}", "apiVersion", "v1", "kind",
			 "Secret", "type", "Opaque", "metadata", "name", wanted->name, "namespace",
			 s->namespace, "labels", "app.kubernetes.io/managed-by", OBJECT_MANAGED_BY,
			 "app.kubernetes.io/part-of", s->name, "data", data);
}
