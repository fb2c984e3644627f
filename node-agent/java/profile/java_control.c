#include "node-agent/java/profile/java_control.h"

#include <errno.h>

#define LOG_FILE "log"
#define LOG_PREFIX "[ERROR] "
#define LOG_TEXT_BYTES 200u

int java_control_send(const struct java_port *port, const char *options, int *ret_code,
		      struct jvm_failure *why)
{
	struct attach_answer answer = {0};
	int r = port->ops->command(port->ctx, options, &answer, why);

	if (r < 0)
		return r;
	*ret_code = answer.code;
	switch (answer.outcome) {
	case ATTACH_LOADED:
		return 0;
	case ATTACH_LOADING_DISABLED:
		return jvm_failure_set(why, JAVA_STATE_LOADING_DISABLED, -EPERM, "%s", answer.text);
	case ATTACH_NOT_LOADED:
		return jvm_failure_set(why, JAVA_STATE_LOAD_FAILED, -ENOEXEC, "%s", answer.text);
	default:
		return jvm_failure_set(why, JAVA_STATE_FAILED, -EPROTO,
				       "the JVM did not understand the request: %s", answer.text);
	}
}

/* Appends what async-profiler said to why. */
static void read_log(const struct java_port *port, struct jvm_failure *why)
{
	AUTO_CLOSE int fd = port->ops->open_file(port->ctx, LOG_FILE);
	char text[LOG_TEXT_BYTES];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	(void)port->ops->unlink_file(port->ctx, LOG_FILE);
	if (n <= 0)
		return;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	(void)err_set(&why->err, 0, "async-profiler: %s",
		      strncmp(text, LOG_PREFIX, strlen(LOG_PREFIX)) == 0 ? text + strlen(LOG_PREFIX)
									 : text);
}

/* The recording was refused: tries again with a log file, to learn why. */
static int start_with_log(const struct java_port *port, struct java_start *start, int *ret_code,
			  struct jvm_failure *why)
{
	char options[JAVA_COMMAND_BYTES];
	struct jvm_failure ignored;
	int code, r;

	start->log_file = LOG_FILE;
	r = java_command_start(start, options);
	if (r == 0)
		r = java_control_send(port, options, ret_code, why);
	if (r < 0)
		return r;
	why->state = JAVA_STATE_START_FAILED;
	(void)err_set(&why->err, 0, "async-profiler returned %d", *ret_code);
	read_log(port, why);
	/* has it close the file; nothing depends on that */
	if (java_control_send(port, "version,log=stderr,loglevel=none", &code, &ignored) == -ESRCH)
		return -ESRCH;
	return 0;
}

int java_control_start(const struct java_port *port, struct java_start *start, int *ret_code,
		       struct jvm_failure *why)
{
	char options[JAVA_COMMAND_BYTES];
	int r = java_command_start(start, options), stopped = 0;

	if (r == 0)
		r = java_control_send(port, options, ret_code, why);
	if (r < 0 || *ret_code == JAVA_COMMAND_OK)
		return r;
	r = java_control_send(port, JAVA_COMMAND_STOP, &stopped, why);
	if (r < 0)
		return r;
	return stopped == JAVA_COMMAND_OK ? java_control_send(port, options, ret_code, why)
					  : start_with_log(port, start, ret_code, why);
}
