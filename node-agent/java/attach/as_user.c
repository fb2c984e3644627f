/*
 * The order matters. Ids are changed while CAP_SETGID and CAP_SETUID are still effective, the
 * group first. Then all effective capabilities are given up until the end, so that the agent's do
 * not count in the JVM's file system, whoever the agent runs as. On the way back no capability is
 * needed: the real uid and gid are never changed, and the old effective ids equal them or the
 * saved ones.
 *
 * Two side effects of the kernel are undone. It makes the process dumpable as fs.suid_dumpable
 * says whenever an effective id changes. And it clears the permitted capabilities of a thread
 * whose last id of 0 goes, which happens to an agent that is not root and acts as root for a JVM
 * of root, unless PR_SET_KEEPCAPS is set.
 */
#include "node-agent/java/attach/as_user.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "common/privilege/capabilities.h"

#define UNCHANGED ((uid_t)-1)

/* Those of the C library change the ids of all threads. */
static int set_effective_uid(uid_t uid)
{
	return syscall(SYS_setresuid, UNCHANGED, uid, UNCHANGED) < 0 ? -errno : 0;
}

static int set_effective_gid(gid_t gid)
{
	return syscall(SYS_setresgid, UNCHANGED, gid, UNCHANGED) < 0 ? -errno : 0;
}

/* Whether the old ids can be taken back without any capability. */
static bool is_restorable(const struct as_user *u)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	return getresuid(&ruid, &euid, &suid) == 0 && getresgid(&rgid, &egid, &sgid) == 0 &&
	       (u->uid == ruid || u->uid == suid) && (u->gid == rgid || u->gid == sgid);
}

static int change(const struct as_user *u, uid_t uid, gid_t gid)
{
	int r = 0;

	if (gid != u->gid)
		r = set_effective_gid(gid);
	if (r == 0 && uid != u->uid)
		r = set_effective_uid(uid);
	if (r == 0 && capabilities_held() != 0)
		r = capabilities_set_effective(0);
	return r;
}

int as_user_begin(struct as_user *u, uid_t uid, gid_t gid)
{
	int r;

	*u = (struct as_user){
		.uid = geteuid(),
		.gid = getegid(),
		.capabilities = capabilities_held(),
		.dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0),
		.keeps_capabilities = prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0),
	};
	if (uid == UNCHANGED || gid == UNCHANGED || !is_restorable(u))
		return -EINVAL;
	(void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0); /* fails only if it is locked */
	u->active = true;
	r = change(u, uid, gid);
	if (r < 0)
		as_user_end(u);
	return r;
}

void as_user_end(struct as_user *u)
{
	int saved = errno;

	if (!u->active)
		return;
	u->active = false;
	if ((geteuid() != u->uid && set_effective_uid(u->uid) < 0) ||
	    (getegid() != u->gid && set_effective_gid(u->gid) < 0) ||
	    (capabilities_held() != u->capabilities &&
	     capabilities_set_effective(u->capabilities) < 0) ||
	    geteuid() != u->uid || getegid() != u->gid)
		abort();
	(void)prctl(PR_SET_KEEPCAPS, u->keeps_capabilities == 1, 0, 0, 0);
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != u->dumpable)
		(void)prctl(PR_SET_DUMPABLE, u->dumpable == 1, 0, 0, 0);
	errno = saved;
}

const char *as_user_missing(uid_t uid, gid_t gid)
{
	uint64_t held = capabilities_held();

	if (uid != geteuid() && !(held & CAPABILITY(CAP_SETUID)))
		return "CAP_SETUID";
	if (gid != getegid() && !(held & CAPABILITY(CAP_SETGID)))
		return "CAP_SETGID";
	return "permission to call setresuid, setresgid and capset";
}
