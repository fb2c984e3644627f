#include "test/lib/tls_server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "test/lib/unit.h"

const char tls_key[] = "-----BEGIN PRIVATE KEY-----\n"
		       "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkxB5goi1HsTDKiqf\n"
		       "XZlqmivvTxYn+VHXercwqFZFop+hRANCAATj2h7Uq9JEBVYefT5C3Fjcul26HoQw\n"
		       "6dcZnmtAQSttTdAlcDWHz6RubAuV3uHJWJmE4ISE9TiSOWPDuWpjuCLi\n"
		       "-----END PRIVATE KEY-----\n";

const char tls_cert[] = "-----BEGIN CERTIFICATE-----\n"
			"MIIBkDCCATagAwIBAgIUemUYOdju5dHxUF7BTPRWZqhjLcUwCgYIKoZIzj0EAwIw\n"
			"FDESMBAGA1UEAwwJdW5pdCB0ZXN0MCAXDTI2MTEyMDE3NTY0MFoYDzIxMjYxMDI3\n"
			"MTc1NjQwWjAUMRIwEAYDVQQDDAl1bml0IHRlc3QwWTATBgcqhkjOPQIBBggqhkjO\n"
			"PQMBBwNCAATj2h7Uq9JEBVYefT5C3Fjcul26HoQw6dcZnmtAQSttTdAlcDWHz6Ru\n"
			"bAuV3uHJWJmE4ISE9TiSOWPDuWpjuCLio2QwYjAdBgNVHQ4EFgQU6nrB8ok+5k+U\n"
			"qjfxD78FmieXAI4wHwYDVR0jBBgwFoAU6nrB8ok+5k+UqjfxD78FmieXAI4wDwYD\n"
			"VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC\n"
			"IDifqCRgAXfpB/zDibBkSIW7kTDtA443+PREbzrolSn1AiEAljUeNmcOiypPlRmZ\n"
			"fysGs2TF0sdOe4owjdxbG0buAJ4=\n"
			"-----END CERTIFICATE-----\n";

const char tls_other_cert[] = "-----BEGIN CERTIFICATE-----\n"
			      "MIIBkDCCATagAwIBAgIUZbZ2E+t7MsIb54pMLQvPCzMNIJkwCgYIKoZIzj0EAwIw\n"
			      "FDESMBAGA1UEAwwJdGhlIG90aGVyMCAXDTI2MTEyMDIxMDIxNFoYDzIxMjYxMDI3\n"
			      "MjEwMjE0WjAUMRIwEAYDVQQDDAl0aGUgb3RoZXIwWTATBgcqhkjOPQIBBggqhkjO\n"
			      "PQMBBwNCAASaQEY2nmQANeNG/Tme5O+Ew+ERT6kmqISvkt24eURu1ycm2WiLsJ5S\n"
			      "nRjkcO6UicfR+rX3bJQN/9nZKUhxOpkNo2QwYjAdBgNVHQ4EFgQUoAMstQBzLk9U\n"
			      "KMNv3d3DOJ4i3akwHwYDVR0jBBgwFoAUoAMstQBzLk9UKMNv3d3DOJ4i3akwDwYD\n"
			      "VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC\n"
			      "IQDa0Grh4WoiMwY6kJag4bFEGlZLwaS6X8XkxZu1+rUChwIgVUgUfHHzUc8mtRNZ\n"
			      "ZMABbV/OPErCcGrC8oYgdXaOTI4=\n"
			      "-----END CERTIFICATE-----\n";

static void write_temporary(char *path, const char *text)
{
	AUTO_CLOSE int fd = mkostemp(path, O_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void run_openssl(const struct tls_server *s, int out)
{
	int null = open("/dev/null", O_RDWR);
	const char *const verify[] = {"-Verify", "1", "-verify_return_error", NULL};
	const char *const old[] = {"-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0", NULL};
	static const char *const none[] = {NULL, NULL, NULL, NULL};
	const char *const *more = s->is_old ? old : s->wants_certificate ? verify : none;

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	/* the arguments end earlier at the NULL */
	execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert",
	       s->cert_file, "-key", s->key_file, "-CAfile", s->cert_file, more[0], more[1],
	       more[2], NULL);
	_exit(127);
}

/* The command chooses the port and prints it. */
void tls_server_start(struct tls_server *s)
{
	char line[256];
	int out[2];

	snprintf(s->cert_file, sizeof(s->cert_file), "/tmp/tls_server_cert_XXXXXX");
	snprintf(s->key_file, sizeof(s->key_file), "/tmp/tls_server_key_XXXXXX");
	write_temporary(s->cert_file, tls_cert);
	write_temporary(s->key_file, tls_key);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0)
		run_openssl(s, out[1]);
	close(out[1]);
	s->out = fdopen(out[0], "r");
	s->port = 0;
	while (s->port == 0 && fgets(line, sizeof(line), s->out)) {
		if (strncmp(line, "ACCEPT ", 7) == 0)
			s->port = (unsigned)strtoul(strrchr(line, ':') + 1, NULL, 10);
	}
	assert_true(s->port > 0);
}

void tls_server_stop(struct tls_server *s)
{
	if (s->pid <= 0)
		return;
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
	fclose(s->out);
	unlink(s->cert_file);
	unlink(s->key_file);
}
