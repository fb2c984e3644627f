/*
 * Sample types of other profilers → our profile types, by one table (docs/push.md is made from
 * it). Pure.
 *
 * Other tools name a dimension "cpu" with unit "nanoseconds"; ours is
 * "go:profile_cpu:nanoseconds" and says which runtime it comes from. So two things decide: the
 * source, and the type's name. What the table does not have is kept under
 * "<source>:<name>:<unit>", so that nothing is lost.
 */
#ifndef CLUSTER_AGENT_PUSH_FOREIGN_TYPES_H
#define CLUSTER_AGENT_PUSH_FOREIGN_TYPES_H

#include "common/base.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/* The language or kind of profiler that a profile is from. */
enum foreign_source {
	FOREIGN_ANY, /* unknown, or of no language */
	FOREIGN_GO,
	FOREIGN_JAVA,
	FOREIGN_NODEJS,
	FOREIGN_PYTHON,
	FOREIGN_RUBY,
	FOREIGN_RUST,
	FOREIGN_DOTNET,
	FOREIGN_PHP,
	FOREIGN_EBPF, /* a profiler of whole machines */
	FOREIGN_SOURCE_MAX,
};

/* "go", "nodejs", …: the first part of a type; "pprof" for FOREIGN_ANY. */
const char *foreign_source_name(enum foreign_source s);

/*
 * The source by the name that a tool gives: Pyroscope's spy ("gospy", "pyspy"), OpenTelemetry's
 * telemetry.sdk.language or process.runtime.name ("nodejs", "python", "cpython"). Names that
 * contain "ebpf" are FOREIGN_EBPF. FOREIGN_ANY if it is not known. name need not be
 * NUL-terminated.
 */
enum foreign_source foreign_source_find(const char *name, size_t len);

/*
 * The source by the files of the profile's functions: what most of those with an extension are
 * written in. FOREIGN_ANY if that is no known language.
 */
enum foreign_source foreign_source_guess(const struct profile *p);

/* What is known about a profile besides its content; zeroed, nothing is. */
struct foreign_hints {
	enum foreign_source source; /* FOREIGN_ANY: guessed from the files */
	/*
	 * Pyroscope's __name__ ("process_cpu", "memory", "mutex", "block", …) or "". It separates
	 * types of the same name; without it, the stacks of Go's contentions do.
	 */
	const char *metric;
	/* of one sample, for types that count samples; 0: the profile's period, or 10 ms */
	int64_t period_ns;
};

/* Whether the profile has types of other tools: a name that has no colon. */
bool foreign_types_present(const struct profile *p);

/*
 * Replaces the types of p, which are other tools', by ours, in p->arena: units become
 * nanoseconds, bytes or count, and values are converted with them. Samples that are merely
 * counted become time, unless their period is in another unit, or are dropped if the profile has a
 * time as well. A value beyond 63 bits becomes the largest one, which p->losses counts. Types that
 * become the same are added. p->types has at most as many elements as before, and may have none if
 * they were all "". p->samples must be writable.
 *
 * Returns 0, -EFBIG with one line in err if the arena's limit is exceeded, or -ENOMEM; p is then
 * not to be used.
 */
int foreign_types_apply(struct profile *p, const struct foreign_hints *hints,
			struct err *err) MUST_CHECK;

/*
 * pprof has the start of the collection in time_nanos (some tools its end); our wire has the end.
 * Sets the end to time + duration, but not beyond now_ns unless the time itself is.
 */
void foreign_times_set(struct profile *p, int64_t now_ns);

/* ---- the table, for docs/push.md ---- */

struct foreign_type {
	enum foreign_source source; /* FOREIGN_ANY: every source without a row of its own */
	const char *metric;         /* required metric, or "": any */
	const char *name;           /* of the sample type */
	const char *type;           /* ours without the source: "profile_cpu:nanoseconds" */
};

/* Returns the table, *ret_n elements, which is static. */
const struct foreign_type *foreign_types(size_t *ret_n);

#endif /* CLUSTER_AGENT_PUSH_FOREIGN_TYPES_H */
