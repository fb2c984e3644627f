/* Reading of what HTTP puts into text. Pure; the input is untrusted. */
#ifndef COMMON_HTTP_HTTP_TEXT_H
#define COMMON_HTTP_HTTP_TEXT_H

#include "common/base.h"

/*
 * Decode %XX in place and return the new length. %00 and whatever is not two
 * hex digits stay as they are, so the result never ends early.
 */
size_t http_percent_decode(char *s);

/* Does this value of Accept-Encoding (NULL: no such header) allow gzip? RFC 9110, 12.5.3. */
bool http_accepts_gzip(const char *value);

#endif /* COMMON_HTTP_HTTP_TEXT_H */
