#include "common/options/option_variables.h"

#include <limits.h>

#include "common/text/near_name.h"

struct search {
	const char *variable;
	char *nearest; /* OPTION_ENV_NAME_BYTES */
	unsigned distance;
};

/* Returns whether the variable is the known one. */
static bool compare(struct search *s, const char *known)
{
	unsigned d;

	if (strcmp(s->variable, known) == 0)
		return true;
	d = near_name_distance(s->variable, known);
	if (d < s->distance) {
		s->distance = d;
		snprintf(s->nearest, OPTION_ENV_NAME_BYTES, "%s", known);
	}
	return false;
}

bool option_variable_misspelt(const struct option_def *defs, const char *variable,
			      char ret[static OPTION_ENV_NAME_BYTES])
{
	struct search s = {variable, ret, UINT_MAX};

	if (compare(&s, "CONFIG"))
		return false;
	for (const struct option_def *d = defs; d->name; d++) {
		char known[OPTION_ENV_NAME_BYTES];

		option_env_name(d->name, known);
		if (compare(&s, known) || (d->variable && compare(&s, d->variable)))
			return false;
	}
	return s.distance < UINT_MAX;
}
