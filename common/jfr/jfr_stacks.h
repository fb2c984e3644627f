/*
 * Stacks with values from a recording of JDK Flight Recorder, as async-profiler and the JDK write
 * them. Pure: reads the recording through a function, does no other I/O, keeps no global state.
 *
 * A recording is a sequence of chunks that do not depend on each other. Each is read twice: first
 * its events are added up per kind, stack and class, then the constant pools are read and the names
 * that these stacks need are looked up. So memory is at most JFR_STACKS_MAX_BYTES for a recording
 * of any size and content, and time is proportional to its size. What exceeds the memory is
 * reported under the frame "[other]", and counted.
 *
 * The recording is not trusted. A chunk that is broken, truncated or not finished ends the reading
 * with an error; the stacks of the chunks before it, and what can be resolved of the broken one,
 * are reported nevertheless.
 *
 * Format: OpenJDK, src/jdk.jfr/share/classes/jdk/jfr/internal/consumer; async-profiler,
 * src/flightRecorder.cpp and src/jfrMetadata.cpp.
 */
#ifndef COMMON_JFR_JFR_STACKS_H
#define COMMON_JFR_JFR_STACKS_H

#include "common/base.h"

struct err;

#define JFR_STACKS_MAX_BYTES ((size_t)16 << 20)
#define JFR_STACK_DEPTH_MAX 4096u /* frames; those further away from the leaf are left out */

/* The recording. Reads are mostly sequential and of some 64 KiB. */
struct jfr_source {
	/* As pread(2): returns the number of bytes, fewer than len at the end, or -errno. */
	ssize_t (*read)(void *ctx, void *to, size_t len, uint64_t offset);
	void *ctx;
	uint64_t size_bytes; /* nothing is read beyond it */
};

/* What a stack's values are. */
enum jfr_kind {
	JFR_CPU,    /* jdk.ExecutionSample, jdk.CPUTimeSample: samples and nanoseconds of CPU */
	JFR_WALL,   /* profiler.WallClockSample: samples and nanoseconds */
	JFR_NATIVE, /* jdk.NativeMethodSample: in native code, which may wait: the same */
	JFR_ALLOC,  /* allocations: objects and bytes, both estimated from the samples */
	JFR_LIVE,   /* profiler.LiveObject, jdk.OldObjectSample: objects and bytes, too few */
	JFR_LOCK,   /* waits for monitors and java.util.concurrent locks: waits and nanoseconds */
	JFR_PARK,   /* jdk.ThreadPark on anything else, such as an idle pool's queue: the same */
	JFR_WAIT,   /* jdk.JavaMonitorWait, Object.wait(): the same */
	JFR_MALLOC, /* profiler.Malloc: calls and bytes */
	JFR_KIND_MAX,
};

enum jfr_frame_type {
	JFR_FRAME_JAVA,   /* interpreted or compiled */
	JFR_FRAME_NATIVE, /* file is the library in brackets, "[libjvm.so]", or "" */
	JFR_FRAME_KERNEL, /* file is "[kernel]", as in CPU profiles */
	JFR_FRAME_NOTE,   /* no code: "[unknown]", "[other]", a class, an error of the profiler */
};

struct jfr_frame {
	/* UTF-8 without control characters: "java.util.HashMap.put", folded by java_names.h */
	const char *function;
	const char *file; /* "java/util/HashMap": the top-level class without an extension; or "" */
	uint32_t line;    /* 0: unknown */
	/* Equal within one batch only if function and file are: a number below 2^20. */
	uint32_t function_id;
	enum jfr_frame_type type;
	/*
	 * The compiler inlined the call into the next frame. The same call may be inlined in one
	 * sample and not in another, so this must not make two stacks different.
	 */
	bool inlined;
};

struct jfr_stack {
	enum jfr_kind kind;
	int64_t count;                  /* samples, objects, waits or calls */
	int64_t amount;                 /* nanoseconds or bytes */
	const struct jfr_frame *frames; /* leaf first; at least one */
	size_t n_frames;
	bool truncated; /* frames at the root are missing */
	/* Of the object allocated, or of the lock: "java.lang.String", "byte[]"; NULL: unknown. */
	const char *class_name;
	uint32_t batch; /* function_id is valid among stacks of the same number */
};

/*
 * How much a sample stands for. async-profiler writes it at the start of a recording only, not in
 * the chunks that follow, so it has to be kept between the recordings of one session. Initially all
 * zero, or what is known of the session; 0 is unknown. Settings in a recording replace it.
 */
struct jfr_settings {
	uint64_t cpu_interval_ns;
	uint64_t wall_interval_ns;
	uint64_t alloc_interval_bytes;
	uint64_t lock_interval_ns;
};

/* Why a value is not under its own stack, or not reported at all. */
enum jfr_loss {
	JFR_LOSS_NO_STACK,      /* events without a stack, reported as "[unknown]" */
	JFR_LOSS_UNKNOWN_STACK, /* events whose stack is not in the recording: "[unknown]" */
	JFR_LOSS_STACKS_FULL,   /* events beyond the memory for stacks: "[other]" */
	JFR_LOSS_NAMES_FULL,    /* frames beyond the memory for names: "[other]" */
	JFR_LOSS_NO_INTERVAL,   /* samples whose interval is not known: their nanoseconds are 0 */
	JFR_LOSS_BAD_EVENT,     /* events that do not have the fields that their type declares */
	JFR_LOSS_MAX,
};

/* Types of events that have a stack and are none of jfr_kind. */
#define JFR_OTHER_TYPES_MAX 8u
#define JFR_TYPE_NAME_BYTES 64u

struct jfr_other_type {
	char name[JFR_TYPE_NAME_BYTES]; /* any bytes; cut */
	uint64_t n_events;
};

struct jfr_result {
	uint64_t n_chunks;             /* read to their end */
	uint64_t n_events;             /* of any type */
	uint64_t n_used[JFR_KIND_MAX]; /* events */
	uint64_t lost[JFR_LOSS_MAX];
	uint64_t n_other_events; /* that have a stack, of types that are not used */
	struct jfr_other_type other_types[JFR_OTHER_TYPES_MAX]; /* the first ones */
	uint32_t n_other_types;
	uint64_t unread_bytes; /* from the first chunk that is broken or not finished */
	uint64_t start_ns;     /* of the first chunk, since the Unix epoch */
	uint64_t end_ns;       /* of the last chunk */
	size_t peak_bytes;     /* of memory */
};

struct jfr_stacks_config {
	/*
	 * Called for each kind, stack and class of each chunk. The stack is valid during the call;
	 * the texts of its frames, during calls with the same batch. A negative result ends the
	 * reading and is returned.
	 */
	int (*stack)(void *ctx, const struct jfr_stack *stack);
	void *ctx;
	struct jfr_settings *settings; /* borrowed; NULL: those in the recording only */
};

/* "lost" reasons as metric labels: "no_stack", … */
const char *jfr_loss_name(enum jfr_loss loss);

/*
 * Returns 0 if the recording was read to its end, -EBADMSG if it is broken, -ENODATA if it ends in
 * the middle of a chunk or in one that is not finished, -ENOMEM, or an error of source or stack().
 * *ret is filled in and stacks may have been reported in all cases.
 */
int jfr_stacks_read(const struct jfr_source *source, const struct jfr_stacks_config *cfg,
		    struct jfr_result *ret, struct err *err) MUST_CHECK;

#endif /* COMMON_JFR_JFR_STACKS_H */
