/*
 * Sessions of people who have logged in: a cookie that says until when it is valid, and proves by
 * an HMAC that somebody who knew the key made it. Nothing is kept for it, so it survives restarts
 * and is valid at every replica; a changed key ends it. Pure; headers are untrusted.
 */
#ifndef COMMON_ACCESS_SESSION_H
#define COMMON_ACCESS_SESSION_H

#include "common/access/host_rules.h"
#include "common/base.h"

/* with the NUL: 20 digits, a dot, 64 hex digits */
#define SESSION_VALUE_BYTES 88u
#define SESSION_NAME_BYTES 32u
/* Cookies of one name that are tried: any page of this host name can set one, too. */
#define SESSION_COOKIES_MAX 8u

/*
 * Cookies do not know ports, so two agents on one host need names that differ: the port is the one
 * that the browser has in its address.
 */
void session_name(const struct host_name *host, char ret[static SESSION_NAME_BYTES]);

/* Returns 0, or -EIO if the library refuses. */
int session_make(const char *key, uint64_t expires_s,
		 char ret[static SESSION_VALUE_BYTES]) MUST_CHECK;
/* Whether value was made with this key and is valid at now_s, in seconds since the epoch. */
bool session_fits(const char *key, const char *value, uint64_t now_s);

/*
 * Copies the value of the cookie called name that comes as number i (from 0) into ret. False if
 * there is none; a value that is too long counts and is copied as "".
 */
bool session_find(const char *cookies, const char *name, unsigned i,
		  char ret[static SESSION_VALUE_BYTES]);

#endif /* COMMON_ACCESS_SESSION_H */
