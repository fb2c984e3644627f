#include "cluster-agent/query/read/label_sql.h"

#define ID "transform(Type, {types:Array(String)}, {ids:Array(String)}, concat(Type, '::'))"
#define ID_PART(n) "splitByChar(':', " ID ")[" #n "]"
/* /k8s/<namespace>/<pod>/<container>; a CronJob's is one part shorter and names no pod */
#define K8S_PART(n)                                              \
	"if(startsWith(Labels['container.id'], '/k8s/') "        \
	"AND countSubstrings(Labels['container.id'], '/') = 4, " \
	"splitByChar('/', Labels['container.id'])[" #n "], '')"
#define FIRST_OF(name, kube_name, other) \
	"arrayFirst(x -> x != '', [Labels['" name "'], Labels['" kube_name "'], " other "])"

#define STORED "Labels[{@:String}]"
/* the stored name if there is one, else one that becomes this name without its other characters */
#define STORED_PLAIN                                                              \
	"Labels[if(mapContains(Labels, {@:String}), {@:String}, arrayFirst(k -> " \
	"replaceRegexpAll(k, '[^a-zA-Z0-9_]', '_') = {@:String}, mapKeys(Labels)))]"

struct label {
	const char *name;
	const char *sql;
	bool series;
};

static const struct label labels[] = {
	{LABEL_SQL_SERVICE, "ServiceName", true},
	{LABEL_SQL_OWN_TYPE, "Type", true},
	{"profiler", "splitByChar(':', Type)[1]", true},
	{LABEL_SQL_PROFILE_TYPE, ID, true},
	{"__name__", ID_PART(1), true},
	{"__type__", ID_PART(2), true},
	{"__unit__", ID_PART(3), true},
	{"__period_type__", ID_PART(4), true},
	{"__period_unit__", ID_PART(5), true},
	{"namespace", FIRST_OF("namespace", "k8s.namespace.name", K8S_PART(3)), false},
	{"pod", FIRST_OF("pod", "k8s.pod.name", K8S_PART(4)), false},
	{"container", FIRST_OF("container", "k8s.container.name", K8S_PART(5)), false},
	{"node", FIRST_OF("node", "k8s.node.name", "Labels['host.name']"), false},
};

static const char *const listed[] = {LABEL_SQL_SERVICE, "profiler"};

const char *label_sql(const char *name, bool *ret_series)
{
	*ret_series = false;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (strcmp(labels[i].name, name) != 0)
			continue;
		*ret_series = labels[i].series;
		return labels[i].sql;
	}
	return strchr(name, '_') ? STORED_PLAIN : STORED;
}

const char *const *label_sql_names(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(listed);
	return listed;
}

void label_sql_plain_name(char *s, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_";

	for (size_t i = 0; i < len; i++)
		if (!s[i] || !strchr(plain, s[i]))
			s[i] = '_';
}
