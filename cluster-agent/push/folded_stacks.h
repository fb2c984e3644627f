/*
 * Stacks as lines of text, "root;caller;leaf 42", as py-spy, rbspy, perf and flame graph tools
 * write them → struct profile. Pure; foreign data.
 *
 * Stacks are as in folded_frames.h. Empty lines and comments, which begin with "# ", are skipped,
 * and so is what py-spy says between stacks.
 *
 * A value is the last word of its line: a decimal number, which may have a fraction or an
 * exponent. Fractions are carried from line to line, so that the sum of all values is right. If
 * every line ends in two numbers, they are counts before and after (difffolded.pl), of which the
 * second is taken, as flamegraph.pl does; if only some do, the first is part of a name.
 *
 * Lines that cannot be read are left out and counted in the profile's losses.
 */
#ifndef CLUSTER_AGENT_PUSH_FOLDED_STACKS_H
#define CLUSTER_AGENT_PUSH_FOLDED_STACKS_H

#include "cluster-agent/push/folded_frames.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/pprof/profile.h"

enum folded_form {
	FOLDED_VALUES, /* the last word of a line is its value */
	FOLDED_LINES,  /* a line is one sample */
};

struct folded_config {
	enum folded_form form;
	struct folded_unit unit;
	/* The comments of Austin may say that values are something else: times, bytes. */
	bool unit_is_default;
};

/*
 * The result has one type, and a period if values count samples. Texts of the unit are
 * borrowed.
 *
 * Returns 0, -EBADMSG if there are lines and none of them can be read, -EFBIG if a limit is
 * exceeded (both with one line in err), or -ENOMEM.
 */
int folded_stacks_read(struct profile *ret, struct arena *arena, const char *text, size_t len,
		       const struct folded_config *cfg, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_FOLDED_STACKS_H */
