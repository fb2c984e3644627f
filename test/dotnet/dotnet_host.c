/*
 * dotnet_host RUNTIME PROGRAM.dll [ARGUMENT]...: runs a program of .NET on the runtime and the
 * assemblies in a folder, as "dotnet PROGRAM.dll" does with an installed one.
 *
 * Source: docs/design/features/hosting-layer-components.md of dotnet/runtime.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES (1 << 20)

typedef int initialize_fn(const char *exe, const char *domain, int n, const char **keys,
			  const char **values, void **host, unsigned *id);
typedef int execute_fn(void *host, unsigned id, int argc, const char **argv, const char *assembly,
		       unsigned *status);

/* The assemblies of the runtime, between colons. */
static char *list_assemblies(const char *runtime)
{
	char *list = calloc(1, LIST_BYTES);
	DIR *dir = opendir(runtime);
	size_t len = 0;

	while (dir && list) {
		const struct dirent *e = readdir(dir);
		const char *dot = e ? strrchr(e->d_name, '.') : NULL;

		if (!e)
			break;
		if (dot && strcmp(dot, ".dll") == 0 && len < LIST_BYTES - 4096)
			len += (size_t)snprintf(list + len, LIST_BYTES - len, "%s/%s:", runtime,
						e->d_name);
	}
	if (dir)
		closedir(dir);
	return list;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"TRUSTED_PLATFORM_ASSEMBLIES",
					   "NATIVE_DLL_SEARCH_DIRECTORIES",
					   "System.Globalization.Invariant"};
	const char *values[] = {NULL, argv[1], "true"};
	initialize_fn *initialize;
	execute_fn *execute;
	char path[4096];
	void *library, *host;
	unsigned id, status = 1;

	if (argc < 3)
		return 2;
	snprintf(path, sizeof(path), "%s/libcoreclr.so", argv[1]);
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	initialize = (initialize_fn *)dlsym(library, "coreclr_initialize");
	execute = (execute_fn *)dlsym(library, "coreclr_execute_assembly");
	values[0] = list_assemblies(argv[1]);
	if (!initialize || !execute || !values[0] ||
	    initialize(argv[0], "known", 3, (const char **)keys, values, &host, &id) < 0 ||
	    execute(host, id, argc - 3, (const char **)argv + 3, argv[2], &status) < 0) {
		fprintf(stderr, "%s: cannot run %s\n", argv[0], argv[2]);
		return 1;
	}
	return (int)status;
}
