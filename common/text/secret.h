/* Comparing what a stranger sent with a secret. Pure. */
#ifndef COMMON_TEXT_SECRET_H
#define COMMON_TEXT_SECRET_H

#include "common/base.h"

/*
 * Whether both texts are equal, in a time that depends on the length of given alone: it reveals
 * neither how much of a guess was right nor how long the secret is. A given of NULL equals nothing.
 */
bool secret_equal(const char *given, const char *secret);

#endif /* COMMON_TEXT_SECRET_H */
