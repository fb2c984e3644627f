/*
 * The memory is opened for writing as the JVM's user, whose file it is, with CAP_SYS_PTRACE alone:
 * so no capability is needed that the agent does not have for reading it. What is read through that
 * descriptor must be what the JVM's flags were read from.
 */
#include "node-agent/java/attach/agent_warning.h"

#include <errno.h>
#include <fcntl.h>

#include "common/privilege/capabilities.h"
#include "node-agent/java/attach/as_user.h"

static int open_memory(const struct jvm_opened *o, const struct jvm_target *t)
{
	AUTO_CLOSE int fd = -1;
	struct as_user user;
	int r = as_user_begin(&user, t->uid, t->gid);

	if (r < 0)
		return r;
	/* if the agent lacks it, the kernel decides whether this user may */
	(void)!capabilities_set_effective(CAPABILITY(CAP_SYS_PTRACE));
	fd = openat(o->target.proc_fd, "mem", O_RDWR | O_CLOEXEC);
	r = fd < 0 ? -errno : 0;
	as_user_end(&user);
	if (!program_target_is_current(&o->target, &o->id))
		return -ESRCH;
	return r < 0 ? r : TAKE_FD(fd);
}

/* Index of the byte of a word that has the bit. */
static size_t byte_of(uint32_t bit)
{
	return (size_t)__builtin_ctz(bit) / 8;
}

static int set_bit(int fd, const struct jvm_flags *f)
{
	size_t at = byte_of(f->agent_loading_bit);
	uint8_t byte = (uint8_t)((f->agent_loading_word | f->agent_loading_bit) >> (8 * at));
	uint32_t now;

	if (pread(fd, &now, sizeof(now), (off_t)f->agent_loading_at) != sizeof(now))
		return -ESRCH;
	if (now != f->agent_loading_word)
		return now & f->agent_loading_bit ? 0 : -EBADMSG;
	if (pwrite(fd, &byte, sizeof(byte), (off_t)(f->agent_loading_at + at)) != sizeof(byte))
		return -EIO;
	return 0;
}

int agent_warning_prevent(struct jvm_opened *o, const struct jvm_target *t,
			  const struct jvm_flags *f, struct jvm_failure *why)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (!f->agent_loading_warns)
		return 0;
	fd = open_memory(o, t);
	r = fd < 0 ? fd : set_bit(fd, f);
	if (r == 0 || r == -ESRCH)
		return r;
	why->state = JAVA_STATE_NO_PERMISSION;
	return err_set(&why->err, r, "keep it from warning of an agent on its standard error: %s",
		       strerror(-r));
}
