#include "cluster-agent/push/series_labels.h"

#include <errno.h>

#include "common/text/utf8.h"

static bool is(const struct row_text *t, const char *text)
{
	return t->len == strlen(text) && memcmp(t->data, text, t->len) == 0;
}

static bool is_one_of(const struct row_text *t, const char *const *texts)
{
	for (; *texts; texts++)
		if (is(t, *texts))
			return true;
	return false;
}

static const char *const service_names[] = {"service_name", "service.name", NULL};
static const char *const host_names[] = {"hostname", "host.name", "node", NULL};
/* Labels whose value names the profiler or the language. */
static const char *const source_names[] = {"pyroscope_spy", "spyName", "telemetry.sdk.language",
					   "process.runtime.name", NULL};

/* Makes *t a copy in the arena that is UTF-8 without control characters. False without memory. */
static bool copy(struct series_labels *l, struct row_text *t)
{
	char *text = arena_strndup(l->arena, t->len > 0 ? t->data : "", t->len);

	if (!text)
		return false;
	*t = (struct row_text){text, utf8_make_printable(text, t->len)};
	text[t->len] = '\0';
	return true;
}

static bool has(const struct series_labels *l, const struct row_text *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].name.len == name->len &&
		    memcmp(l->items[i].name.data, name->data, name->len) == 0)
			return true;
	return false;
}

static void note_source(struct series_labels *l, const struct row_label *label)
{
	const char *slash;
	enum foreign_source s = FOREIGN_ANY;

	if (is_one_of(&label->name, source_names)) {
		s = foreign_source_find(label->value.data, label->value.len);
	} else if (is(&label->name, "otel.scope.name")) {
		/* "com.grafana.pyroscope/python" */
		slash = memrchr(label->value.data, '/', label->value.len);
		if (slash)
			s = foreign_source_find(slash + 1, (size_t)(label->value.data +
								    label->value.len - slash - 1));
	}
	if (l->source == FOREIGN_ANY)
		l->source = s;
}

static int add_label(struct series_labels *l, const struct row_label *label, struct err *err)
{
	if (has(l, &label->name))
		return 0;
	if (l->n == SERIES_LABELS_MAX)
		return err_set(err, -EBADMSG, "more than %u labels", SERIES_LABELS_MAX);
	l->items[l->n++] = *label;
	note_source(l, label);
	if (l->host.len == 0 && is_one_of(&label->name, host_names))
		l->host = label->value;
	return 0;
}

int series_labels_add(struct series_labels *l, struct row_text name, struct row_text value,
		      struct err *err)
{
	size_t size = name.len + value.len;
	struct row_label label;

	if (name.len == 0)
		return err_set(err, -EBADMSG, "a label has no name");
	if (name.len > SERIES_TEXT_MAX_BYTES || value.len > SERIES_TEXT_MAX_BYTES)
		return err_set(err, -EBADMSG, "a label is longer than %u bytes",
			       SERIES_TEXT_MAX_BYTES);
	if (!copy(l, &name) || !copy(l, &value))
		return arena_error(l->arena, size);
	label = (struct row_label){name, value};
	if (is(&label.name, "__name__"))
		l->metric = value.data;
	if (name.len == 0 || value.len == 0 || strncmp(name.data, "__", 2) == 0)
		return 0;
	if (is_one_of(&label.name, service_names)) {
		if (l->service.len == 0)
			l->service = label.value;
		return 0;
	}
	return add_label(l, &label, err);
}

static struct row_text trimmed(const char *from, const char *end)
{
	while (from < end && *from == ' ')
		from++;
	while (end > from && end[-1] == ' ')
		end--;
	if (end - from >= 2 && *from == '"' && end[-1] == '"') {
		from++;
		end--;
	}
	return (struct row_text){from, (size_t)(end - from)};
}

static int add_pairs(struct series_labels *l, const char *p, const char *end, struct err *err)
{
	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p)) ?: end;
		const char *equals = memchr(p, '=', (size_t)(comma - p));
		struct row_text rest = trimmed(p, comma);
		int r = 0;

		if (equals)
			r = series_labels_add(l, trimmed(p, equals), trimmed(equals + 1, comma),
					      err);
		else if (rest.len > 0)
			return err_set(err, -EBADMSG, "the label \"%.*s\" in the name has no '='",
				       (int)(rest.len < 64 ? rest.len : 64), rest.data);
		if (r < 0)
			return r;
		p = comma < end ? comma + 1 : end;
	}
	return 0;
}

int series_labels_add_app(struct series_labels *l, const char *text, size_t len, struct err *err)
{
	const char *end = text + len, *brace = memchr(text, '{', len);
	struct row_text app = trimmed(text, brace ?: end);
	static const struct row_text service = {"service_name", sizeof("service_name") - 1};
	int r = 0;

	if (brace) {
		struct row_text all = trimmed(text, end);

		if (all.data[all.len - 1] != '}')
			return err_set(err, -EBADMSG, "the name has no '}' at its end");
		r = add_pairs(l, brace + 1, all.data + all.len - 1, err);
	}
	if (r < 0)
		return r;
	if (app.len == 0 && l->service.len == 0)
		return err_set(err, -EBADMSG, "the name has no application");
	return app.len > 0 ? series_labels_add(l, service, app, err) : 0;
}
