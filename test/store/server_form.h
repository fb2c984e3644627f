/*
 * Fields of a request in multipart/form-data (RFC 7578), in which clients send parameters that are
 * too long for a URL. Pure.
 */
#ifndef TEST_STORE_SERVER_FORM_H
#define TEST_STORE_SERVER_FORM_H

#include "common/base.h"

/*
 * Calls field for each of them with texts that lie in body, which is changed for that: it must have
 * a byte more than len. Returns 0, -ENOENT if content_type is another one, or -EBADMSG.
 */
int server_form_parse(const char *content_type, char *body, size_t len,
		      void (*field)(void *ctx, const char *name, const char *value),
		      void *ctx) MUST_CHECK;

#endif /* TEST_STORE_SERVER_FORM_H */
