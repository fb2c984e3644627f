/*
 * Which program a process runs, for people: an interpreter runs a script, and that is what its
 * users know. From the executable and the command line, which are the process's own and
 * untrusted. Pure.
 *
 * Command lines have passwords. Only the path of the script or program, the name of a module or
 * class, or the first word of a title that the process has given itself, is ever taken from one;
 * of the path, the last part and folders that have no character that URLs have.
 */
#ifndef NODE_AGENT_WORKLOAD_PROGRAM_NAME_H
#define NODE_AGENT_WORKLOAD_PROGRAM_NAME_H

#include "common/base.h"

#define PROGRAM_NAME_BYTES 128
#define PROGRAM_DIR_BYTES 256
#define PROGRAM_FOLDER_BYTES 96
#define PROGRAM_LABEL_BYTES (PROGRAM_FOLDER_BYTES + PROGRAM_NAME_BYTES)
#define PROGRAM_GO_RUN "/go-build"       /* where "go run" builds, below a temporary folder */
#define PROGRAM_COMMAND_LINE_BYTES 16384 /* beginnings are enough; Java has long ones */

/* What tells apart programs of this name, beside what the name says (program_place.h). */
enum program_place {
	PROGRAM_PLACE_NAME, /* nothing, or the folder if the name is a common one */
	PROGRAM_PLACE_DIR,  /* "node .": its folder */
	PROGRAM_PLACE_CWD,  /* "python3 -m app": the working directory */
};

struct program {
	char name[PROGRAM_NAME_BYTES]; /* never empty */
	bool script; /* name is that of a script, module, class or title, else of the executable */
	char dir[PROGRAM_DIR_BYTES];       /* of name's path, as it was written; may be "" */
	char folder[PROGRAM_FOLDER_BYTES]; /* "" until program_place(), and if name is enough */
	enum program_place place;
};

/* Whether name is a word of the list, which is separated by single blanks. */
bool program_is_listed(const char *list, const char *name, size_t len);

/* Whether the command line matters for this executable (a path, or a name alone). */
bool program_is_interpreter(const char *exe);

/*
 * exe is a path or a name, with " (deleted)" or without. command_line is the content of
 * /proc/<pid>/cmdline, NULL if unknown. fallback names the program if exe is "".
 */
void program_parse(const char *exe, const char *fallback, const char *command_line, size_t len,
		   struct program *ret);

/*
 * gVisor's sandbox process has the container's id as its last argument only. Returns false if
 * the command line is none of it, else copies the id with its NUL.
 */
bool program_gvisor_id(const char *command_line, size_t len, char *ret, size_t size);

#endif /* NODE_AGENT_WORKLOAD_PROGRAM_NAME_H */
