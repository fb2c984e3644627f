/*
 * The cluster-agent needs no capability, except to listen on a port below 1024. Started as root it
 * gives up all others at once, and root without capabilities is a user like any other: it cannot
 * use a data directory of somebody else, or a kubeconfig that only its owner may read. Where the
 * configuration has that, the capabilities for it are kept, because an agent that no longer starts
 * after an update is worse; one line says so and what to do.
 */
#include "cluster-agent/cluster_privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>

#include "cluster-agent/store/chdb_api.h"
#include "common/access/key_sources.h"
#include "common/kubernetes/kube_config_load.h"
#include "common/privilege/capabilities.h"
#include "common/privilege/syscall_filter.h"
#include "common/privilege/write_limit.h"
#include "common/telemetry/log.h"

#define OWNER_CAPABILITIES (CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_FOWNER))
#define READ_CAPABILITIES CAPABILITY(CAP_DAC_READ_SEARCH)
/* Who connects to a socket writes to its file. */
#define CONNECT_CAPABILITIES CAPABILITY(CAP_DAC_OVERRIDE)

static bool is_given(const char *option)
{
	return option && option[0];
}

static bool may(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ||
	       (errno != EACCES && errno != EPERM);
}

static bool can_read(const void *arg)
{
	return may(arg, R_OK);
}

static bool can_connect(const void *arg)
{
	return may(arg, W_OK);
}

/* The path may be a directory of files of keys. */
static bool can_read_keys(const void *arg)
{
	struct key_sources s;
	int r = key_sources_list(&s, arg, NULL);
	bool can = r != -EACCES && r != -EPERM;

	for (size_t i = 0; can && i < s.n; i++)
		can = may(s.paths[i], R_OK);
	key_sources_fini(&s);
	return can;
}

/* If it does not exist, it is made. */
static bool can_use_directory(const void *arg)
{
	const char *path = arg;
	AUTO_FREE char *copy = NULL;

	if (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0 || errno != ENOENT)
		return may(path, R_OK | W_OK | X_OK);
	copy = strdup(path);
	return !copy || may(dirname(copy), W_OK | X_OK);
}

static uint64_t keep_for(uint64_t held, uint64_t wanted, bool (*can)(const void *),
			 const char *path)
{
	char text[128];

	wanted &= held;
	if (wanted == 0 || !is_given(path) ||
	    capabilities_try_without(OWNER_CAPABILITIES | READ_CAPABILITIES, can, path))
		return 0;
	log_warn("a file or directory belongs to another user; keeping capabilities to use it. "
		 "Run the agent as that user, or give it to the agent's user",
		 "path=%s capabilities=\"%s\"", LOG_QUOTED(path),
		 capabilities_text(wanted, text, sizeof(text)));
	return wanted;
}

/* As root out of a build directory in somebody's home, the engine's library is there, too. */
static uint64_t capabilities_for_engine(const struct cluster_options *o, uint64_t held)
{
	char found[PATH_MAX];
	const char *path = o->chdb_library;

	if (cluster_options_storage(o) != STORAGE_EMBEDDED || cluster_options_forward(o))
		return 0;
	if (!is_given(path))
		path = chdb_api_find(found, sizeof(found)) == 0 ? found : NULL;
	return keep_for(held, READ_CAPABILITIES, can_read, path);
}

static uint64_t capabilities_for_files(const struct cluster_options *o)
{
	const char *const files[] = {
		o->kubeconfig,
		o->ca_file,
		o->tls_cert,
		o->tls_key,
		o->clickhouse_password_file,
		o->clickhouse_tls_ca_file,
		o->clickhouse_tls_cert_file,
		o->clickhouse_tls_key_file,
		o->scrape_ca_file,
		o->scrape_cert_file,
		o->scrape_key_file,
		o->scrape_token_file,
		o->scrape_password_file,
	};
	uint64_t held = capabilities_held(), kept = 0;

	kept |= keep_for(held, OWNER_CAPABILITIES, can_use_directory, o->data_dir);
	kept |= capabilities_for_engine(o, held);
	kept |= keep_for(held, READ_CAPABILITIES, can_read_keys, o->api_key_file);
	kept |= keep_for(held, READ_CAPABILITIES, can_read_keys, o->read_api_key_file);
	kept |= keep_for(held, READ_CAPABILITIES, can_read_keys, o->notes_api_key_file);
	kept |= keep_for(held, CONNECT_CAPABILITIES, can_connect, o->scrape_docker_socket);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		kept |= keep_for(held, READ_CAPABILITIES, can_read, files[i]);
	return kept;
}

int cluster_privileges_drop(const struct cluster_options *o, struct err *err)
{
	uint64_t keep = capabilities_for_files(o) | capabilities_to_listen(o->listen) |
			capabilities_to_listen(o->clickhouse_listen) |
			capabilities_to_listen(o->otlp_grpc_listen);
	int r = capabilities_keep(keep);
	char text[128];

	if (r < 0)
		return err_set(err, r, "cannot give up capabilities: %s", strerror(-r));
	log_debug("gave up capabilities", "kept=\"%s\"",
		  capabilities_text(capabilities_held(), text, sizeof(text)));
	return 0;
}

static bool starts_programs(const struct cluster_options *o)
{
	return is_given(o->kubeconfig) &&
	       kube_config_file_starts_program(o->kubeconfig,
					       is_given(o->kube_context) ? o->kube_context : NULL);
}

void cluster_privileges_limit_writes(const struct cluster_options *o)
{
	int r;

	/* a credential plugin has files of its own in its user's home */
	if (o->seccomp != SYSCALL_FILTER_ON || starts_programs(o))
		return;
	if (mkdir(o->data_dir, 0700) < 0 && errno != EEXIST)
		return; /* who needs it says why it cannot be made */
	r = write_limit_to(o->data_dir);
	/* EPERM is the answer of container runtimes that do not know the call */
	if (r == -ENOSYS || r == -EOPNOTSUPP || r == -EPERM)
		log_debug("the kernel or container cannot limit where the agent may write",
			  "needs=\"Landlock, Linux 5.19\"");
	else if (r < 0)
		log_warn("cannot limit where the agent may write", "error=\"%s\"", strerror(-r));
}

int cluster_privileges_filter(const struct cluster_options *o, struct err *err)
{
	const struct syscall_filter_config cfg = {
		.mode = o->seccomp,
		.starts_programs = starts_programs(o),
	};

	return syscall_filter_install(&cfg, err);
}
