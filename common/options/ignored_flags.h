/*
 * Flags of the programs that ours replace, which mean nothing to ours: what starts those programs
 * passes them on. Pure.
 */
#ifndef COMMON_OPTIONS_IGNORED_FLAGS_H
#define COMMON_OPTIONS_IGNORED_FLAGS_H

#include "common/base.h"

struct ignored_flag {
	const char *name; /* without "--"; NULL ends the table */
	bool is_switch;   /* has no value unless after '=', and a form with "no-" in front */
};

/*
 * Copies argv, which ends with NULL, without these flags and their values. *ret, whose strings are
 * argv's, is released with free(3); *ret_names, too, has the flags as given, "--a --b", or is NULL
 * if there were none. A table of NULL has no flags. Returns 0 or -ENOMEM.
 */
int ignored_flags_remove(const struct ignored_flag *flags, char **argv, char ***ret,
			 char **ret_names) MUST_CHECK;

#endif /* COMMON_OPTIONS_IGNORED_FLAGS_H */
