#include "cluster-agent/operator/objects/object_answer.h"

#include <errno.h>
#include <jansson.h>

/* The texts of k8s.io/apimachinery/pkg/api/validation and k8s.io/kubernetes/pkg/apis/apps. */
static bool is_about_immutable(const char *message)
{
	return strstr(message, "field is immutable") != NULL ||
	       strstr(message, "updates to statefulset spec for fields other than") != NULL;
}

static bool is_immutable(const struct kube_result *result)
{
	json_t *status = json_loadb(result->body, result->body_len, 0, NULL);
	const json_t *causes = json_object_get(json_object_get(status, "details"), "causes");
	bool immutable = json_array_size(causes) > 0;
	const json_t *cause;
	size_t i;

	json_array_foreach (causes, i, cause) {
		const char *message = json_string_value(json_object_get(cause, "message"));

		immutable = immutable && message && is_about_immutable(message);
	}
	json_decref(status);
	return immutable;
}

enum object_answer object_answer_read(const struct kube_result *result)
{
	if (result->error == -EACCES)
		return OBJECT_ANSWER_FORBIDDEN;
	if (result->error)
		return OBJECT_ANSWER_UNREACHABLE;
	if (result->status >= 200 && result->status <= 299)
		return OBJECT_ANSWER_OK;
	switch (result->status) {
	case 401:
	case 403:
		return OBJECT_ANSWER_FORBIDDEN;
	case 404:
		return OBJECT_ANSWER_NONE;
	case 409:
		return OBJECT_ANSWER_CONFLICT;
	case 422:
		return is_immutable(result) ? OBJECT_ANSWER_IMMUTABLE : OBJECT_ANSWER_REFUSED;
	case 429:
		return OBJECT_ANSWER_BUSY;
	default:
		return result->status >= 500 ? OBJECT_ANSWER_BUSY : OBJECT_ANSWER_REFUSED;
	}
}
