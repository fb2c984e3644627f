/*
 * CityHash128 of release 1.0.2, the checksum of ClickHouse's compressed frames. Later releases of
 * CityHash give other values, so its packages in distributions cannot be used. Not for anything
 * that an attacker must not be able to forge.
 */
#ifndef CLUSTER_AGENT_SQL_CITY_HASH_H
#define CLUSTER_AGENT_SQL_CITY_HASH_H

#include "common/base.h"

struct city_hash {
	uint64_t low;
	uint64_t high;
};

struct city_hash city_hash128(const void *data, size_t len);

#endif /* CLUSTER_AGENT_SQL_CITY_HASH_H */
