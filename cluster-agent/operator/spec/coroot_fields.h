/*
 * Every field of a Coroot resource (coroot.com/v1): one table, from which the resource is parsed
 * and the CustomResourceDefinition and docs/custom-resource.md are made.
 *
 * The fields are those of Coroot's operator v1.9, whether we use them or not, so that an existing
 * resource is accepted as it is.
 */
#ifndef CLUSTER_AGENT_OPERATOR_SPEC_COROOT_FIELDS_H
#define CLUSTER_AGENT_OPERATOR_SPEC_COROOT_FIELDS_H

#include "cluster-agent/operator/spec/spec_values.h"
#include "common/base.h"

struct agent_variables;

enum coroot_field_type {
	/* each with what it is stored as in struct coroot_spec; presence and flags are bool */
	FIELD_OBJECT,       /* its fields are in the table; presence */
	FIELD_OBJECTS,      /* an array of those; nothing */
	FIELD_ANY,          /* an object that the API server checks later; const json_t * */
	FIELD_ANY_LIST,     /* an array of objects, likewise; const json_t * */
	FIELD_STRING,       /* const char *, or a flag */
	FIELD_STRINGS,      /* an array; const json_t * */
	FIELD_MAP,          /* of strings; const json_t * */
	FIELD_INTEGER,      /* int64_t */
	FIELD_BOOLEAN,      /* bool */
	FIELD_QUANTITY,     /* const char * */
	FIELD_SECRET_KEY,   /* Kubernetes' SecretKeySelector; struct coroot_secret_key */
	FIELD_ENV,          /* an array of Kubernetes' EnvVar; const json_t * */
	FIELD_RESOURCES,    /* Kubernetes' ResourceRequirements; const json_t * */
	FIELD_PULL_SECRETS, /* an array of {"name"}; const json_t * */
	FIELD_TYPE_MAX,
};

struct coroot_field {
	const char *path; /* "spec.clickhouse.shards" */
	enum coroot_field_type type;
	bool unused;   /* accepted, and of no effect */
	bool required; /* Coroot's CRD refuses its parent without it */
	bool strict;   /* Coroot's CRD refuses other values than choices */
	bool empty;    /* of a string: "" is a value, and not the same as none */
	size_t offset; /* in struct coroot_spec; 0: not stored */
	const struct text_rule *rule;
	const char *const *choices;              /* the only values of a string; NULL at the end */
	const struct agent_variables *variables; /* of an environment: what its agent knows */
	const char *flag; /* of a string: stored is whether it has this value; "": any value */
	int64_t min;      /* of an integer */
	int64_t max;
	const char *def;  /* default as text, for readers; NULL: none */
	const char *help; /* one sentence without a full stop; may have Markdown */
};

extern const struct coroot_field coroot_fields[];
extern const size_t n_coroot_fields;

/* What type is, for a sentence: "true or false". */
const char *coroot_field_type_text(enum coroot_field_type type);

/* The field of that name in a parent: "spec", "spec.projects[]". NULL if there is none. */
const struct coroot_field *coroot_field_find(const char *parent, const char *name);
/* The field's name without its parents. */
const char *coroot_field_name(const struct coroot_field *f);
/* Whether f is directly in parent. */
bool coroot_field_is_in(const struct coroot_field *f, const char *parent);
/* The field that was probably meant by a name that there is not, or NULL. */
const struct coroot_field *coroot_field_like(const char *parent, const char *name);

#endif /* CLUSTER_AGENT_OPERATOR_SPEC_COROOT_FIELDS_H */
