#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LAYOUT_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LAYOUT_H
/* stub: pynames has the real one */
struct python_layout {
	int release;
};
#endif
