/*
 * A JVM with async-profiler that the test plays, behind a port (java_port.h): its directory is a
 * real one, its recording consists of chunks of a real recording, and each fault can be had at
 * will.
 */
#ifndef TEST_LIB_PLAYED_JVM_H
#define TEST_LIB_PLAYED_JVM_H

#include "node-agent/java/profile/java_metrics.h"
#include "node-agent/java/profile/java_session.h"

#define PLAYED_JVM_CHUNKS 2u /* of the real recording */
#define PLAYED_JVM_HEADER_BYTES 68u
#define PLAYED_JVM_CHUNK_NS (10 * NS_PER_S)
#define PLAYED_JVM_INTERVAL_NS (60 * NS_PER_S)
#define PLAYED_JVM_AGENT_PID 100
#define PLAYED_JVM_OTHER_PID 200
#define PLAYED_JVM_MAX_EMITTED 32u

struct played_jvm_emitted {
	enum java_profile kind;
	int64_t start_ns, end_ns, period;
	int64_t sums[STACK_VALUES_MAX];
};

struct played_jvm {
	char dir[64];
	bool has_dir;
	struct buf recording; /* the real one */
	uint64_t chunk_at[PLAYED_JVM_CHUNKS], chunk_size[PLAYED_JVM_CHUNKS];

	/* the JVM */
	bool is_running;
	int fd; /* of its recording */
	off_t at;
	unsigned n_chunks;
	uint64_t clock_ns; /* end of the last chunk */
	unsigned n_commands, n_starts;
	bool has_allocs, has_timers; /* in the recording */
	char last[32];
	bool is_other_alive;
	bool has_other_profiler;

	/* faults */
	struct jvm_failure check_why;
	int check_error, prepare_error, command_error, start_code;
	enum jvm_place_kind not_loaded_from; /* JVM_PLACES: none */
	enum attach_outcome outcome;
	enum jvm_place_kind kind;
	bool is_lost; /* the command is not answered, but executed */
	bool is_garbage;
	bool is_endless;    /* chunks are never completed */
	bool has_no_timers; /* per thread */
	bool has_no_allocs; /* as a JDK 8 without symbols */
	unsigned n_refused; /* so many starts fail for a reason that passes */

	struct played_jvm_emitted emitted[PLAYED_JVM_MAX_EMITTED];
	unsigned n_emitted;
	int emit_error;

	struct metric metrics[JAVA_METRICS];
	struct java_plan_config plan;
	struct jfr_settings settings;
	struct java_port port;
	struct java_step step;
	struct java_session session;
};

void played_jvm_setup(struct played_jvm *f);
void played_jvm_teardown(struct played_jvm *f);

/* async-profiler has ended the recording after its time. */
void played_jvm_expire(struct played_jvm *f);

#endif /* TEST_LIB_PLAYED_JVM_H */
