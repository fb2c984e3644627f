/* The methods of Pyroscope's query API that are served, in one table. */
#ifndef CLUSTER_AGENT_PYROSCOPE_QUERIER_METHODS_H
#define CLUSTER_AGENT_PYROSCOPE_QUERIER_METHODS_H

#include <protobuf-c/protobuf-c.h>

#include "cluster-agent/pyroscope/querier_call.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

typedef int (*querier_method_fn)(struct querier_call *c, const ProtobufCMessage *request,
				 ProtobufCMessage **ret, struct err *err);

struct querier_method {
	const char *path; /* "/<service>/<method>" */
	const ProtobufCMessageDescriptor *request;
	querier_method_fn answer;
	bool is_large;
	bool has_stacks;
};

/* Returns a row of the table, or NULL. */
const struct querier_method *querier_method_find(const char *path);
const struct querier_method *querier_methods(size_t *ret_n);

int querier_profile_types(struct querier_call *c, const ProtobufCMessage *request,
			  ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_label_names(struct querier_call *c, const ProtobufCMessage *request,
			ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_label_values(struct querier_call *c, const ProtobufCMessage *request,
			 ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_series(struct querier_call *c, const ProtobufCMessage *request, ProtobufCMessage **ret,
		   struct err *err) MUST_CHECK;
int querier_profile_stats(struct querier_call *c, const ProtobufCMessage *request,
			  ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_empty(struct querier_call *c, const ProtobufCMessage *request, ProtobufCMessage **ret,
		  struct err *err) MUST_CHECK;
int querier_select_series(struct querier_call *c, const ProtobufCMessage *request,
			  ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_select_heatmap(struct querier_call *c, const ProtobufCMessage *request,
			   ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_select_stacktraces(struct querier_call *c, const ProtobufCMessage *request,
			       ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_select_span_profile(struct querier_call *c, const ProtobufCMessage *request,
				ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_select_profile(struct querier_call *c, const ProtobufCMessage *request,
			   ProtobufCMessage **ret, struct err *err) MUST_CHECK;
int querier_diff(struct querier_call *c, const ProtobufCMessage *request, ProtobufCMessage **ret,
		 struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PYROSCOPE_QUERIER_METHODS_H */
