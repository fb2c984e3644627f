/* Addresses that may be scraped. Pure; the input is untrusted. */
#ifndef CLUSTER_AGENT_DISCOVER_TARGET_ADDRESS_H
#define CLUSTER_AGENT_DISCOVER_TARGET_ADDRESS_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include "common/base.h"

/*
 * Reads a numeric address and writes it in its canonical form. Returns false if it is none, or one
 * that no program is reached at: link-local, multicast, or mapped to another.
 */
bool target_address_read(char ret[static INET6_ADDRSTRLEN], const char *text);

#endif /* CLUSTER_AGENT_DISCOVER_TARGET_ADDRESS_H */
