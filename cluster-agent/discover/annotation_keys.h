/*
 * The keys of annotations about scraping that we know, and what somebody may have meant by one
 * that we do not know. Pure; the input is untrusted.
 */
#ifndef CLUSTER_AGENT_DISCOVER_ANNOTATION_KEYS_H
#define CLUSTER_AGENT_DISCOVER_ANNOTATION_KEYS_H

#include "common/base.h"

#define ANNOTATION_COROOT "coroot.com/profile-"
#define ANNOTATION_GRAFANA "profiles.grafana.com/"
#define ANNOTATION_PYROSCOPE "pyroscope.io/"

/* Longest key that is made here. */
#define ANNOTATION_KEY_BYTES 128u

enum annotation_key {
	ANNOTATION_FOREIGN, /* is about something else */
	ANNOTATION_SCRAPE,  /* says whether to scrape */
	ANNOTATION_DETAIL,  /* says how, and has no effect without the one above */
	ANNOTATION_IDLE, /* known, but it changes nothing: not about scraping, or not supported */
	ANNOTATION_UNKNOWN, /* has a prefix of ours, or is misspelt */
};

/* Whether the key is of a domain that we know. All others are ANNOTATION_FOREIGN. */
bool annotation_key_has_domain(const char *key);

/*
 * Classifies key. *ret becomes, for ANNOTATION_DETAIL, the key that switches it on; for
 * ANNOTATION_UNKNOWN, the known key that is most like it, "" if none is; otherwise "".
 */
enum annotation_key annotation_key_classify(const char *key, char ret[static ANNOTATION_KEY_BYTES]);

#endif /* CLUSTER_AGENT_DISCOVER_ANNOTATION_KEYS_H */
