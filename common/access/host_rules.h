/*
 * Names and origins: which values of "Host" are ours, and from which origins requests may write.
 * Pure; headers are untrusted.
 *
 * A page that rebinds its own name to our address sends that name. So a name is ours if nobody else
 * can make it resolve: an IP address, localhost, a name of one label (no public domain has one),
 * a service of Kubernetes, the host's name, and what the operator lists.
 */
#ifndef COMMON_ACCESS_HOST_RULES_H
#define COMMON_ACCESS_HOST_RULES_H

#include "common/base.h"
#include "common/err.h"

/* The longest name of DNS has 253 bytes. */
#define HOST_NAME_BYTES 256u

struct host_name {
	char text[HOST_NAME_BYTES]; /* lower case; without brackets, port or dot at the end */
	unsigned port;              /* 0: not given */
	bool is_ip;
};

/* "name", "name:80", "1.2.3.4:80", "[::1]:80". Returns 0, or -EINVAL. */
int host_name_parse(struct host_name *ret, const char *text) MUST_CHECK;
/*
 * "https://name:80". A missing port is the scheme's. Returns 0, or -EINVAL for "null" and for
 * schemes other than http and https.
 */
int host_name_parse_origin(struct host_name *ret, const char *text) MUST_CHECK;
/*
 * Whether a page of this origin is served by this host. The scheme is not compared: a proxy in
 * front of us may speak TLS. A host without a port has the origin's.
 */
bool host_name_is_origin(const struct host_name *host, const struct host_name *origin);

struct host_rules;

/*
 * list: names that are ours, separated by commas or white space; "*.example.com" is every name
 * below it, "*" is every name. NULL or "" is none. own is the host's name, or NULL. Returns 0,
 * -ENOMEM, or -EINVAL with a sentence.
 */
int host_rules_new(struct host_rules **ret, const char *list, const char *own,
		   struct err *err) MUST_CHECK;
void host_rules_free(struct host_rules *r);
DEFINE_CLEANUP(struct host_rules *, host_rules_free);

/* Whether the name is ours. */
bool host_rules_allow(const struct host_rules *r, const struct host_name *h);
/* Whether the list has the name, other than by "*": its pages may write. */
bool host_rules_list(const struct host_rules *r, const struct host_name *h);

#endif /* COMMON_ACCESS_HOST_RULES_H */
