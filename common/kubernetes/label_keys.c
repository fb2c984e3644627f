#include "common/kubernetes/label_keys.h"

#include <errno.h>

#include "common/kubernetes/kube_pod.h"

#define KEY_CHARS                                              \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789-_./"

/* What profiles have already, and may not get twice. */
static const char *const own[] = {
	"service.name",
	"container.id",
	"host.name",
	"host.id",
	"namespace",
	"pod",
	"node",
	"port",
	"k8s.namespace.name",
	"k8s.pod.name",
	"k8s.container.name",
	"container.image.name",
};

static int check(const char *key, struct err *err)
{
	if (strlen(key) > 317 || key[strspn(key, KEY_CHARS)])
		return err_set(err, -EINVAL, "\"%.40s\" is not the key of a label", key);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strcmp(key, own[i]) == 0)
			return err_set(err, -EINVAL, "profiles have a label \"%s\" of their own",
				       key);
	return 0;
}

static int add(struct label_keys *k, const char *key, struct err *err)
{
	int r = check(key, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->keys[i], key) == 0)
			return 0;
	if (k->n == LABEL_KEYS_MAX)
		return err_set(err, -EINVAL, "more than %u keys", LABEL_KEYS_MAX);
	k->keys[k->n++] = key;
	return 0;
}

int label_keys_parse(struct label_keys *ret, const char *list, struct err *err)
{
	char *rest = NULL;
	int r = 0;

	*ret = (struct label_keys){.text = strdup(list ? list : "")};
	if (!ret->text)
		return -ENOMEM;
	for (char *key = strtok_r(ret->text, ", \t\n", &rest); key && r == 0;
	     key = strtok_r(NULL, ", \t\n", &rest))
		r = add(ret, key, err);
	if (r < 0)
		label_keys_fini(ret);
	return r;
}

void label_keys_fini(struct label_keys *k)
{
	free(k->text);
	*k = (struct label_keys){0};
}

const char *label_keys_value(const json_t *object, const char *key)
{
	const json_t *metadata = json_object_get(object, "metadata");

	return kube_part_text(json_object_get(json_object_get(metadata, "labels"), key));
}
