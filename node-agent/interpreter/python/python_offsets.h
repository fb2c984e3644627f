/*
 * Where a release of CPython keeps what the walk and names need: since 3.13 as the interpreter
 * describes itself, before that a table. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_OFFSETS_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_OFFSETS_H

#include <linux/types.h>

#include "common/base.h"
#include "node-agent/interpreter/python_layout.h"

#include "bpf/frame_chain.h"

#define PYTHON_MINOR_FIRST 6u
#define PYTHON_MINOR_DESCRIBED 13u /* and later ones describe themselves */
#define PYTHON_MINOR_LAST 15u

#define PYTHON_STEPS_MAX 2u

/* Offsets in the state of a thread. */
struct python_thread_offsets {
	uint8_t n_steps; /* to the frame that runs */
	uint16_t steps[PYTHON_STEPS_MAX];
	bool has_anchor;      /* the first step finds it */
	uint16_t interpreter; /* PyThreadState.interp */
	/*
	 * Whether it collects garbage, an int: in the state of the interpreter, or before 3.9 in
	 * _PyRuntime. 0: not known.
	 */
	uint32_t collecting;
	/*
	 * So many bytes in front of the key of a thread's state is which state has the GIL. 0: not
	 * known, or since 3.12 the current state of a thread says so itself.
	 */
	uint16_t key_to_current;
	bool has_gil; /* one thread of an interpreter runs at a time */
};

struct python_offsets {
	struct python_thread_offsets thread;
	struct chain_frames frames;
	/* What is not in the module asyncio, nor an address; frame is 0 if it is not known. */
	struct chain_tasks tasks;
	struct python_layout objects; /* but for addresses of types */
};

/* minor is below PYTHON_MINOR_DESCRIBED. Returns 0, or -ENOTSUP. */
int python_offsets_of_release(unsigned minor, struct python_offsets *ret) MUST_CHECK;

#define PYTHON_DESCRIPTION_BYTES 824u

/*
 * description is the first PYTHON_DESCRIPTION_BYTES of _PyRuntime (_Py_DebugOffsets), and
 * version is Py_Version. Returns 0; or -ENOTSUP if the block is another version's, or one whose
 * order is not known, or has offsets that cannot be.
 */
int python_offsets_described(const uint8_t *description, uint32_t version,
			     struct python_offsets *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_OFFSETS_H */
