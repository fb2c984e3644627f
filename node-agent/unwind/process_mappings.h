/*
 * For each process, the unwind table of each mapping, in memory that the BPF stack walk reads.
 *
 * Each change of a process's mappings makes a new record, which replaces the old one in the hash
 * map of processes. The BPF programs remove a process from it that executes another program or
 * exits.
 *
 * One thread uses it.
 */
#ifndef NODE_AGENT_UNWIND_PROCESS_MAPPINGS_H
#define NODE_AGENT_UNWIND_PROCESS_MAPPINGS_H

#include "common/base.h"
#include "node-agent/process/process_snapshot.h"
#include "node-agent/unwind/file_tables.h"

struct process_mappings;

struct process_mappings_config {
	const struct unwind_memory *memory; /* borrowed, as the next two */
	struct unwind_slabs *slabs;
	struct file_tables *tables;
	int proc_fd;   /* of /proc; borrowed */
	bool want_all; /* tables of all mappings, not only of the executable, before a walk asks */
	/*
	 * How frames of its interpreter are found. Returns 0; -ENOTSUP with the language only if
	 * they are not known; or another -errno if there is none. NULL: no.
	 */
	int (*find_chain)(void *ctx, const struct process_snapshot *s, struct chain_layout *ret);
	void *ctx;
};

#define PROCESS_MAPPINGS_LANGUAGES 16u

struct process_mappings_stats {
	uint64_t n_processes;
	uint64_t bytes;    /* of their records */
	uint64_t n_chains; /* processes with an interpreter that is known */
	/* By language: processes with one that is not known. */
	uint64_t n_unknown[PROCESS_MAPPINGS_LANGUAGES];
	/* totals */
	uint64_t lost_processes; /* processes for which the hash map had no room */
	uint64_t lost_budget;    /* processes for which slabs had no room */
	uint64_t lost_mappings;  /* mappings of files beyond UNWIND_MAPPINGS of a process */
};

int process_mappings_new(struct process_mappings **ret,
			 const struct process_mappings_config *cfg) MUST_CHECK;
/* To be called before file_tables_free(). NULL is allowed. */
void process_mappings_free(struct process_mappings *p);
DEFINE_CLEANUP(struct process_mappings *, process_mappings_free);

/* Replaces the mappings of a process. Without memory or room, the process has no entry. */
void process_mappings_put(struct process_mappings *p, struct process_snapshot *s, uint64_t now_ns);

/* A sample has these addresses: reports those of files to file_tables_note_sample(). */
void process_mappings_note_sample(struct process_mappings *p, pid_t pid, uint64_t start_boottime_ns,
				  const uint64_t *addresses, size_t n);

/* The process has exited. */
void process_mappings_remove(struct process_mappings *p, pid_t pid, uint64_t start_time,
			     uint64_t now_ns);

/* Drops processes that the BPF programs have removed from the hash map. */
void process_mappings_sweep(struct process_mappings *p, uint64_t now_ns);

/*
 * An open file that a process has mapped with this table, borrowed until the next call, or NULL.
 * Scans all mappings.
 */
struct mapped_file *process_mappings_find_file(const struct process_mappings *p, uint32_t table);

/* A process that has the table mapped, borrowed likewise, or NULL. Scans all mappings. */
const struct process_snapshot *process_mappings_find_process(const struct process_mappings *p,
							     uint32_t table);

void process_mappings_read_stats(const struct process_mappings *p,
				 struct process_mappings_stats *ret);

#endif /* NODE_AGENT_UNWIND_PROCESS_MAPPINGS_H */
