/*
 * Labels of a series in Pyroscope's requests → service, host and our labels. Pure; foreign data.
 *
 * "service_name" (or "service.name") names the service, "hostname" (or "host.name", "node") the
 * host. Names that begin with "__" are instructions to the receiver and no labels. Of a name that
 * is given twice the first value counts; empty values are no labels.
 */
#ifndef CLUSTER_AGENT_PUSH_SERIES_LABELS_H
#define CLUSTER_AGENT_PUSH_SERIES_LABELS_H

#include "cluster-agent/push/foreign_types.h"
#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"

#define SERIES_LABELS_MAX 64u
#define SERIES_TEXT_MAX_BYTES 4096u /* of a name or a value */

/* Zeroed, but for arena, it is empty. Texts are UTF-8, printable, and live in the arena. */
struct series_labels {
	struct arena *arena; /* borrowed */
	struct row_text service;
	struct row_text host;
	struct row_label items[SERIES_LABELS_MAX];
	size_t n;
	const char *metric;         /* "__name__", NUL-terminated; NULL without */
	enum foreign_source source; /* as far as the labels tell */
};

/*
 * Copies both texts. Returns 0, -EBADMSG if there are too many labels, a text is too long, or a
 * name is empty (with one line in err), -EFBIG if the arena's limit is exceeded, or -ENOMEM.
 */
int series_labels_add(struct series_labels *l, struct row_text name, struct row_text value,
		      struct err *err) MUST_CHECK;

/*
 * Adds what a name of the form "app{name=value,…}" holds. The app is the service unless a label
 * names it; values may be in double quotes. Returns as above, and -EBADMSG if the name does not
 * have that form.
 */
int series_labels_add_app(struct series_labels *l, const char *text, size_t len,
			  struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_SERIES_LABELS_H */
