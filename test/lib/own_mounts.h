/* Mounts that only the calling process and its children see, and that end with them. */
#ifndef TEST_LIB_OWN_MOUNTS_H
#define TEST_LIB_OWN_MOUNTS_H

#include "common/base.h"

/*
 * For a process with one thread. Without the rights of root it gets those of a namespace of its
 * own. Returns false with errno set if that is not permitted.
 */
bool own_mounts_enter(void);

#endif /* TEST_LIB_OWN_MOUNTS_H */
