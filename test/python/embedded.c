/*
 * embedded LIBRARY ARGUMENTS: a program that loads CPython's library when it runs, and is then
 * Python with these arguments.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*python)(int argc, char **argv) = NULL;

	if (library)
		*(void **)&python = dlsym(library, "Py_BytesMain");
	if (!python) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return python(argc - 1, argv + 1);
}
