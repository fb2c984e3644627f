/* The port (java_port.h) to a real JVM. One thread; for one step, as it holds descriptors. */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_JVM_PORT_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_JVM_PORT_H

#include "common/base.h"
#include "node-agent/java/attach/jvm_attach.h"
#include "node-agent/java/attach/jvm_place.h"
#include "node-agent/java/attach/jvm_target.h"
#include "node-agent/java/profile/java_port.h"
#include "node-agent/java/vm/jvm_reader.h"

struct java_jvm_port {
	int proc_root_fd; /* borrowed, as the rest */
	const struct program_id *id;
	struct jvm_opened *opened;
	const struct jvm_library *library; /* NULL: there is none */
	struct jvm_attach *attach;         /* the session's */
	bool must_run;                     /* as jvm_attach.h, as the next two */
	uint64_t listen_ns, answer_ns;
	bool (*must_end)(void *ctx); /* cuts waiting short; NULL: never */
	void *must_end_ctx;

	bool *reopens_socket; /* the session's: jvm_attach_limits */

	/* private */
	struct jvm_target target;
	bool has_target;
	struct jvm_place place;
	bool has_place;
};

extern const struct java_port_ops java_jvm_port_ops;

/* Closes what is open. */
void java_jvm_port_fini(struct java_jvm_port *p);

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_JVM_PORT_H */
