#include "test/lib/failing_sync.h"

#include <errno.h>
#include <stdatomic.h>

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

static atomic_int n_failing;
static atomic_int error_number;

void failing_sync_set(int n, int error)
{
	atomic_store(&error_number, error);
	atomic_store(&n_failing, n);
}

int __wrap_fdatasync(int fd)
{
	int n = atomic_load(&n_failing);

	while (n > 0) {
		if (atomic_compare_exchange_weak(&n_failing, &n, n - 1)) {
			errno = atomic_load(&error_number);
			return -1;
		}
	}
	return __real_fdatasync(fd);
}
