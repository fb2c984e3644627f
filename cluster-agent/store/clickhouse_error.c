/*
 * Sorting exceptions by what to do about them is where data is lost or a log is blocked: rows that
 * are thrown away because of a passing error are gone, and rows that are retried although nobody
 * will ever take them hold up all that follow. So only codes that speak of the content of an insert
 * count against its rows, and an unknown code never does: it waits for a person.
 *
 * Codes with two meanings, told apart by their text:
 *  241  the query's own limit (fewer rows may fit), or that of the user or of the whole server
 *       (wait). "Memory limit (for query)" in old releases, "Query memory limit" in new ones.
 *  252  too many parts in a table (wait for merges), or too many partitions in one insert.
 *
 * The codes that count against rows are about any bytes that a server reads, and not always ours:
 * the connection to another server that ends midway is 32, and the view of somebody else may fail
 * to parse what it makes of a row. Such an insert may also be stored in part, so it is sent again
 * as a whole, with its token.
 */
#include "cluster-agent/store/clickhouse_error.h"

#include <ctype.h>
#include <limits.h>

struct advice {
	int code;
	enum clickhouse_advice advice;
};

/* by code */
static const struct advice advices[] = {
	{6, CLICKHOUSE_REFUSED},     /* CANNOT_PARSE_TEXT */
	{7, CLICKHOUSE_REFUSED},     /* INCORRECT_NUMBER_OF_COLUMNS */
	{16, CLICKHOUSE_SCHEMA},     /* NO_SUCH_COLUMN_IN_TABLE */
	{26, CLICKHOUSE_REFUSED},    /* CANNOT_PARSE_QUOTED_STRING */
	{27, CLICKHOUSE_REFUSED},    /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
	{32, CLICKHOUSE_REFUSED},    /* ATTEMPT_TO_READ_AFTER_EOF */
	{33, CLICKHOUSE_REFUSED},    /* CANNOT_READ_ALL_DATA */
	{38, CLICKHOUSE_REFUSED},    /* CANNOT_PARSE_DATE */
	{41, CLICKHOUSE_REFUSED},    /* CANNOT_PARSE_DATETIME */
	{47, CLICKHOUSE_SCHEMA},     /* UNKNOWN_IDENTIFIER: of a column that is not there yet */
	{60, CLICKHOUSE_SCHEMA},     /* UNKNOWN_TABLE */
	{69, CLICKHOUSE_REFUSED},    /* ARGUMENT_OUT_OF_BOUND */
	{72, CLICKHOUSE_REFUSED},    /* CANNOT_PARSE_NUMBER */
	{74, CLICKHOUSE_ELSEWHERE},  /* CANNOT_READ_FROM_FILE_DESCRIPTOR */
	{75, CLICKHOUSE_ELSEWHERE},  /* CANNOT_WRITE_TO_FILE_DESCRIPTOR: the disk is full */
	{76, CLICKHOUSE_ELSEWHERE},  /* CANNOT_OPEN_FILE */
	{81, CLICKHOUSE_SCHEMA},     /* UNKNOWN_DATABASE */
	{95, CLICKHOUSE_ELSEWHERE},  /* CANNOT_READ_FROM_SOCKET */
	{96, CLICKHOUSE_ELSEWHERE},  /* CANNOT_WRITE_TO_SOCKET */
	{115, CLICKHOUSE_SETTING},   /* UNKNOWN_SETTING */
	{117, CLICKHOUSE_REFUSED},   /* INCORRECT_DATA */
	{128, CLICKHOUSE_REFUSED},   /* TOO_LARGE_ARRAY_SIZE */
	{131, CLICKHOUSE_REFUSED},   /* TOO_LARGE_STRING_SIZE */
	{158, CLICKHOUSE_TOO_LARGE}, /* TOO_MANY_ROWS */
	{159, CLICKHOUSE_BUSY},      /* TIMEOUT_EXCEEDED */
	{164, CLICKHOUSE_DENIED},    /* READONLY, see also clickhouse_advice() */
	{173, CLICKHOUSE_BUSY},      /* CANNOT_ALLOCATE_MEMORY */
	{192, CLICKHOUSE_DENIED},    /* UNKNOWN_USER */
	{193, CLICKHOUSE_DENIED},    /* WRONG_PASSWORD */
	{194, CLICKHOUSE_DENIED},    /* REQUIRED_PASSWORD */
	{195, CLICKHOUSE_DENIED},    /* IP_ADDRESS_NOT_ALLOWED */
	{198, CLICKHOUSE_ELSEWHERE}, /* DNS_ERROR, of a replica's name */
	{201, CLICKHOUSE_BUSY},      /* QUOTA_EXPIRED */
	{202, CLICKHOUSE_ELSEWHERE}, /* TOO_MANY_SIMULTANEOUS_QUERIES */
	{203, CLICKHOUSE_ELSEWHERE}, /* NO_FREE_CONNECTION */
	{209, CLICKHOUSE_ELSEWHERE}, /* SOCKET_TIMEOUT */
	{210, CLICKHOUSE_ELSEWHERE}, /* NETWORK_ERROR */
	{216, CLICKHOUSE_BUSY},      /* QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING */
	{218, CLICKHOUSE_SCHEMA},    /* TABLE_IS_DROPPED */
	{225, CLICKHOUSE_ELSEWHERE}, /* NO_ZOOKEEPER */
	{236, CLICKHOUSE_ELSEWHERE}, /* ABORTED: the server is shutting down */
	{242, CLICKHOUSE_ELSEWHERE}, /* TABLE_IS_READ_ONLY: the replica has lost its session */
	{243, CLICKHOUSE_ELSEWHERE}, /* NOT_ENOUGH_SPACE */
	{244, CLICKHOUSE_ELSEWHERE}, /* UNEXPECTED_ZOOKEEPER_ERROR */
	{254, CLICKHOUSE_ELSEWHERE}, /* NO_ACTIVE_REPLICAS */
	{271, CLICKHOUSE_REFUSED},   /* CANNOT_DECOMPRESS */
	{279, CLICKHOUSE_ELSEWHERE}, /* ALL_CONNECTION_TRIES_FAILED */
	{285, CLICKHOUSE_BUSY},      /* TOO_FEW_LIVE_REPLICAS */
	{286, CLICKHOUSE_BUSY},      /* UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE */
	{289, CLICKHOUSE_ELSEWHERE}, /* REPLICA_IS_NOT_IN_QUORUM */
	{291, CLICKHOUSE_DENIED},    /* DATABASE_ACCESS_DENIED */
	{307, CLICKHOUSE_TOO_LARGE}, /* TOO_MANY_BYTES */
	{319, CLICKHOUSE_ELSEWHERE}, /* UNKNOWN_STATUS_OF_INSERT: the token makes it safe */
	{321, CLICKHOUSE_REFUSED},   /* VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE */
	{349, CLICKHOUSE_REFUSED},   /* CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN */
	{354, CLICKHOUSE_REFUSED},   /* ZLIB_INFLATE_FAILED */
	{364, CLICKHOUSE_BUSY},      /* RECEIVED_ERROR_TOO_MANY_REQUESTS */
	{369, CLICKHOUSE_ELSEWHERE}, /* ALL_REPLICAS_ARE_STALE */
	{394, CLICKHOUSE_BUSY},      /* QUERY_WAS_CANCELLED, by somebody else */
	{396, CLICKHOUSE_TOO_LARGE}, /* TOO_MANY_ROWS_OR_BYTES */
	{407, CLICKHOUSE_REFUSED},   /* DECIMAL_OVERFLOW */
	{425, CLICKHOUSE_BUSY},      /* SYSTEM_ERROR */
	{439, CLICKHOUSE_BUSY},      /* CANNOT_SCHEDULE_TASK: no thread is free */
	{452, CLICKHOUSE_SETTING},   /* SETTING_CONSTRAINT_VIOLATION */
	{469, CLICKHOUSE_REFUSED},   /* VIOLATED_CONSTRAINT */
	{497, CLICKHOUSE_DENIED},    /* ACCESS_DENIED */
	{516, CLICKHOUSE_DENIED},    /* AUTHENTICATION_FAILED */
	{561, CLICKHOUSE_REFUSED},   /* ZSTD_ENCODER_FAILED: decoders have said so, too */
	{562, CLICKHOUSE_REFUSED},   /* ZSTD_DECODER_FAILED */
	{999, CLICKHOUSE_ELSEWHERE}, /* KEEPER_EXCEPTION */
};

static bool contains(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

static bool is_limit_of_query(const char *text, size_t len)
{
	return contains(text, len, "(for query)") || contains(text, len, "Query memory limit");
}

static enum clickhouse_advice advice_of(int code, const char *text, size_t len)
{
	switch (code) {
	case 241:
		return is_limit_of_query(text, len) ? CLICKHOUSE_TOO_LARGE : CLICKHOUSE_BUSY;
	case 252:
		return contains(text, len, "partitions for single INSERT") ? CLICKHOUSE_TOO_LARGE
									   : CLICKHOUSE_BUSY;
	case 164:
		/* "Cannot modify 'x' setting in readonly mode" */
		return contains(text, len, "setting in readonly mode") ? CLICKHOUSE_SETTING
								       : CLICKHOUSE_DENIED;
	default:
		break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++) {
		if (advices[i].code == code)
			return advices[i].advice;
	}
	return CLICKHOUSE_FAULT;
}

enum clickhouse_advice clickhouse_advice(int code, const char *text, size_t len)
{
	enum clickhouse_advice advice = advice_of(code, text, len);

	/* for our own view a missing table is one that the agent creates */
	if (contains(text, len, "pushing to view") && !contains(text, len, "profiling_profiles") &&
	    (advice == CLICKHOUSE_REFUSED || advice == CLICKHOUSE_TOO_LARGE ||
	     advice == CLICKHOUSE_SCHEMA))
		return CLICKHOUSE_FAULT;
	if (advice != CLICKHOUSE_REFUSED && advice != CLICKHOUSE_TOO_LARGE)
		return advice;
	return contains(text, len, "while receiving packet from") ||
			       contains(text, len, "DB::Exception: Received from ")
		       ? CLICKHOUSE_ELSEWHERE
		       : advice;
}

bool clickhouse_is_about_user(int code)
{
	switch (code) {
	case 0: /* something on the way has answered 401 or 403 */
	case 192:
	case 193:
	case 194:
	case 195:
	case 516:
		return true;
	default:
		return false;
	}
}

bool clickhouse_is_overload(int code)
{
	switch (code) {
	case 173: /* CANNOT_ALLOCATE_MEMORY */
	case 201: /* QUOTA_EXPIRED */
	case 216: /* QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING */
	case 241: /* MEMORY_LIMIT_EXCEEDED, of all queries together */
	case 364: /* RECEIVED_ERROR_TOO_MANY_REQUESTS */
	case 439: /* CANNOT_SCHEDULE_TASK */
		return true;
	default:
		return false;
	}
}

/* Reads "Code: N" at the beginning of text. */
static int read_code(const char *text, size_t len)
{
	static const char prefix[] = "Code: ";
	size_t i = sizeof(prefix) - 1;
	int code = 0;

	if (len <= i || memcmp(text, prefix, i) != 0)
		return 0;
	for (; i < len && isdigit((unsigned char)text[i]); i++) {
		if (code > (INT_MAX - 9) / 10)
			return 0;
		code = code * 10 + (text[i] - '0');
	}
	return i < len && (text[i] == '.' || text[i] == ',') ? code : 0;
}

int clickhouse_code(const char *text, size_t len)
{
	while (len > 0) {
		const char *line = memchr(text, '\n', len);
		int code = read_code(text, len);

		if (code > 0 || !line)
			return code;
		len -= (size_t)(line + 1 - text);
		text = line + 1;
	}
	return 0;
}

/* If text ends with word, takes it off. */
static bool take_off(const char *text, size_t *len, const char *word)
{
	size_t n = strlen(word);

	if (*len < n || memcmp(text + *len - n, word, n) != 0)
		return false;
	*len -= n;
	return true;
}

bool clickhouse_find_trailer(const char *answer, size_t len, const char *tag, const char **ret_text,
			     size_t *ret_len)
{
	char first[2 * CLICKHOUSE_TAG_BYTES], last[2 * CLICKHOUSE_TAG_BYTES];
	const char *start;
	size_t end = len;

	if (!tag[0] || strlen(tag) > CLICKHOUSE_TAG_BYTES)
		return false;
	snprintf(first, sizeof(first), "__exception__\r\n%s\r\n", tag);
	snprintf(last, sizeof(last), " %s\r\n__exception__\r\n", tag);
	if (!take_off(answer, &end, last))
		return false;
	start = memmem(answer, end, first, strlen(first));
	if (!start)
		return false;
	start += strlen(first);
	len = (size_t)(answer + end - start);
	/* without the line of the length */
	while (len > 0 && isdigit((unsigned char)start[len - 1]))
		len--;
	while (len > 0 && (start[len - 1] == '\n' || start[len - 1] == '\r'))
		len--;
	*ret_text = start;
	*ret_len = len;
	return true;
}
