#include "cluster-agent/operator/spec/agent_variables.h"

#include <limits.h>

#include "common/text/near_name.h"

/* Of libc, libcurl, OpenSSL and the embedded engine, and what programs expect of any machine. */
static bool is_of_libraries(const char *name)
{
	static const char *const names[] = {
		"ALL_PROXY", "HOME",           "HOSTNAME",      "HTTPS_PROXY",   "HTTP_PROXY",
		"LANG",      "LANGUAGE",       "NODE_NAME",     "NO_PROXY",      "OPENSSL_CONF",
		"PATH",      "SSL_CERT_DIR",   "SSLKEYLOGFILE", "SSL_CERT_FILE", "TMPDIR",
		"TZ",        "GLIBC_TUNABLES",
	};
	static const char *const beginnings[] = {"KUBERNETES_", "LC_", "LD_", "MALLOC_"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static bool is_used_by(const char *name, const json_t *variable)
{
	const char *value = json_string_value(json_object_get(variable, "value"));
	size_t len = strlen(name);

	for (const char *at = value ? strstr(value, "$(") : NULL; at; at = strstr(at + 2, "$("))
		if (strncmp(at + 2, name, len) == 0 && at[2 + len] == ')')
			return true;
	return false;
}

static bool is_used_in(const char *name, const json_t *env)
{
	for (size_t i = 0; i < json_array_size(env); i++)
		if (is_used_by(name, json_array_get(env, i)))
			return true;
	return false;
}

bool agent_variables_have(const struct agent_variables *v, const char *name, const json_t *env,
			  const char **ret_meant)
{
	unsigned nearest = UINT_MAX;

	*ret_meant = NULL;
	for (size_t i = 0; v->names[i]; i++) {
		unsigned d;

		if (strcmp(name, v->names[i]) == 0)
			return true;
		d = near_name_distance(name, v->names[i]);
		if (d < nearest) {
			nearest = d;
			*ret_meant = v->names[i];
		}
	}
	return is_of_libraries(name) || is_used_in(name, env);
}
