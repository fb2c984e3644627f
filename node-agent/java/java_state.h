/*
 * Why a JVM has Java profiles or not, as metrics, logs, the page and the documentation name it.
 *
 * Every JVM that the agent knows is in exactly one of these states. The name is the value of the
 * label `reason` of container_jvm_profiling_status, and what runtime_turn_set_state() gets, so that
 * CPU profiles carry it ("runtime:java:off=2"); names are never reused for something else.
 * docs/java.md has a row for each.
 */
#ifndef NODE_AGENT_JAVA_JAVA_STATE_H
#define NODE_AGENT_JAVA_JAVA_STATE_H

#include "common/base.h"

enum java_state {
	JAVA_STATE_PROFILED, /* async-profiler runs in it, started by this agent */
	JAVA_STATE_OFF,      /* --enable-java-async-profiler is not set */
	JAVA_STATE_WAITING,  /* younger than the delay, or still starting */
	JAVA_STATE_OPENJ9,   /* not HotSpot; nothing is attempted */
	/* those that a failed attempt may lead to */
	JAVA_STATE_ATTACH_DISABLED,  /* -XX:+DisableAttachMechanism */
	JAVA_STATE_LOADING_DISABLED, /* -XX:-EnableDynamicAgentLoading */
	JAVA_STATE_SIGNALS_REDUCED,  /* -Xrs: SIGQUIT would kill it */
	JAVA_STATE_UNSUPPORTED,      /* a HotSpot JVM that the agent does not understand */
	JAVA_STATE_FOREIGN_PROFILER, /* somebody else loaded a profiler into it */
	JAVA_STATE_OTHER_AGENT,      /* another node agent profiles it */
	JAVA_STATE_NO_LIBRARY,       /* the agent's libasyncProfiler.so is missing or unreadable */
	JAVA_STATE_NO_PLACE,         /* no directory that is writable and not noexec */
	JAVA_STATE_NO_PERMISSION,    /* the agent may not attach to it */
	JAVA_STATE_UNRESPONSIVE,     /* stopped, or does not answer the attach request */
	JAVA_STATE_LOAD_FAILED,      /* it answered that it cannot load the library */
	JAVA_STATE_START_FAILED,     /* async-profiler was loaded, but could not start */
	JAVA_STATE_FAILED,           /* anything else, many times: not tried again */
	JAVA_STATES,

	JAVA_STATE_FAILURES = JAVA_STATE_ATTACH_DISABLED, /* the first of them */
};

/* Returns static text such as "attach_disabled". */
const char *java_state_name(enum java_state s);

/*
 * Returns static text without a full stop: what an operator can do about it, or why nothing is to
 * be done. It is read after "<n> JVMs: ".
 */
const char *java_state_sentence(enum java_state s);

/* Returns false, and leaves *ret alone, if no state has that name. */
bool java_state_parse(const char *name, enum java_state *ret);

#endif /* NODE_AGENT_JAVA_JAVA_STATE_H */
