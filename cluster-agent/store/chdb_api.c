#include "cluster-agent/store/chdb_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/system/fs.h"
#include "common/system/memory_limit.h"

#define LIBRARY "libchdb.so"

/*
 * The engine's allocator, which reads this when the library is loaded, keeps freed memory for
 * seconds and has an arena for each CPU: hundreds of MiB that count against a container's limit and
 * not against the engine's own. In single runs 200 ms cost 7 % of the CPU time of inserts and 0 ms
 * 70 %; 50 ms took 160 MiB off a peak of 694. Its profiler and its threads, which wake up for
 * nothing on an idle agent, are off.
 */
#define ALLOCATOR_VARIABLE "JE_MALLOC_CONF"
#define ALLOCATOR_OPTIONS                                              \
	"percpu_arena:disabled,narenas:4,muzzy_decay_ms:0,prof:false," \
	"background_thread:false,dirty_decay_ms:"
#define SMALL_BYTES (2048 * MIB)

static int set_allocator_options(void)
{
	bool is_small = memory_limit_read() < SMALL_BYTES;

	return setenv(ALLOCATOR_VARIABLE,
		      is_small ? ALLOCATOR_OPTIONS "50" : ALLOCATOR_OPTIONS "200", 1);
}

static int open_library(void **ret, const char *path, struct err *err)
{
	bool is_ours = !getenv(ALLOCATOR_VARIABLE);
	void *lib;

	if (is_ours && set_allocator_options() < 0)
		return err_set(err, -errno, "set " ALLOCATOR_VARIABLE ": %m");
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	/* programs that we start must not inherit it */
	if (is_ours)
		unsetenv(ALLOCATOR_VARIABLE);
	if (!lib)
		return err_set(err, -ELIBBAD, "load %s: %s", path, dlerror());
	*ret = lib;
	return 0;
}

int chdb_api_find(char *ret, size_t size)
{
	return program_dir_find("coroot", LIBRARY, ret, size);
}

static int open_any(void **ret, struct err *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 64];

	if (chdb_api_find(path, sizeof(path)) == 0)
		return open_library(ret, path, err);
	if (open_library(ret, LIBRARY, NULL) == 0)
		return 0;
	if (program_dir(dir, sizeof(dir)) < 0)
		dir[0] = '\0';
	return err_set(err, -ENOENT,
		       LIBRARY " not found in %s, %s/../lib/coroot and the library path; "
			       "name it with --chdb-library",
		       dir, dir);
}

int chdb_api_load(struct chdb_api *ret, const char *path, struct err *err)
{
	struct chdb_api api = {0};
	const struct {
		void *field;
		const char *name;
	} wanted[] = {
		{&api.connect, "chdb_connect"},
		{&api.close, "chdb_close_conn"},
		{&api.query, "chdb_query_with_params_n"},
		{&api.destroy, "chdb_destroy_query_result"},
		{&api.buffer, "chdb_result_buffer"},
		{&api.length, "chdb_result_length"},
		{&api.error, "chdb_result_error"},
		{&api.elapsed, "chdb_result_elapsed"},
		{&api.rows, "chdb_result_rows_read"},
		{&api.bytes, "chdb_result_bytes_read"},
		{&api.storage_rows, "chdb_result_storage_rows_read"},
		{&api.storage_bytes, "chdb_result_storage_bytes_read"},
		{&api.enable_signal_handlers, "chdb_set_signal_handlers_enabled"},
	};
	void *lib = NULL;
	int r;

	if (path && access(path, R_OK) < 0)
		return err_set(err, -ENOENT, "%s: %m", path);
	r = path ? open_library(&lib, path, err) : open_any(&lib, err);
	if (r < 0)
		return r;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		void *symbol = dlsym(lib, wanted[i].name);

		if (!symbol)
			return err_set(err, -ELIBBAD, LIBRARY " has no %s: another version?",
				       wanted[i].name);
		memcpy(wanted[i].field, &symbol, sizeof(symbol));
	}
	api.enable_signal_handlers(0);
	*ret = api;
	return 0;
}
