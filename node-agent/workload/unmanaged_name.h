/*
 * Names of processes that no container runtime, unit or machine manager manages: whose work is
 * it, in the words of who started it? Pure; docs/naming.md has the rules.
 *
 * A process's ancestors decide, because nothing else is known when it is first sampled: whether
 * it will live for a millisecond or a year is not.
 */
#ifndef NODE_AGENT_WORKLOAD_UNMANAGED_NAME_H
#define NODE_AGENT_WORKLOAD_UNMANAGED_NAME_H

#include "common/base.h"
#include "node-agent/workload/program_name.h"

#define ANCESTRY_LABEL_BYTES 24

/* What a process and its ancestors say together. Zeroed: nothing. */
struct ancestry {
	char build[ANCESTRY_LABEL_BYTES]; /* the topmost build tool: "make" */
	char ci[ANCESTRY_LABEL_BYTES];    /* the topmost runner of CI jobs: "gitlab-runner" */
	char shell[PROGRAM_LABEL_BYTES];  /* the topmost shell, by its script if it runs one */
	bool cron;                        /* below cron or at */
	bool login; /* below sshd, login, a terminal … or a shell with a terminal */
};

/*
 * Adds a process to the ancestry of its parent, which becomes that of the process. terminal: it
 * has a controlling one.
 */
void ancestry_add(struct ancestry *a, const struct program *p, bool terminal);

struct unmanaged_facts {
	const char *exe;               /* path, "" if unknown */
	const struct program *program; /* borrowed, as all of this */
	const struct ancestry *above;  /* of the parent */
	const char *user;              /* whose session or cron job it is */
	bool terminal;                 /* has a controlling one */
	bool session;                  /* its cgroup is that of a login session (cgroup_path.h) */
};

/* Whether the name will have the user's: finding out whose it is costs something. */
bool unmanaged_name_needs_user(const struct unmanaged_facts *f);

/* "/session/alice", "/build/make", "/process/app.py" …; cut to size. */
void unmanaged_name(const struct unmanaged_facts *f, char *ret, size_t size);

#endif /* NODE_AGENT_WORKLOAD_UNMANAGED_NAME_H */
