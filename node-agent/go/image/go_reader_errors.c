#include "node-agent/go/image/go_reader_errors.h"

#include <errno.h>
#include <string.h>

#include "common/base.h"

static const struct {
	int error;
	const char *text;
} reasons[] = {
	{-ESRCH, "no such process"},
	{-ENODATA, "the process exited while it was read"},
	{-EACCES, "permission denied: this needs the same user or CAP_SYS_PTRACE"},
	{-EPERM, "permission denied: this needs the same user or CAP_SYS_PTRACE"},
	{-ENOENT, "not a Go program, or its Go runtime was not found"},
	{-ENOEXEC, "not a Go program, and no Go library is loaded"},
	{-ENOTSUP, "unsupported release of Go: 1.13 to 1.27 are supported"},
	{-EBADMSG, "unexpected content in the memory of the process"},
	{-E2BIG, "more than 1,000,000 goroutines"},
	{-ETIME, "timed out while reading the process"},
	{-ENOBUFS, "too many different stacks"},
	{-EFBIG, "too many different stacks"},
};

const char *go_reader_error(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == error)
			return reasons[i].text;
	}
	return strerror(-error);
}
