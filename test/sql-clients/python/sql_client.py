"""The SQL port as clickhouse-connect sees it, with its defaults and with every compression."""

import datetime
import decimal
import ipaddress
import os
import sys
import uuid

import clickhouse_connect
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

SERVICE = os.environ["SQL_SERVICE"]
TOTAL = int(os.environ["SQL_TOTAL"])

failed = False


def check(name, run, *args):
    """Prints one check; run raises if it is not ok."""
    global failed
    try:
        run(*args)
        print("ok", name, flush=True)
    except Exception as e:  # whatever it is, it belongs in the report
        failed = True
        print(f"not ok {name}: {type(e).__name__} {e}".replace("\n", " "), flush=True)


def same(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, not {want!r}")


def connect(**options):
    return clickhouse_connect.get_client(
        host=os.environ["SQL_HOST"],
        port=int(os.environ["SQL_PORT"]),
        username="default",
        **{"password": os.environ["SQL_KEY"], **options},
    )


# expressions and their values in Python
VALUES = [
    ("toUInt8(8)", 8),
    ("toUInt64(18446744073709551615)", 18446744073709551615),
    ("toInt64(-9223372036854775808)", -9223372036854775808),
    ("toInt128(-128)", -128),
    ("toUInt256(256)", 256),
    ("toFloat32(1.5)", 1.5),
    ("toFloat64(-2.25)", -2.25),
    ("true", True),
    ("'text \\'with\\' λ'", "text 'with' λ"),
    ("toFixedString('abc', 3)", b"abc"),
    ("toLowCardinality('low')", "low"),
    ("CAST(NULL, 'Nullable(String)')", None),
    ("CAST('x', 'LowCardinality(Nullable(String))')", "x"),
    ("CAST(NULL, 'LowCardinality(Nullable(String))')", None),
    ("[[1], [], [2, 3]]", [[1], [], [2, 3]]),
    ("CAST(['a', 'b', 'a'], 'Array(LowCardinality(String))')", ["a", "b", "a"]),
    ("CAST(map('k', 'v'), 'Map(LowCardinality(String), String)')", {"k": "v"}),
    ("tuple('a', toUInt8(1))", ("a", 1)),
    ("CAST(('a', 1), 'Tuple(name String, `a number` UInt8)')", {"name": "a", "a number": 1}),
    ("CAST('b', 'Enum8(\\'a\\' = 1, \\'b\\' = 2)')", "b"),
    ("toDecimal64(-2.25, 4)", decimal.Decimal("-2.25")),
    ("toDecimal128(3.125, 6)", decimal.Decimal("3.125")),
    ("toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')",
     uuid.UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0")),
    ("toIPv4('10.1.2.3')", ipaddress.IPv4Address("10.1.2.3")),
    ("toIPv6('2001:db8::1')", ipaddress.IPv6Address("2001:db8::1")),
    ("toDate('2024-05-06')", datetime.date(2024, 5, 6)),
    ("toDate32('1950-05-06')", datetime.date(1950, 5, 6)),
    ("toDateTime('2024-05-06 07:08:09')", datetime.datetime(2024, 5, 6, 7, 8, 9)),
    ("toDateTime64('2024-05-06 07:08:09.123456', 9)",
     datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)),
]


def types(client):
    columns = ", ".join(f"{sql} AS c{i}" for i, (sql, _) in enumerate(VALUES))
    rows = client.query(f"SELECT {columns} FROM numbers(2)").result_rows
    same(len(rows), 2)
    for row in rows:
        for (sql, want), got in zip(VALUES, row):
            if got != want:
                raise AssertionError(f"{sql} is {got!r}, not {want!r}")


def parameters(client):
    for placeholder in ("{service:String}", "%(service)s"):
        sql = f"SELECT sum(Value) FROM profiling_samples WHERE ServiceName = {placeholder}"
        same(client.query(sql, parameters={"service": SERVICE}).result_rows, [(TOTAL,)])


def large(client):
    result = client.query("SELECT number, toString(number) FROM numbers(100000)")
    same(result.row_count, 100000)
    same(sum(result.result_columns[0]), 99999 * 50000)
    same(result.result_columns[1][-1], "99999")


def stream(client):
    with client.query_row_block_stream("SELECT number FROM numbers(30000)") as blocks:
        same(sum(len(block) for block in blocks), 30000)


def empty(client):
    same(client.query("SELECT number FROM numbers(10) WHERE number > 10").result_rows, [])


def exception(client):
    try:
        client.query("SELECT nothing FROM profiling_samples")
    except DatabaseError as e:
        if "UNKNOWN_IDENTIFIER" not in str(e):
            raise AssertionError(f"not readable: {e}") from e
        return
    raise AssertionError("no error")


def our_tables(client):
    for table in ("samples", "stacks", "profiles"):
        if not client.query(f"SELECT * FROM profiling_{table}").result_rows:
            raise AssertionError(f"no rows of {table}")


def commands(client):
    same(client.command("SELECT 1"), 1)
    same(client.ping(), True)
    same(client.raw_query("SELECT 1", fmt="TSV"), b"1\n")
    same(client.query("SELECT 1", settings={"query_id": "of python"}).query_id, "of python")
    if "profiling_samples" not in client.command("SHOW TABLES").split("\n"):
        raise AssertionError("SHOW TABLES has no profiling_samples")


def wrong_key():
    try:
        connect(password="not the key")
    except (DatabaseError, OperationalError) as e:
        if "516" not in str(e) and "Authentication" not in str(e):
            raise AssertionError(f"not readable: {e}") from e
        return
    raise AssertionError("no error")


for name, options in {
    "defaults": {},
    "no compression": {"compress": False},
    "lz4": {"compress": "lz4"},
    "zstd": {"compress": "zstd"},
    "gzip": {"compress": "gzip"},
    "session": {"session_id": "a session", "database": "coroot"},
}.items():
    client = connect(**options)
    for run in (types, parameters, large, stream, empty, exception, our_tables, commands):
        check(f"{name}, {run.__name__.replace('_', ' ')}", run, client)
    client.close()
check("a wrong key", wrong_key)
sys.exit(failed)
