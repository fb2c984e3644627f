#include "node-agent/java/java_state.h"

static const struct {
	const char *name;
	const char *sentence;
} states[JAVA_STATES] = {
	[JAVA_STATE_PROFILED] = {"profiled", "Java profiles are collected by async-profiler"},
	[JAVA_STATE_OFF] = {"off", "Java profiles are off; start the node agent with "
				   "--enable-java-async-profiler"},
	[JAVA_STATE_WAITING] = {"waiting", "just started; profiled after "
					   "--java-async-profiler-delay"},
	[JAVA_STATE_ATTACH_DISABLED] =
		{"attach_disabled", "started with -XX:+DisableAttachMechanism; remove that flag to "
				    "get Java profiles"},
	[JAVA_STATE_LOADING_DISABLED] = {"loading_disabled",
					 "started with -XX:-EnableDynamicAgentLoading; remove that "
					 "flag to get Java profiles"},
	[JAVA_STATE_SIGNALS_REDUCED] =
		{"signals_reduced", "started with -Xrs (-XX:+ReduceSignalUsage), so it cannot be "
				    "attached to safely; remove that flag to get Java profiles"},
	[JAVA_STATE_OPENJ9] = {"openj9", "OpenJ9, which async-profiler does not support; use "
					 "a HotSpot JVM to get Java profiles"},
	[JAVA_STATE_UNSUPPORTED] =
		{"unsupported", "a JVM whose release the node agent does not understand; report "
				"it with its version"},
	[JAVA_STATE_FOREIGN_PROFILER] =
		{"foreign_profiler", "another profiler is already loaded; stop loading that one "
				     "to get Java profiles"},
	[JAVA_STATE_OTHER_AGENT] = {"other_agent", "profiled by another node agent; run one agent "
						   "per node"},
	[JAVA_STATE_NO_LIBRARY] = {"no_library",
				   "the node agent's libasyncProfiler.so is missing; install it or "
				   "set --java-async-profiler-lib"},
	[JAVA_STATE_NO_PLACE] = {"no_place",
				 "neither /tmp, /dev/shm nor its working directory is writable and "
				 "executable; mount an emptyDir at /tmp"},
	[JAVA_STATE_NO_PERMISSION] =
		{"no_permission", "the node agent may not attach to it; see the agent's log for "
				  "the missing capability"},
	[JAVA_STATE_UNRESPONSIVE] = {"unresponsive",
				     "does not answer attach requests; tried again later"},
	[JAVA_STATE_LOAD_FAILED] = {"load_failed",
				    "cannot load libasyncProfiler.so; see the agent's log for its "
				    "answer"},
	[JAVA_STATE_START_FAILED] =
		{"start_failed", "async-profiler cannot start in it; see the agent's log for its "
				 "answer"},
	[JAVA_STATE_FAILED] = {"failed", "profiling failed repeatedly and is not tried again; see "
					 "the agent's log"},
};

const char *java_state_name(enum java_state s)
{
	return states[s].name;
}

const char *java_state_sentence(enum java_state s)
{
	return states[s].sentence;
}

bool java_state_parse(const char *name, enum java_state *ret)
{
	for (unsigned s = 0; s < JAVA_STATES; s++) {
		if (strcmp(states[s].name, name) != 0)
			continue;
		*ret = (enum java_state)s;
		return true;
	}
	return false;
}
