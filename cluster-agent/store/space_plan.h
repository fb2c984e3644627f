/*
 * Which days of profiles must go, so that the disks have room for the next ones. Pure.
 *
 * A day is dropped from all tables and all servers: one that a shard has lost would look like
 * one with less load. The newest day and today are never dropped.
 */
#ifndef CLUSTER_AGENT_STORE_SPACE_PLAN_H
#define CLUSTER_AGENT_STORE_SPACE_PLAN_H

#include "common/base.h"

#define SPACE_NAME_BYTES 128

struct space_disk {
	char host[SPACE_NAME_BYTES]; /* "" on a single server */
	char name[SPACE_NAME_BYTES];
	uint64_t total_bytes;
	uint64_t free_bytes; /* including what will be free when dropped parts are deleted */
};

/* The bytes of one day on one disk, all tables together. */
struct space_day {
	size_t disk;  /* index */
	uint32_t day; /* 20260131 */
	uint64_t bytes;
};

struct space_state {
	struct space_disk *disks;
	size_t n_disks;
	struct space_day *days;
	size_t n_days;
	uint32_t today;
	unsigned max_usage_percent;
};

enum space_verdict {
	SPACE_ENOUGH,
	SPACE_DROP,   /* the day that was found */
	SPACE_OTHERS, /* too full, but of other data: to drop a day would not help for long */
	SPACE_NONE,   /* too full, and no day may be dropped */
};

struct space_choice {
	size_t disk;            /* index of the disk that is too full */
	unsigned usage_percent; /* of that disk */
	uint32_t day;           /* of SPACE_DROP */
	uint64_t bytes;         /* of that day, on all disks */
};

unsigned space_usage_percent(const struct space_disk *d);

/*
 * What to do next; ret is set unless there is space enough. On SPACE_DROP the bytes of the
 * day are added to what is free, so that the next call continues with the next day.
 *
 * A disk above the limit is only relieved if our droppable days are enough to bring it below:
 * a disk that is full of other things would cost all profiles and stay full. The exception is
 * a disk without room for one more day of the size of the largest one.
 */
enum space_verdict space_plan(struct space_state *s, struct space_choice *ret);

#endif /* CLUSTER_AGENT_STORE_SPACE_PLAN_H */
