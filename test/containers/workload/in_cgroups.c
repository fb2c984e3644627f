/*
 * in_cgroups PROGRAM ARG...: for each line of input, one process that joins the cgroups whose
 * cgroup.procs files the line names, and then executes the program, as a container's first process
 * does. The processes are killed when this one exits, which it does when all of them have, with
 * status 1 if one of them failed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int join(char *files)
{
	for (char *f = strtok_r(files, " \n", &files); f; f = strtok_r(NULL, " \n", &files)) {
		int fd = open(f, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) != 1) {
			perror(f);
			return -1;
		}
		close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char line[16384];
	int status, failed = 0;

	if (argc < 2)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (join(line) == 0)
				execv(argv[1], argv + 1);
			_exit(1);
		}
	}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed > 0;
}
