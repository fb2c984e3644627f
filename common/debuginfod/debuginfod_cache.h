/* The cache of debuginfod's client, which elfutils, gdb and others share. */
#ifndef COMMON_DEBUGINFOD_DEBUGINFOD_CACHE_H
#define COMMON_DEBUGINFOD_DEBUGINFOD_CACHE_H

#include "common/base.h"

#define DEBUGINFOD_CACHE_PATH_BYTES 4096u

/*
 * Where it is by the environment: $DEBUGINFOD_CACHE_PATH, $XDG_CACHE_HOME/debuginfod_client, or
 * ~/.cache/debuginfod_client; "" if that is no absolute path. It need not exist. It has files
 * "<build id>/debuginfo"; an empty one says that no server has it.
 * Source: debuginfod_find_debuginfo(3), "ENVIRONMENT VARIABLES".
 */
void debuginfod_cache_path(char ret[static DEBUGINFOD_CACHE_PATH_BYTES]);

#endif /* COMMON_DEBUGINFOD_DEBUGINFOD_CACHE_H */
