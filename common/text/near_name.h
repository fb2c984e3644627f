/*
 * Whether a name that nobody knows is a known one with a typing mistake, for "did you mean". Pure;
 * names may be anybody's. Letters count in either case, and '-', '_' and '.' are the same.
 */
#ifndef COMMON_TEXT_NEAR_NAME_H
#define COMMON_TEXT_NEAR_NAME_H

#include "common/base.h"

#define NEAR_NAME_BYTES 128u /* with the NUL; a longer name is near to none */

/*
 * How many characters must be added, removed, replaced or swapped with the next one to make one of
 * the other, UINT_MAX if those are more than max.
 */
unsigned near_name_edits(const char *a, const char *b, unsigned max);

/*
 * How far a name of several words, as the variable of an option, is from a known one that it was
 * probably meant for: the less, the nearer. UINT_MAX if it is a name of its own. Meant are names
 * with a few typing mistakes, and those that lack the first words of the known one, or have
 * "COROOT_" in front of it.
 */
unsigned near_name_distance(const char *name, const char *known);

#endif /* COMMON_TEXT_NEAR_NAME_H */
