/* Removes directories of JVMs that have died. */
#ifndef NODE_AGENT_JAVA_ATTACH_PLACE_SWEEP_H
#define NODE_AGENT_JAVA_ATTACH_PLACE_SWEEP_H

#include "node-agent/java/attach/jvm_place.h"

/* In the parent of this place, and of the same user only; a bounded number at a time. */
void place_sweep(const struct jvm_place *p, const struct jvm_target *t);

#endif /* NODE_AGENT_JAVA_ATTACH_PLACE_SWEEP_H */
