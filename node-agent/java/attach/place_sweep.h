#ifndef NODE_AGENT_JAVA_ATTACH_PLACE_SWEEP_H
#define NODE_AGENT_JAVA_ATTACH_PLACE_SWEEP_H

#include "node-agent/java/attach/jvm_place.h"

/*
 * Removes the directories of JVMs that have exited from the parent of this place, at most 32 per
 * call, and only those of the same user. Called after a successful jvm_place_prepare(). A directory
 * that cannot be removed is left for the next call.
 */
void place_sweep(const struct jvm_place *p, const struct jvm_target *t);

#endif /* NODE_AGENT_JAVA_ATTACH_PLACE_SWEEP_H */
