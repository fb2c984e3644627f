/*
 * Labels as Prometheus and Grafana name them → SQL expressions on profiling_samples and
 * profiling_quality. Pure.
 *
 * Their names are letters, digits and '_'; a stored label "host.name" is "host_name". Some names
 * are not of stored labels: "service_name", "profiler" (the source of the type), "__profile_type__"
 * and its parts, and "__coroot_type__", our own name of the type. "namespace", "pod", "container"
 * and "node" are read from the container id and the host where a profiler stores no such label.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_LABEL_SQL_H
#define CLUSTER_AGENT_QUERY_READ_LABEL_SQL_H

#include "common/base.h"

#define LABEL_SQL_SERVICE "service_name"
#define LABEL_SQL_PROFILE_TYPE "__profile_type__"
#define LABEL_SQL_OWN_TYPE "__coroot_type__"

/*
 * An expression, in which "{@:String}" stands for the parameter that has the label's name. It may
 * use {types:Array(String)} and {ids:Array(String)}, the two columns of profile_ids.h. *ret_series
 * says whether it is the same for all samples of a service and type, and so needs no labels.
 */
const char *label_sql(const char *name, bool *ret_series);

/* The names of the labels above that are not stored under that name and are listed. */
const char *const *label_sql_names(size_t *ret_n);

/* What a stored name is called: *s, of len bytes, is changed in place. */
void label_sql_plain_name(char *s, size_t len);

#endif /* CLUSTER_AGENT_QUERY_READ_LABEL_SQL_H */
