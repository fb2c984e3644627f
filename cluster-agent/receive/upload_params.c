#include "cluster-agent/receive/upload_params.h"

#include <errno.h>

static bool is(const struct row_text *t, const char *s)
{
	return t->len == strlen(s) && memcmp(t->data, s, t->len) == 0;
}

void upload_params_add(struct upload_params *p, const char *name, const char *value)
{
	struct row_text text = {.data = value, .len = strlen(value)};

	if (strcmp(name, "service.name") == 0) {
		if (p->service.len == 0)
			p->service = text;
		return;
	}
	for (size_t i = 0; i < p->n_labels; i++) {
		if (is(&p->labels[i].name, name)) {
			p->repeated[i] = true;
			return;
		}
	}
	if (p->n_labels == UPLOAD_PARAMS_MAX) {
		p->too_many = true;
		return;
	}
	p->repeated[p->n_labels] = false;
	p->labels[p->n_labels++] =
		(struct row_label){.name = {.data = name, .len = strlen(name)}, .value = text};
}

int upload_params_finish(struct upload_params *p, struct err *err)
{
	size_t n = 0;

	if (p->service.len == 0)
		return err_set(err, -EINVAL, "query parameter service.name is missing");
	if (p->too_many)
		return err_set(err, -EINVAL, "more than %u query parameters", UPLOAD_PARAMS_MAX);
	for (size_t i = 0; i < p->n_labels; i++) {
		if (p->repeated[i])
			continue;
		p->labels[n] = p->labels[i];
		if (is(&p->labels[n].name, "host.name") ||
		    (p->host.len == 0 && is(&p->labels[n].name, "node")))
			p->host = p->labels[n].value;
		n++;
	}
	p->n_labels = n;
	return 0;
}
