/*
 * Where CPython keeps the key under which a thread finds its state (pthread_getspecific(3)), from
 * the instructions of PyGILState_GetThisThreadState(). Pure.
 *
 * The distance of the key from the start of _PyRuntime differs between releases and C libraries.
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_THREAD_KEY_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_THREAD_KEY_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

/* Addresses in the file. */
struct python_key_search {
	uint64_t function; /* PyGILState_GetThisThreadState */
	/* _PyRuntime, in which the key is a Py_tss_t; 0: the key is an int of its own (3.6). */
	uint64_t runtime;
};

/*
 * Returns 0; -ENOENT if the instructions are none that are known; or an error of
 * byte_source_read().
 */
int python_thread_key_find(const struct elf_layout *layout, const struct byte_source *src,
			   const struct python_key_search *search, uint64_t *ret_vaddr) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_THREAD_KEY_H */
