/*
 * Tasks of asyncio: where its module keeps which one runs and what awaits it, since 3.14, as the
 * module describes itself; and names of tasks. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_TASKS_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_TASKS_H

#include <linux/types.h>

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"
#include "node-agent/interpreter/python/python_text.h"

#include "bpf/frame_chain.h"

#define PYTHON_MINOR_TASKS 14u

/* Offsets in bytes: in a task, but for the last one. */
struct python_tasks {
	uint16_t awaited_by;
	uint16_t is_task;
	uint16_t is_set;
	uint16_t coroutine;
	uint16_t name;
	uint16_t running; /* in the state of a thread: the task that runs */
};

/*
 * Reads them in a file that has the module, which may be the interpreter's. Returns 0; -ENOENT if
 * it has not; -ENOTSUP if that has another form; or an error of byte_source_read(). On failure all
 * of *ret is 0.
 */
int python_tasks_read(const struct elf_layout *layout, const struct byte_source *src,
		      struct python_tasks *ret) MUST_CHECK;

/*
 * Adds tasks to the layout of a process, and stores what leads to the one that runs. Returns false,
 * and changes nothing, if the interpreter does not say where coroutines have what is needed.
 */
bool python_tasks_add(const struct interpreter_image *image, uint64_t bias,
		      const struct python_tasks *t, struct chain_layout *layout,
		      struct interpreter_root *ret_running) MUST_CHECK;

/*
 * As python_name_read(), of what is no frame (enum chain_at_task). Numbers in names of tasks become
 * "#": programs count their tasks, or name them by what they work on.
 */
int python_task_name_read(const struct python_memory *m, const struct interpreter_frame *f,
			  struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_TASKS_H */
