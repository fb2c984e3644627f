/* Which texts the fields of a Coroot resource take. Pure; the texts are untrusted. */
#ifndef CLUSTER_AGENT_OPERATOR_SPEC_SPEC_VALUES_H
#define CLUSTER_AGENT_OPERATOR_SPEC_SPEC_VALUES_H

#include "common/base.h"

/* A form of text. */
struct text_rule {
	const char *what; /* completes "must be …" */
	const char
		*pattern; /* Coroot's own in its CRD, so that the API server checks it; or NULL */
	bool (*fits)(const char *s); /* may be stricter than the pattern */
};

extern const struct text_rule text_interval;   /* "15s" */
extern const struct text_rule text_ttl;        /* "2w" */
extern const struct text_rule text_http_url;   /* one of Coroot's CRD */
extern const struct text_rule text_s3_url;     /* any other */
extern const struct text_rule text_url_path;   /* "/profiles" or "profiles" */
extern const struct text_rule text_fraction;   /* 0 to 1 */
extern const struct text_rule text_key;        /* an API key or password of ours */
extern const struct text_rule text_printable;  /* of anything else: one line */
extern const struct text_rule text_image;      /* a reference */
extern const struct text_rule text_word;       /* a name without blanks: class, region, user */
extern const struct text_rule text_dns_name;   /* a name of an object, or of a host */
extern const struct text_rule text_secret_key; /* a key in a Secret's data */
extern const struct text_rule text_env_name;   /* a variable that every Kubernetes takes */
extern const struct text_rule text_addresses;  /* of ClickHouse servers */

/* Seconds of "7d" or "2w"; a year has 365 days. Returns 0, -EINVAL, or -ERANGE. */
int spec_ttl_seconds(const char *s, uint64_t *ret_s) MUST_CHECK;

/*
 * Parses a quantity of Kubernetes: "10Gi", "1.5", "500m", "1e3". Returns 0, or -EINVAL if it is
 * none, is negative, or does not fit into a double.
 */
int spec_quantity(const char *s, double *ret) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_SPEC_SPEC_VALUES_H */
