/*
 * One recording of CPU samples: the stages of the node agent (sampler, processes, unwinding tables,
 * names) wired together for a single interval, without uploads.
 *
 * It goes through three phases. While it prepares, samples only tell which processes run: their
 * mappings are read and the unwinding tables of their files are built, so that the stacks of the
 * recording are whole from the first one on. Then it records, and in the end it names.
 *
 * It shares nothing with an agent that runs on the same node: perf events, maps and tables are its
 * own.
 */
#ifndef NODE_AGENT_RECORD_RECORD_SESSION_H
#define NODE_AGENT_RECORD_RECORD_SESSION_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/debuginfod/debuginfod_client.h"
#include "common/err.h"
#include "node-agent/record/record_child.h"
#include "node-agent/record/record_options.h"

struct record_session;

enum record_phase {
	RECORD_PREPARING,
	RECORD_RECORDING,
	RECORD_NAMING,
	RECORD_DONE,
};

/* For the line that shows progress. */
struct record_progress {
	enum record_phase phase;
	uint64_t elapsed_ns; /* of the recording */
	uint64_t n_samples;  /* wanted ones */
	uint64_t n_received; /* bytes from debuginfod servers */
};

struct record_session_config {
	const struct record_options *options; /* borrowed, as the next one */
	struct record_child *child;           /* zeroed; used if options have a command */
	void (*on_progress)(void *ctx, const struct record_progress *p); /* now and then */
	void *ctx;
};

#define RECORD_FILE_BYTES 256u

struct record_result {
	struct buf pprof; /* gzipped; empty if there is no sample */
	uint64_t n_samples;
	uint64_t n_lost;     /* in the kernel or for lack of memory */
	uint64_t n_prepared; /* samples taken, and left out, while it prepared */
	uint64_t n_early;    /* in the profile; walked before the unwinding tables were there */
	uint64_t duration_ns;
	uint64_t end_ns; /* since the Unix epoch */
	bool interrupted;
	bool tables_late; /* tables were still being built when the recording began */
	bool target_seen; /* a process that matches was running, at some time */
	/* "erlang", and its file, of a recorded process; NULL: interpreters were known */
	const char *unknown_language;
	char unknown_file[RECORD_FILE_BYTES]; /* cut if longer */
	struct debuginfod_client_counts debuginfod;
	char debuginfod_problem[512]; /* the first, in words; "": none */
};

/*
 * Blocks SIGINT, SIGTERM and SIGCHLD. Returns 0, or -errno with a sentence in err: -ESRCH if one of
 * the processes does not exist, errors of sampler_new(), …
 */
int record_session_new(struct record_session **ret, const struct record_session_config *cfg,
		       struct err *err) MUST_CHECK;
void record_session_free(struct record_session *s);
DEFINE_CLEANUP(struct record_session *, record_session_free);

/*
 * Records. ret->pprof is initialized by the caller. Returns 0, or -errno with a sentence in err: of
 * a command that cannot be executed, with child->status, or of the loop.
 */
int record_session_run(struct record_session *s, struct record_result *ret,
		       struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_RECORD_RECORD_SESSION_H */
