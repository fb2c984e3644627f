// ClickHouse's client for Node.js, with its defaults and with what its documentation offers.
// node_client.js FOLDER: where fetch-node-client.sh has put it.
"use strict";

const assert = require("node:assert");
const { createRequire } = require("node:module");
const path = require("node:path");
const { checks } = require("../checks");
const { createClient, ClickHouseLogLevel } = createRequire(path.join(process.argv[2], "/"))(
  "@clickhouse/client",
);

const { SQL_HOST, SQL_PORT, SQL_KEY, SQL_SERVICE, SQL_TOTAL } = process.env;
const ENDLESS = "SELECT count() FROM numbers(1000000000000) WHERE cityHash64(number) = 1";

const connect = (options = {}) =>
  createClient({
    url: `http://${SQL_HOST}:${SQL_PORT}`,
    username: "default",
    password: SQL_KEY,
    log: { level: ClickHouseLogLevel.OFF },
    ...options,
  });

const rows = async (client, query, options = {}) =>
  (await client.query({ query, format: "JSONEachRow", ...options })).json();

// The query must fail with an exception of this code and name.
const fails = (promise, code, type) =>
  assert.rejects(promise, (e) => e.code === String(code) && e.type === type);

async function readAll(client) {
  let n = 0;
  let sum = 0;
  const answer = await client.query({
    query: "SELECT number FROM numbers(300000)",
    format: "JSONEachRow",
  });
  for await (const part of answer.stream()) {
    n += part.length;
    for (const row of part) sum += row.json().number;
  }
  assert.deepStrictEqual([n, sum], [300000, 44999850000]);
}

async function allTypes(client) {
  const [row] = await rows(
    client,
    `SELECT toUInt64(18446744073709551615) u, toDecimal64(1.5, 3) d, 'x\\'y' s,
      CAST(NULL, 'Nullable(String)') n, toDate('2024-02-29') dt,
      toDateTime64('2024-02-29 12:34:56.789', 9, 'UTC') ts, ['a'] a, map('k', 1) m, true b`,
    { clickhouse_settings: { output_format_json_quote_64bit_integers: 1 } },
  );
  assert.deepStrictEqual(row, {
    u: "18446744073709551615",
    d: 1.5,
    s: "x'y",
    n: null,
    dt: "2024-02-29",
    ts: "2024-02-29 12:34:56.789000000",
    a: ["a"],
    m: { k: 1 },
    b: true,
  });
}

async function parameters(client) {
  const values = {
    s: "it's \\ \n\t\"& x=λ",
    u: "18446744073709551615",
    a: ["a'b", "\\", "\t", "]"],
    m: { "k'": "v,", "": "λ" },
    n: null,
    b: true,
  };
  const [row] = await rows(
    client,
    `SELECT {s:String} s, {u:UInt64} u, {a:Array(String)} a, {m:Map(String, String)} m,
      {n:Nullable(String)} n, {b:Bool} b`,
    {
      query_params: values,
      clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
    },
  );
  assert.deepStrictEqual(row, values);
}

async function formats(client) {
  const query = "SELECT number AS n FROM numbers(2)";
  const text = async (format) => (await client.query({ query, format })).text();
  assert.strictEqual(
    await text("JSONCompactEachRowWithNamesAndTypes"),
    '["n"]\n["UInt64"]\n[0]\n[1]\n',
  );
  assert.strictEqual(await text("CSVWithNames"), '"n"\n0\n1\n');
  assert.strictEqual((await text("Parquet")).slice(0, 4), "PAR1");
  const progress = (await text("JSONEachRowWithProgress"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepStrictEqual(
    progress.filter((p) => p.row).map((p) => p.row.n),
    [0, 1],
  );
  assert.ok(progress.some((p) => p.progress));
}

async function summary(client) {
  const answer = await client.exec({
    query: "SELECT count() FROM numbers(1000000) WHERE number % 7 = 1 FORMAT TSV",
    query_id: "of-the-client",
  });
  let text = "";
  for await (const part of answer.stream) text += part;
  assert.strictEqual(text, "142857\n");
  assert.strictEqual(answer.query_id, "of-the-client");
  assert.strictEqual(answer.summary.read_rows, "1000000");
}

async function left(client) {
  const controller = new AbortController();
  const answer = rows(client, ENDLESS, { abort_signal: controller.signal });
  setTimeout(() => controller.abort(), 200);
  await assert.rejects(answer, /aborted/);
  assert.deepStrictEqual(await rows(client, "SELECT 1 AS x"), [{ x: 1 }]);
}

async function withClient(name, check, client) {
  await check(`${name}, ping`, async () => {
    assert.deepStrictEqual(await client.ping(), { success: true });
    assert.deepStrictEqual(await client.ping({ select: true }), { success: true });
  });
  await check(`${name}, what was uploaded`, async () => {
    const [row] = await rows(
      client,
      `SELECT toString(sum(Value)) total, toUInt32(count()) n FROM coroot.profiling_samples
        WHERE ServiceName = {service:String}`,
      { query_params: { service: SQL_SERVICE } },
    );
    assert.deepStrictEqual(row, { total: SQL_TOTAL, n: 50 });
  });
  await check(`${name}, every column of every table`, async () => {
    for (const table of ["samples", "stacks", "profiles", "quality"]) {
      assert.ok((await rows(client, `SELECT * FROM coroot.profiling_${table}`)).length > 0);
    }
  });
  await check(`${name}, values of all types`, () => allTypes(client));
  await check(`${name}, parameters`, () => parameters(client));
  await check(`${name}, formats`, () => formats(client));
  await check(`${name}, a large answer`, () => readAll(client));
  await check(`${name}, a syntax error`, () =>
    fails(rows(client, "SELECT (1"), 62, "SYNTAX_ERROR"),
  );
  await check(`${name}, an exception in mid-answer`, () =>
    fails(
      rows(client, "SELECT throwIf(number = 1500000), number FROM numbers(2000000)"),
      395,
      "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO",
    ),
  );
  await check(`${name}, nothing is written`, async () => {
    const statements = [
      () => client.command({ query: "CREATE TABLE x (a Int8) ENGINE = Memory" }),
      () =>
        client.insert({
          table: "profiling_profiles",
          values: [{ Type: "x" }],
          format: "JSONEachRow",
        }),
    ];
    for (const statement of statements) {
      await assert.rejects(statement(), (e) => ["READONLY", "ACCESS_DENIED"].includes(e.type));
    }
  });
  await check(`${name}, summary`, () => summary(client));
  await check(`${name}, a query that is left`, () => left(client));
  await client.close();
}

(async () => {
  const { check, end } = checks();
  await withClient("defaults", check, connect());
  await withClient(
    "options",
    check,
    connect({
      database: "coroot",
      application: "test",
      session_id: "one",
      role: "NONE",
      compression: { request: true, response: true },
      clickhouse_settings: {
        max_threads: 1,
        wait_end_of_query: 1,
        date_time_input_format: "best_effort",
      },
    }),
  );
  await check("a wrong key", async () => {
    const client = connect({ password: "wrong" });
    await fails(rows(client, "SELECT 1"), 516, "AUTHENTICATION_FAILED");
    await client.close();
  });
  await check("a role that does not exist", async () => {
    const client = connect();
    await fails(rows(client, "SELECT 1", { role: "admin" }), 511, "UNKNOWN_ROLE");
    await client.close();
  });
  end();
})();
