/*
 * Source code of files that profiles name: its text, from folders of this machine, and its address
 * at a forge. Neither is there unless the operator says where (--source-path,
 * --source-url-template).
 *
 * Whoever may read profiles may read each text file below these folders, as names of files come
 * from profiles. Nothing else is read: components are opened one by one, so that neither ".." nor a
 * symbolic link leads out of a folder. Only the folder itself may be a link, and is opened anew
 * each time, as tools that fetch repositories replace it.
 */
#ifndef CLUSTER_AGENT_SOURCE_SOURCE_CODE_H
#define CLUSTER_AGENT_SOURCE_SOURCE_CODE_H

#include "cluster-agent/source/source_links.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/* Of a file. The largest that people write by hand have a tenth. */
#define SOURCE_CODE_MAX_BYTES ((size_t)2 << 20)
#define SOURCE_CODE_TIMEOUT_NS (UINT64_C(2) * 1000000000)

struct source_code;

/*
 * Texts are those of the options, NULL if unset. Returns 0, -EINVAL with a sentence in err, or
 * -ENOMEM.
 */
int source_code_new(struct source_code **ret, const char *paths, const char *templates,
		    struct err *err) MUST_CHECK;
void source_code_free(struct source_code *s);
DEFINE_CLEANUP(struct source_code *, source_code_free);

bool source_code_has_folders(const struct source_code *s);

/*
 * Appends the text of a file to out, which is valid UTF-8. Returns 0, -ENOENT with a sentence for
 * the reader in why if it cannot be had, -EFBIG for the limit of out, or -ENOMEM. Any thread that
 * may wait for SOURCE_CODE_TIMEOUT_NS.
 */
int source_code_read(struct source_code *s, const char *file, struct buf *out,
		     struct err *why) MUST_CHECK;

/* source_links_make() with the templates of the option. */
int source_code_link(const struct source_code *s, const char *application, const char *file,
		     const struct source_labels *labels, struct buf *out,
		     struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SOURCE_SOURCE_CODE_H */
