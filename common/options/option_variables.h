/* Variables of the environment that somebody may have meant for an option's. Pure. */
#ifndef COMMON_OPTIONS_OPTION_VARIABLES_H
#define COMMON_OPTIONS_OPTION_VARIABLES_H

#include "common/base.h"
#include "common/options/option_def.h"
#include "common/options/option_value.h"

/*
 * Whether the variable is not one of the options', but a misspelt one; *ret is then that which was
 * meant. Variables of other programs are many, so those alone count that can hardly be theirs.
 */
bool option_variable_misspelt(const struct option_def *defs, const char *variable,
			      char ret[static OPTION_ENV_NAME_BYTES]);

#endif /* COMMON_OPTIONS_OPTION_VARIABLES_H */
