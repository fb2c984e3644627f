/*
 * Names of JIT code as their compilers write them into perf maps → functions as a reader knows
 * them. Pure.
 *
 * | compiler | name | becomes |
 * |---|---|---|
 * | V8 | LazyCompile:*foo /app/a.js:3:8, JS:~ /app/a.js:1:1 | foo, (anonymous) in /app/a.js:3 |
 * | JVM | long app.Main$Job.run(int), Lapp/Main$Job;::run | app.Main$Job.run in app/Main |
 * | .NET | void [App] App.Main::Run(string)[Tier0] | App.Main.Run in [App] |
 * | Python | py::run:/app/a.py | run in /app/a.py |
 * | LuaJIT | TRACE_12::/app/a.lua:34 | TRACE_12 in /app/a.lua:34 |
 * | BEAM | $lists:map/2 | $lists:map/2 in [lists] |
 *
 * Any other name stays as it is, in [jit]. Java's are folded like those of Java profiles
 * (java_names.h), so that both look alike.
 */
#ifndef NODE_AGENT_SYMBOL_PERF_MAP_NAME_H
#define NODE_AGENT_SYMBOL_PERF_MAP_NAME_H

#include "common/base.h"
#include "common/limits.h"

#define PERF_MAP_FILE_BYTES 512u
#define PERF_MAP_NO_FILE "[jit]"

struct perf_map_name {
	char function[LIMIT_SYMBOL_NAME_BYTES + 1]; /* printable UTF-8, not empty */
	char file[PERF_MAP_FILE_BYTES + 1];         /* likewise, without blanks */
	uint32_t line;                              /* where the function begins; 0: unknown */
	uint32_t at_line; /* of an address in it, which no name says; 0: unknown */
};

/* A file as it is shown; NUL-terminated, "" is none. */
void perf_map_name_file(char to[PERF_MAP_FILE_BYTES + 1], const char *file);

void perf_map_name_parse(struct perf_map_name *ret, const char *text, size_t len);

#endif /* NODE_AGENT_SYMBOL_PERF_MAP_NAME_H */
