/*
 * Addresses of nodes that survive a new answer: a hash of the functions from the root down, each by
 * its name and what frame_file_key() leaves of its file, so that another release has the same ones.
 * The page computes the same (pathKey in web/src/model/tree.ts), so both tests have the same
 * vectors. Not for anything that an attacker gains from. Pure.
 */
#ifndef COMMON_FLAME_PATH_KEY_H
#define COMMON_FLAME_PATH_KEY_H

#include "common/base.h"

/* Written as 16 hexadecimal digits, high first. */
struct path_key {
	uint32_t high;
	uint32_t low;
};

/* Bytes that are not UTF-8 count as U+FFFD, as which JSON has them. */
struct path_key path_key_of_name(const char *name, size_t len);
/* Any file of a function has the same. */
uint32_t path_key_of_file(const char *file, size_t len);

/* The root's name is "total", its file is "". */
struct path_key path_key_root(void);
struct path_key path_key_child(struct path_key parent, struct path_key name, uint32_t file);

static inline uint64_t path_key_number(struct path_key k)
{
	return (uint64_t)k.high << 32 | k.low;
}

#endif /* COMMON_FLAME_PATH_KEY_H */
