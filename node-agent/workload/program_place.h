/*
 * Where a program is, for people: many are called server.js, main.py or app, and the folder says
 * whose it is. Pure.
 *
 * A program has a folder if it is a script, or its name is a common one, one of a framework
 * ("gunicorn", "rails"), or that of a module. That of a framework or module is the working
 * directory. The folder is the last two elements of the path that say something: "src", "bin",
 * "current", "/home", "1.2.0" and the like are left out.
 */
#ifndef NODE_AGENT_WORKLOAD_PROGRAM_PLACE_H
#define NODE_AGENT_WORKLOAD_PROGRAM_PLACE_H

#include "node-agent/workload/program_name.h"

/* Whether the name is not enough, and the working directory may matter. */
bool program_needs_place(const struct program *p);

/* Sets p->folder if it needs one. cwd is the working directory, "" if unknown. */
void program_place(struct program *p, const char *cwd);

/* "shop/server.js", or the name alone; cut to size, PROGRAM_LABEL_BYTES are enough. */
void program_label(const struct program *p, char *ret, size_t size);

#endif /* NODE_AGENT_WORKLOAD_PROGRAM_PLACE_H */
