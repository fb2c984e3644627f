/*
 * Which parts of a file samples come to that its table does not have yet: those that most came to
 * are built first. They are of deferred code (struct cfi_deferred), which is analysed only where
 * samples come, or descriptions that are not read yet, which all are in the end. Pure.
 */
#ifndef NODE_AGENT_UNWIND_HOT_CODE_H
#define NODE_AGENT_UNWIND_HOT_CODE_H

#include "common/base.h"
#include "node-agent/unwind/cfi/cfi_table.h"

/* Samples of one part before it is analysed: of an address that comes once, little is gained. */
#define HOT_CODE_SAMPLES 2u
/* Parts of a file that are analysed: 64 MiB of code, in some fifteen seconds. */
#define HOT_CODE_PARTS_MAX 1024u

struct hot_code;

/* What of a table is built next. */
struct hot_part {
	struct cfi_extent extent;
	bool fills; /* its descriptions are read; else its code is analysed */
	bool again; /* they were read before, and given up */
};

/* Of so many periods of hot_code_cool(): the first one may be short. */
#define HOT_CODE_UNSAMPLED_PERIODS 2u /* that a part without samples stays */
#define HOT_CODE_SAMPLED_PERIODS 15u  /* that one stays after its last sample */

/* Of a table that is built but for what is deferred. Returns 0 or -ENOMEM. */
int hot_code_new(struct hot_code **ret, const struct cfi_extent *extent,
		 const struct cfi_deferred *deferred) MUST_CHECK;
/* Of a table without any part yet. */
int hot_code_new_empty(struct hot_code **ret, const struct cfi_extent *extent) MUST_CHECK;
void hot_code_free(struct hot_code *h);
DEFINE_CLEANUP(struct hot_code *, hot_code_free);

/* A sample came to this address of the file. */
void hot_code_note(struct hot_code *h, uint64_t vaddr);

/* How many samples came to the part that is to be analysed next; 0: there is none. */
unsigned hot_code_samples(const struct hot_code *h);

/*
 * Takes that part: it is not deferred any more. If its descriptions are not read yet, some after it
 * are taken too, or if the rest will not be read, CFI_FILL_PAGES around it. Returns -ENOENT if
 * there is none.
 */
int hot_code_take(struct hot_code *h, bool reads_rest, struct hot_part *ret) MUST_CHECK;

/*
 * Takes CFI_FILL_PAGES at most whose descriptions are not read yet, whether samples came to them or
 * not: those that follow what was taken last, but none that were dropped as cold. Returns -ENOENT
 * if there are none.
 */
int hot_code_take_rest(struct hot_code *h, struct hot_part *ret) MUST_CHECK;
/* A part that fills could not be built: it can be taken again. */
void hot_code_put_back(struct hot_code *h, const struct hot_part *part);
/* Whether there are parts that hot_code_take_rest() would take. */
bool hot_code_is_filling(const struct hot_code *h);

/* A part that was built has code that is to be analysed once samples come to it. */
void hot_code_defer(struct hot_code *h, const struct cfi_deferred *deferred);
/*
 * The table was given up, and is made again: parts that samples came to before, by what was known
 * then, need one sample less. The two are of the same file.
 */
void hot_code_remember(struct hot_code *h, const struct hot_code *before);
/* Whether any part could still be taken, now or after samples of it. */
bool hot_code_has_more(const struct hot_code *h);

/* Ends a period. Parts are cold to which no sample came for some periods. */
void hot_code_cool(struct hot_code *h);
/* What is given up. */
enum hot_code_drop {
	HOT_CODE_COLD,
	HOT_CODE_UNSAMPLED, /* and what no sample came to */
	HOT_CODE_ENDED,     /* likewise, of a program that does not run */
};
/*
 * Gives up parts that follow one another, CFI_FILL_PAGES at most. They will be read again where
 * samples come; those of a program that had ended, with the rest, once it runs again. Returns
 * -ENOENT if there are none.
 */
int hot_code_drop(struct hot_code *h, enum hot_code_drop what, struct hot_part *ret) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_HOT_CODE_H */
