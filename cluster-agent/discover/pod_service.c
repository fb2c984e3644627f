#include "cluster-agent/discover/pod_service.h"

#include "common/text/kube_names.h"

#define DIGITS "0123456789"

const char *pod_name_text(const json_t *v, size_t max)
{
	const char *s = json_string_value(v);
	size_t len = json_string_length(v);

	if (!s || len == 0 || len > max)
		return NULL;
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] >= 0x7f || s[i] == '/')
			return NULL;
	return s;
}

static const json_t *find_controller(const json_t *pod)
{
	const json_t *owners = json_object_get(json_object_get(pod, "metadata"), "ownerReferences");
	const json_t *owner;
	size_t i;

	json_array_foreach (owners, i, owner) {
		if (json_is_true(json_object_get(owner, "controller")))
			return owner;
	}
	return NULL;
}

/* Returns the length of name without its last "-<characters of set>", or its whole length. */
static size_t without_suffix(const char *name, const char *set)
{
	const char *dash = strrchr(name, '-');

	if (!dash || dash == name || dash[1] == '\0' || dash[1 + strspn(dash + 1, set)] != '\0')
		return strlen(name);
	return (size_t)(dash - name);
}

static bool ends_in_node(const char *name, const char *node)
{
	size_t len = strlen(name), n = strlen(node);

	return len > n + 1 && name[len - n - 1] == '-' && strcmp(name + len - n, node) == 0;
}

/* Returns a string that begins with the owner's name, whose length is *ret_len. */
static const char *owner_name(const json_t *pod, const char *name, size_t *ret_len)
{
	const json_t *controller = find_controller(pod);
	const char *kind = json_string_value(json_object_get(controller, "kind"));
	const char *owner = pod_name_text(json_object_get(controller, "name"), POD_NAME_BYTES);

	*ret_len = strlen(name);
	if (!kind || !owner)
		return name;
	if (strcmp(kind, "Node") == 0) {
		/* the kubelet names static pods <name>-<node> */
		if (ends_in_node(name, owner))
			*ret_len -= strlen(owner) + 1;
		return name;
	}
	*ret_len = strlen(owner);
	if (strcmp(kind, "ReplicaSet") == 0)
		*ret_len = without_suffix(owner, DIGITS "abcdef");
	else if (strcmp(kind, "Job") == 0)
		*ret_len = without_suffix(owner, DIGITS);
	return owner;
}

void pod_service_name(char ret[static POD_SERVICE_BYTES], const json_t *pod, const char *ns,
		      const char *name)
{
	size_t len = kube_owner_len(name, strlen(name));
	const char *owner = name;

	if (len == 0)
		owner = owner_name(pod, name, &len);
	snprintf(ret, POD_SERVICE_BYTES, "/k8s/%s/%.*s", ns, (int)len, owner);
}
