/*
 * How a C library keeps values of threads: what pthread_getspecific(3) and __tls_get_addr() read.
 * Found in the file of the library, without a table of releases. Pure.
 *
 * glibc describes itself to libthread_db (nptl_db/structs.def) by exported variables. musl's
 * pthread_getspecific() is two loads, which are decoded; its DTV has had one place since 1.1.
 */
#ifndef NODE_AGENT_INTERPRETER_LIBC_THREADS_H
#define NODE_AGENT_INTERPRETER_LIBC_THREADS_H

#include <linux/types.h>

#include "common/base.h"
#include "common/elf/elf_layout.h"

#include "bpf/frame_chain.h"

struct libc_threads {
	struct chain_table keys;    /* of pthread_getspecific(3); stride 0: not known */
	struct chain_table modules; /* the DTV: where the variables of a module are; likewise */
};

/*
 * Returns 0; -ENOENT if the file is no C library with threads, or one that is not known; or an
 * error of byte_source_read().
 */
int libc_threads_find(const struct elf_layout *layout, const struct byte_source *src,
		      struct libc_threads *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_LIBC_THREADS_H */
