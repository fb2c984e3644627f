/*
 * Where a program is built its symbols are at hand, and where it runs they are often not: it is
 * stripped, or its image has no debug files. So what is sent is a table of names, not the file: it
 * is a tenth as large, and the receiver need not read strangers' ELF files. The receiver knows a
 * table by its build id, so that sending it again changes nothing.
 */
#include "node-agent/symbols_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <zstd.h>

#include "common/access/sent_key.h"
#include "common/data/buf.h"
#include "common/http/http.h"
#include "common/limits.h"
#include "common/symbols/symbol_export.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/system/loop.h"
#include "common/text/utf8.h"

#define ARGUMENTS                                                                   \
	"upload [--collector-endpoint URL] [--api-key-file FILE] [--ca-file FILE] " \
	"[--insecure-skip-verify] FILE..."
#define PATH "/v1/symbols"
#define IDLE_TIMEOUT_NS (60 * NS_PER_S)
#define ANSWER_MAX_BYTES 4096u
#define TRIES 4u
#define MAX_PAUSE_NS (30 * NS_PER_S)
#define COMPRESSION_LEVEL 9

struct arguments {
	const char *endpoint;
	const char *key;
	const char *key_file;
	const char *ca_file;
	bool insecure;
	char **files; /* up to NULL */
};

struct sender {
	struct loop *loop;
	struct http_client *client;
	struct sent_key *key;
	struct loop_source *timer;
	char *url;
	/* of the last request */
	int error, status;
	uint64_t retry_after_ns;
	char answer[256];
};

/* ---- arguments ---- */

/* Sets an option that has a value. Returns whether name is one. */
static bool set_value(struct arguments *a, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **to;
	} options[] = {
		{"--collector-endpoint", &a->endpoint},
		{"--api-key-file", &a->key_file},
		{"--ca-file", &a->ca_file},
	};
	size_t len = strcspn(name, "=");

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (strlen(options[i].name) != len || strncmp(options[i].name, name, len) != 0)
			continue;
		*options[i].to = name[len] ? name + len + 1 : value;
		return true;
	}
	return false;
}

static int parse(char **args, struct arguments *a, struct err *err)
{
	*a = (struct arguments){
		.endpoint = getenv("COLLECTOR_ENDPOINT"),
		.key = getenv("API_KEY"),
		.key_file = getenv("API_KEY_FILE"),
		.ca_file = getenv("CA_FILE"),
	};
	if (!args[0] || strcmp(args[0], "upload") != 0)
		return err_set(err, -EINVAL, "usage: symbols " ARGUMENTS);
	for (args++; *args && strncmp(*args, "--", 2) == 0; args++) {
		if (strcmp(*args, "--") == 0) {
			args++;
			break;
		}
		if (strcmp(*args, "--insecure-skip-verify") == 0) {
			a->insecure = true;
			continue;
		}
		if (!set_value(a, *args, args[1]))
			return err_set(err, -EINVAL, "unknown option \"%s\"; usage: symbols %s",
				       *args, ARGUMENTS);
		if (!strchr(*args, '=') && !*++args)
			return err_set(err, -EINVAL, "%s: the value is missing", args[-1]);
	}
	a->files = args;
	if (a->key_file)
		a->key = NULL;
	if (!a->endpoint)
		return err_set(err, -EINVAL,
			       "--collector-endpoint is missing: nowhere to send symbols to");
	return *args ? 0 : err_set(err, -EINVAL, "no file is given; usage: symbols " ARGUMENTS);
}

/* ---- sending ---- */

static void sender_fini(struct sender *s)
{
	loop_remove(s->timer);
	http_client_free(s->client);
	sent_key_free(s->key);
	loop_free(s->loop);
	free(s->url);
}

static void stop(void *ctx)
{
	struct sender *s = ctx;

	loop_stop(s->loop);
}

static int open_sender(struct sender *s, const struct arguments *a, struct err *err)
{
	size_t len = strlen(a->endpoint);
	const struct http_client_config client = {
		.ca_file = a->ca_file,
		.insecure_skip_verify = a->insecure,
		.user_agent = "coroot-node-agent symbols",
	};
	int r;

	while (len > 0 && a->endpoint[len - 1] == '/')
		len--;
	if (asprintf(&s->url, "%.*s" PATH, (int)len, a->endpoint) < 0) {
		s->url = NULL;
		return -ENOMEM;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	r = sent_key_new(&s->key, a->key, a->key_file, err);
	if (r == 0)
		r = loop_new(&s->loop);
	if (r == 0)
		r = loop_add_timer(s->loop, stop, s, &s->timer);
	return r == 0 ? http_client_new(&s->client, s->loop, &client) : r;
}

static void on_done(void *ctx, const struct http_result *result)
{
	struct sender *s = ctx;
	const char *text = result->error < 0 ? result->msg : result->body;
	size_t len = result->error < 0 ? strlen(text ?: "") : result->body_len;

	s->error = result->error;
	s->status = result->status;
	s->retry_after_ns = result->retry_after_ns;
	if (!text)
		len = 0;
	if (len > sizeof(s->answer) - 1)
		len = sizeof(s->answer) - 1;
	if (len > 0)
		memcpy(s->answer, text, len);
	while (len > 0 && s->answer[len - 1] == '\n')
		len--;
	s->answer[utf8_make_printable(s->answer, len)] = '\0';
	loop_stop(s->loop);
}

static int send_once(struct sender *s, const struct buf *body, struct err *err)
{
	unsigned no = 0;
	const char *headers[] = {"Content-Type: application/octet-stream", "Content-Encoding: zstd",
				 sent_key_header(s->key, &no), NULL};
	const struct http_request request = {
		.method = "POST",
		.url = s->url,
		.headers = headers,
		.body = body->data,
		.body_len = body->len,
		.idle_timeout_ns = IDLE_TIMEOUT_NS,
		.max_response_bytes = ANSWER_MAX_BYTES,
	};
	int r = http_send(s->client, &request, on_done, s);

	if (r == -EINVAL)
		return err_set(err, r, "--collector-endpoint: \"%s\" is not a URL", s->url);
	if (r == 0)
		r = loop_run(s->loop);
	if (r == 0 && s->status == 401)
		sent_key_refused(s->key, no);
	return r;
}

static bool is_worth_a_try(const struct sender *s)
{
	return s->error < 0 ? s->error != -EKEYREJECTED
			    : s->status == 429 || s->status >= 500 || s->status == 401;
}

static int send_table(struct sender *s, const struct buf *body, struct err *err)
{
	uint64_t pause_ns = NS_PER_S;

	for (unsigned n = 1;; n++) {
		int r = send_once(s, body, err);

		if (r < 0)
			return r;
		if (n == TRIES || !is_worth_a_try(s) ||
		    (s->status == 401 && !sent_key_may_change(s->key)))
			break;
		if (s->retry_after_ns > pause_ns)
			pause_ns = s->retry_after_ns;
		loop_set_timer(s->timer, pause_ns < MAX_PAUSE_NS ? pause_ns : MAX_PAUSE_NS);
		r = loop_run(s->loop);
		if (r < 0)
			return r;
		pause_ns *= 2;
	}
	if (s->error < 0)
		return err_set(err, s->error, "%s: %s", s->url, s->answer);
	if (s->status == 404 || s->status == 405)
		return err_set(err, -ENOENT, "%s: HTTP %d: the receiver takes no symbols", s->url,
			       s->status);
	if (s->status != 200)
		return err_set(err, -EIO, "%s: HTTP %d: %s", s->url, s->status, s->answer);
	return 0;
}

/* ---- files ---- */

static int pack(const struct buf *table, struct buf *out, struct err *err)
{
	size_t room = ZSTD_compressBound(table->len), n;
	int r = buf_reserve(out, room);

	if (r < 0)
		return r;
	n = ZSTD_compress(out->data, room, table->data, table->len, COMPRESSION_LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	out->len = n;
	if (n > LIMIT_UPLOAD_BYTES)
		return err_set(err, -EFBIG,
			       "its symbols are more than %llu MiB, which no receiver takes",
			       (unsigned long long)(LIMIT_UPLOAD_BYTES / MIB));
	return 0;
}

static int read_symbols(const char *path, struct buf *packed, struct symbol_export *ret,
			struct err *err)
{
	CLEANUP(buf_fini) struct buf table;
	struct byte_source src;
	struct stat st;
	AUTO_CLOSE int fd = -1;
	int r;

	buf_init(&table, SYMBOL_FILE_MAX_BYTES);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "not a file");
	byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
	r = symbol_export(&src, &table, ret, err);
	return r == 0 ? pack(&table, packed, err) : r;
}

static int upload(struct sender *s, const char *path, struct err *err)
{
	struct symbol_export made = {.n_functions = 0};
	CLEANUP(buf_fini) struct buf packed;
	int r;

	buf_init(&packed, 2 * SYMBOL_FILE_MAX_BYTES);
	r = read_symbols(path, &packed, &made, err);
	if (r == 0)
		r = send_table(s, &packed, err);
	if (r == 0)
		printf("%s: %s (%u functions, %zu bytes): %s\n", path, made.build_id,
		       made.n_functions, packed.len, s->answer);
	return r;
}

static int run(char **args, struct err *err)
{
	CLEANUP(sender_fini) struct sender s = {.status = 0};
	struct arguments a;
	size_t n_failed = 0, n_files = 0;
	int r = parse(args, &a, err);

	if (r == 0)
		r = open_sender(&s, &a, err);
	if (r < 0)
		return r;
	for (char **file = a.files; file && *file; file++) {
		struct err why = {.msg = ""};

		n_files++;
		r = upload(&s, *file, &why);
		if (r == 0)
			continue;
		n_failed++;
		fprintf(stderr, "%s: %s\n", *file, why.msg[0] ? why.msg : strerror(-r));
	}
	if (n_failed > 0)
		return err_set(err, -EIO, "%zu of %zu files not uploaded", n_failed, n_files);
	return 0;
}

const struct agent_command symbols_command = {
	.name = "symbols",
	.arguments = ARGUMENTS,
	.help = "send the names of functions of programs, libraries and debug files to the "
		"cluster agent, which shows them where profiles have none",
	.run = run,
};
