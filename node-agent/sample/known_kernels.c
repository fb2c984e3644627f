/*
 * Until Linux 6.4, bpf_probe_read_user() could check its destination against the kernel's list of
 * mappings, from 5.19 on under a lock that the interrupted code may hold (d319f344561d, "mm: Fix
 * copy_from_user_nofault()"). The fix is in 6.1.36 and 6.3.10; other versions never had it. Every
 * sample reads user memory, so on such a kernel the agent does not sample unless it is told to.
 *
 * A distribution may have fixed its kernel without saying so in the version. It is refused all the
 * same: the operator can allow it, but not undo a frozen machine.
 */
#include "node-agent/sample/known_kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>

#include "common/system/fs.h"

#define VERSION_MAX 9999ul

static bool parse_number(const char **p, unsigned *ret)
{
	char *end;
	unsigned long n;

	if (**p < '0' || **p > '9')
		return false;
	n = strtoul(*p, &end, 10);
	if (n > VERSION_MAX)
		return false;
	*p = end;
	*ret = (unsigned)n;
	return true;
}

/* X.Y or X.Y.Z at the beginning of a text. */
static bool parse_version(const char *p, struct kernel_version *ret)
{
	*ret = (struct kernel_version){0};
	if (!parse_number(&p, &ret->major) || *p++ != '.' || !parse_number(&p, &ret->minor))
		return false;
	if (*p == '.') {
		p++;
		return parse_number(&p, &ret->patch);
	}
	return true;
}

static bool same_series(const struct kernel_version *a, const struct kernel_version *b)
{
	return a->major == b->major && a->minor == b->minor;
}

int kernel_version_parse(const char *release, const char *version, const char *signature,
			 struct kernel_version *ret)
{
	static const char debian[] = "Debian ";
	const char *last = strrchr(signature, ' ');
	const char *in_version = strstr(version, debian);
	struct kernel_version better;

	if (!parse_version(release, ret))
		return -EBADMSG;
	if (in_version && parse_version(in_version + strlen(debian), &better) &&
	    same_series(&better, ret))
		*ret = better;
	if (last && parse_version(last + 1, &better) && same_series(&better, ret))
		*ret = better;
	return 0;
}

bool kernel_is_known_bad(const struct kernel_version *v)
{
	if (v->major == 5)
		return v->minor == 19;
	if (v->major != 6)
		return false;
	switch (v->minor) {
	case 0:
	case 2:
		return true;
	case 1:
		return v->patch < 36;
	case 3:
		return v->patch < 10;
	default:
		return false;
	}
}

int known_kernels_check(struct err *err)
{
	CLEANUP(buf_fini) struct buf text;
	const char *signature = "";
	struct kernel_version v;
	struct utsname u;

	buf_init(&text, 4096);
	if (fs_read_at(AT_FDCWD, "/proc/version_signature", &text) == 0 && text.data)
		signature = text.data;
	if (uname(&u) < 0 || kernel_version_parse(u.release, u.version, signature, &v) < 0 ||
	    !kernel_is_known_bad(&v))
		return 0;
	return err_set(err, -EOPNOTSUPP,
		       "sampling can freeze kernel %u.%u.%u (fixed in 6.1.36, 6.3.10 and 6.4): "
		       "update it, or start with --allow-known-bad-kernel",
		       v.major, v.minor, v.patch);
}
