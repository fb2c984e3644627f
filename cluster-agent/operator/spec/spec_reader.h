/*
 * Reads the fields of a Coroot resource into a struct coroot_spec, by the table of
 * coroot_fields.h: each alone; what must agree among several is up to coroot_spec.c. Pure.
 */
#ifndef CLUSTER_AGENT_OPERATOR_SPEC_SPEC_READER_H
#define CLUSTER_AGENT_OPERATOR_SPEC_SPEC_READER_H

#include <jansson.h>

#include "cluster-agent/operator/spec/coroot_fields.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "cluster-agent/operator/spec/spec_problems.h"

#define SPEC_PATH_BYTES 320 /* longer paths are cut; problems show less than that */

struct spec_reader {
	struct coroot_spec *spec;
	struct spec_problems *problems;
	char path[SPEC_PATH_BYTES]; /* of what is being read */
};

/* Sets the defaults of the table. */
void spec_reader_defaults(struct coroot_spec *s);
/* value is the resource's "spec"; NULL reads nothing. Returns 0 or -ENOMEM. */
int spec_reader_read(struct spec_reader *r, json_t *value) MUST_CHECK;

/* ---- single values, for coroot_spec.c ---- */

/* The text of a string, or NULL if it is none, is empty, or has a NUL. */
const char *spec_text(const json_t *value);
/* Whether a field has a value: anything but null, "", [] and {}. */
bool spec_given(const json_t *value);
/* Fills *ret and returns NULL, or returns what the value must be; *ret is then unchanged. */
const char *spec_secret_key(const json_t *value, struct coroot_secret_key *ret);
/* Makes s->made own value, which is taken over also on failure. Returns it, or NULL. */
const json_t *spec_keep(struct coroot_spec *s, json_t *value);

#endif /* CLUSTER_AGENT_OPERATOR_SPEC_SPEC_READER_H */
