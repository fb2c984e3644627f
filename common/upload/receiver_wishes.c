#include "common/upload/receiver_wishes.h"

#include <errno.h>
#include <jansson.h>

static const char *const naming_texts[] = {
	[KUBE_NAMING_OWN] = "own",
	[KUBE_NAMING_COROOT] = "coroot",
};

/* Returns 0, or -EBADMSG if v is not the name of a naming scheme. */
static int read_naming(enum kube_naming *ret, const json_t *v)
{
	const char *s = json_string_value(v);

	for (size_t i = 0; s && i < ARRAY_SIZE(naming_texts); i++) {
		if (strcmp(s, naming_texts[i]) == 0) {
			*ret = (enum kube_naming)i;
			return 0;
		}
	}
	return -EBADMSG;
}

int receiver_wishes_parse(struct receiver_wishes *ret, const char *body, size_t len)
{
	struct receiver_wishes w;
	const json_t *extra;
	json_t *root;
	int r;

	if (len > RECEIVER_WISHES_BYTES)
		return -EBADMSG;
	root = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	extra = json_object_get(root, "extraLabels");
	r = read_naming(&w.naming, json_object_get(root, "naming"));
	if (!json_is_boolean(extra))
		r = -EBADMSG;
	w.extra_labels = json_is_true(extra);
	json_decref(root);
	if (r == 0)
		*ret = w;
	return r;
}

const char *receiver_wishes_json(const struct receiver_wishes *w)
{
	static const char *const texts[][2] = {
		[KUBE_NAMING_OWN] = {"{\"naming\":\"own\",\"extraLabels\":false}\n",
				     "{\"naming\":\"own\",\"extraLabels\":true}\n"},
		[KUBE_NAMING_COROOT] = {"{\"naming\":\"coroot\",\"extraLabels\":false}\n",
					"{\"naming\":\"coroot\",\"extraLabels\":true}\n"},
	};

	return texts[w->naming][w->extra_labels];
}
