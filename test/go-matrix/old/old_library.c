/*
 * A library that claims to be built by a release of Go that is not supported. test/go-matrix/host
 * loads it like the others.
 */
#include <unistd.h>

void run_target(void);

__attribute__((section(".go.buildinfo"), used, aligned(16))) static const char build_info[64] =
	"\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x06"
	"go1.12";

/* Ends when standard input does, like the others. */
void run_target(void)
{
	char c;

	if (write(STDOUT_FILENO, "loaded\n", 7) < 0)
		return;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}
