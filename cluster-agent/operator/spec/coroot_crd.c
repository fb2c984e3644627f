/*
 * A structural schema prunes every field that it does not name, silently. So all objects of ours
 * keep unknown fields: those of newer versions of Coroot survive, and a misspelt one is still there
 * to be reported. Objects of Kubernetes that are passed on as they are have no schema; the small
 * ones, such as the name and key of a Secret, have Coroot's, so that kubectl says what is wrong
 * with them.
 */
#include "cluster-agent/operator/spec/coroot_crd.h"

#include <ctype.h>
#include <stdarg.h>

#include "cluster-agent/operator/spec/coroot_fields.h"

#define SPEC_INDENT 12 /* of the properties of the schema */
#define TEXT_BYTES 512

struct writer {
	struct buf *out;
	int error;
};

static void PRINTF_LIKE(3, 4) line(struct writer *w, int indent, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (w->error == 0)
		w->error = buf_addf(w->out, "%*s%s\n", indent, "", text);
}

/* Text between single quotes, in which only that quote is special. */
static const char *quoted(char ret[static TEXT_BYTES], const char *text)
{
	size_t n = 0;

	ret[n++] = '\'';
	for (; *text && n < TEXT_BYTES - 4; text++) {
		if (*text == '\'')
			ret[n++] = '\'';
		ret[n++] = *text;
	}
	ret[n++] = '\'';
	ret[n] = '\0';
	return ret;
}

/* The help as a sentence. */
static void write_description(struct writer *w, int indent, const struct coroot_field *f)
{
	char text[TEXT_BYTES], value[TEXT_BYTES];

	snprintf(text, sizeof(text), "%s%c%s.%s%s%s", f->unused ? "Not used. " : "",
		 toupper((unsigned char)f->help[0]), f->help + 1, f->def ? " Default: " : "",
		 f->def ? f->def : "", f->def ? "." : "");
	line(w, indent, "description: %s", quoted(value, text));
}

static void write_unknown_fields(struct writer *w, int indent)
{
	line(w, indent, "x-kubernetes-preserve-unknown-fields: true");
}

static void write_quantity(struct writer *w, int indent)
{
	line(w, indent, "anyOf:");
	line(w, indent, "- type: integer");
	line(w, indent, "- type: string");
	line(w, indent,
	     "pattern: '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))"
	     "(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|"
	     "(\\.[0-9]+))))?$'");
	line(w, indent, "x-kubernetes-int-or-string: true");
}

static void write_string(struct writer *w, int indent, const struct coroot_field *f)
{
	char text[TEXT_BYTES];

	line(w, indent, "type: string");
	if (f->rule && f->rule->pattern)
		line(w, indent, "pattern: %s", quoted(text, f->rule->pattern));
	if (!f->strict)
		return;
	line(w, indent, "enum:");
	for (size_t i = 0; f->choices[i]; i++)
		line(w, indent, "- %s", quoted(text, f->choices[i]));
}

static void write_secret_key(struct writer *w, int indent)
{
	line(w, indent, "type: object");
	line(w, indent, "properties:");
	line(w, indent + 2, "key:");
	line(w, indent + 4, "type: string");
	line(w, indent + 2, "name:");
	line(w, indent + 4, "type: string");
	line(w, indent + 2, "optional:");
	line(w, indent + 4, "type: boolean");
	line(w, indent, "required:");
	line(w, indent, "- key");
	line(w, indent, "x-kubernetes-map-type: atomic");
}

static void write_env(struct writer *w, int indent)
{
	line(w, indent, "type: array");
	line(w, indent, "items:");
	line(w, indent + 2, "type: object");
	line(w, indent + 2, "properties:");
	line(w, indent + 4, "name:");
	line(w, indent + 6, "type: string");
	line(w, indent + 4, "value:");
	line(w, indent + 6, "type: string");
	line(w, indent + 4, "valueFrom:");
	line(w, indent + 6, "type: object");
	write_unknown_fields(w, indent + 6);
	line(w, indent + 2, "required:");
	line(w, indent + 2, "- name");
}

static void write_resources(struct writer *w, int indent)
{
	static const char *const parts[] = {"limits", "requests"};

	line(w, indent, "type: object");
	line(w, indent, "properties:");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		line(w, indent + 2, "%s:", parts[i]);
		line(w, indent + 4, "type: object");
		line(w, indent + 4, "additionalProperties:");
		write_quantity(w, indent + 6);
	}
	write_unknown_fields(w, indent);
}

static void write_fields(struct writer *w, int indent, const char *parent);

static void write_any(struct writer *w, int indent)
{
	line(w, indent, "type: object");
	write_unknown_fields(w, indent);
}

/* What is below the field's name and description. */
static void write_type(struct writer *w, int indent, const struct coroot_field *f)
{
	char parent[128];

	switch (f->type) {
	case FIELD_OBJECT:
		write_any(w, indent);
		write_fields(w, indent, f->path);
		return;
	case FIELD_OBJECTS:
		line(w, indent, "type: array");
		line(w, indent, "items:");
		write_any(w, indent + 2);
		snprintf(parent, sizeof(parent), "%s[]", f->path);
		write_fields(w, indent + 2, parent);
		return;
	case FIELD_ANY:
		write_any(w, indent);
		return;
	case FIELD_ANY_LIST:
		line(w, indent, "type: array");
		line(w, indent, "items:");
		write_any(w, indent + 2);
		return;
	case FIELD_STRING:
		write_string(w, indent, f);
		return;
	case FIELD_STRINGS:
		line(w, indent, "type: array");
		line(w, indent, "items:");
		line(w, indent + 2, "type: string");
		return;
	case FIELD_MAP:
		line(w, indent, "type: object");
		line(w, indent, "additionalProperties:");
		line(w, indent + 2, "type: string");
		return;
	case FIELD_INTEGER:
		line(w, indent, "type: integer");
		return;
	case FIELD_BOOLEAN:
		line(w, indent, "type: boolean");
		return;
	case FIELD_QUANTITY:
		write_quantity(w, indent);
		return;
	case FIELD_SECRET_KEY:
		write_secret_key(w, indent);
		return;
	case FIELD_ENV:
		write_env(w, indent);
		return;
	case FIELD_RESOURCES:
		write_resources(w, indent);
		return;
	case FIELD_PULL_SECRETS:
		line(w, indent, "type: array");
		line(w, indent, "items:");
		line(w, indent + 2, "type: object");
		line(w, indent + 2, "properties:");
		line(w, indent + 4, "name:");
		line(w, indent + 6, "type: string");
		line(w, indent + 2, "x-kubernetes-map-type: atomic");
		return;
	case FIELD_TYPE_MAX:
		break;
	}
}

/* "properties" and "required" of an object. */
static void write_fields(struct writer *w, int indent, const char *parent)
{
	bool required = false;

	line(w, indent, "properties:");
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];

		if (!coroot_field_is_in(f, parent))
			continue;
		line(w, indent + 2, "%s:", coroot_field_name(f));
		write_description(w, indent + 4, f);
		write_type(w, indent + 4, f);
	}
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];

		if (!f->required || !coroot_field_is_in(f, parent))
			continue;
		if (!required)
			line(w, indent, "required:");
		required = true;
		line(w, indent, "- %s", coroot_field_name(f));
	}
}

static const char head[] =
	"apiVersion: apiextensions.k8s.io/v1\n"
	"kind: CustomResourceDefinition\n"
	"metadata:\n"
	"  name: coroots.coroot.com\n"
	"spec:\n"
	"  group: coroot.com\n"
	"  names:\n"
	"    kind: Coroot\n"
	"    listKind: CorootList\n"
	"    plural: coroots\n"
	"    singular: coroot\n"
	"  scope: Namespaced\n"
	"  versions:\n"
	"  - name: v1\n"
	"    served: true\n"
	"    storage: true\n"
	"    subresources:\n"
	"      status: {}\n"
	"    additionalPrinterColumns:\n"
	"    - name: Ready\n"
	"      type: string\n"
	"      jsonPath: .status.conditions[?(@.type==\"Ready\")].status\n"
	"    - name: Status\n"
	"      type: string\n"
	"      jsonPath: .status.conditions[?(@.type==\"Ready\")].reason\n"
	"    - name: Message\n"
	"      type: string\n"
	"      priority: 1\n"
	"      jsonPath: .status.conditions[?(@.type==\"Ready\")].message\n"
	"    - name: Age\n"
	"      type: date\n"
	"      jsonPath: .metadata.creationTimestamp\n"
	"    schema:\n"
	"      openAPIV3Schema:\n"
	"        description: 'What the operator installs in the namespace of this resource.'\n"
	"        type: object\n"
	"        properties:\n"
	"          apiVersion:\n"
	"            type: string\n"
	"          kind:\n"
	"            type: string\n"
	"          metadata:\n"
	"            type: object\n"
	"          spec:\n";

/* Coroot's own status has the first two; conditions are metav1.Condition. */
static const char status[] =
	"          status:\n"
	"            type: object\n"
	"            properties:\n"
	"              status:\n"
	"                description: '\"OK\" or \"Misconfigured\".'\n"
	"                type: string\n"
	"              errors:\n"
	"                description: 'What is wrong, each with the path of the field.'\n"
	"                type: array\n"
	"                items:\n"
	"                  type: string\n"
	"              observedGeneration:\n"
	"                description: 'Generation of the resource that the rest is about.'\n"
	"                type: integer\n"
	"                format: int64\n"
	"              conditions:\n"
	"                type: array\n"
	"                items:\n"
	"                  type: object\n"
	"                  properties:\n"
	"                    type:\n"
	"                      type: string\n"
	"                    status:\n"
	"                      type: string\n"
	"                      enum:\n"
	"                      - 'True'\n"
	"                      - 'False'\n"
	"                      - Unknown\n"
	"                    observedGeneration:\n"
	"                      type: integer\n"
	"                      format: int64\n"
	"                    lastTransitionTime:\n"
	"                      type: string\n"
	"                      format: date-time\n"
	"                    reason:\n"
	"                      type: string\n"
	"                    message:\n"
	"                      type: string\n"
	"                  required:\n"
	"                  - type\n"
	"                  - status\n"
	"                x-kubernetes-list-type: map\n"
	"                x-kubernetes-list-map-keys:\n"
	"                - type\n"
	"            x-kubernetes-preserve-unknown-fields: true\n";

int coroot_crd_write(struct buf *out)
{
	struct writer w = {.out = out};

	w.error = buf_add(out, head, sizeof(head) - 1);
	write_any(&w, SPEC_INDENT);
	write_fields(&w, SPEC_INDENT, "spec");
	if (w.error < 0)
		return w.error;
	return buf_add(out, status, sizeof(status) - 1);
}
