// Altinity's plugin for Grafana (vertamedia-clickhouse-datasource): the requests that it sends, in
// the forms that its settings offer, from the page through Grafana's proxy and from its backend.
"use strict";

const assert = require("node:assert");
const { checks } = require("../checks");

const { SQL_HOST, SQL_PORT, SQL_KEY, SQL_SERVICE, SQL_TOTAL } = process.env;
const url = `http://${SQL_HOST}:${SQL_PORT}`;
const basic = `Basic ${Buffer.from(`default:${SQL_KEY}`).toString("base64")}`;

// The plugin appends the format to every query.
const forms = {
  "GET, basic authentication": (sql) =>
    fetch(`${url}/?query=${encodeURIComponent(`${sql} FORMAT JSON`)}`, {
      headers: { Authorization: basic },
    }),
  "GET, compression, CORS and a database": (sql) =>
    fetch(
      `${url}/?query=${encodeURIComponent(`${sql} FORMAT JSON`)}` +
        "&database=default&enable_http_compression=1&add_http_cors_header=1",
      { headers: { Authorization: basic, "Accept-Encoding": "gzip" } },
    ),
  "POST, basic authentication": (sql) =>
    fetch(`${url}/?output_format_json_quote_64bit_integers=1`, {
      method: "POST",
      body: `${sql} FORMAT JSON`,
      headers: { Authorization: basic },
    }),
  "POST, key in a header": (sql) =>
    fetch(url, {
      method: "POST",
      body: `${sql} FORMAT JSON`,
      headers: { "X-ClickHouse-User": "default", "X-ClickHouse-Key": SQL_KEY },
    }),
};

async function ask(sql, form = forms["POST, key in a header"]) {
  const answer = await form(sql);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
  return JSON.parse(text);
}
const names = async (sql) => (await ask(sql)).data.map((row) => row.name);

// What the editor of queries asks to fill its pickers.
async function pickers() {
  const of = "FROM system.columns WHERE database = 'coroot' AND table = 'profiling_samples' AND";
  assert.ok((await names("SELECT name FROM system.databases ORDER BY name")).includes("coroot"));
  assert.ok(
    (
      await names("SELECT name FROM system.tables WHERE database = 'coroot' ORDER BY name")
    ).includes("profiling_samples"),
  );
  assert.deepStrictEqual(
    await names(
      `SELECT name ${of} type IN ('Date','Date32','Nullable(Date)','Nullable(Date32)') ` +
        "ORDER BY name UNION ALL SELECT ' ' AS name",
    ),
    [" "],
  );
  assert.deepStrictEqual(
    await names(
      `SELECT name ${of} (substring(type,1,10) = 'DateTime64' OR ` +
        "substring(type,10,10) = 'DateTime64')ORDER BY name",
    ),
    ["End", "Start"],
  );
  assert.deepStrictEqual(await names(`SELECT name ${of} type = 'UInt32' ORDER BY name`), []);
  assert.deepStrictEqual(await names(`SELECT name ${of} type LIKE '%UInt64%'ORDER BY name`), [
    "StackHash",
  ]);
  const columns = await ask(
    "SELECT name text, type value FROM system.columns " +
      "WHERE database = 'coroot' AND table = 'profiling_samples'",
  );
  assert.strictEqual(columns.rows, 7);
}

// Names that the editor completes, all in one query.
const COMPLETION = `
SELECT DISTINCT arrayJoin(extractAll(name, '[\\\\w_]{2,}')) AS completion, color FROM (
  SELECT name, 'identifier' AS color FROM system.functions UNION ALL
  SELECT name, 'keyword' AS color FROM system.table_engines UNION ALL
  SELECT name, 'keyword' AS color FROM system.formats UNION ALL
  SELECT name, 'identifier' AS color FROM system.table_functions UNION ALL
  SELECT name, 'identifier' AS color FROM system.data_type_families UNION ALL
  SELECT name, 'identifier' AS color FROM system.merge_tree_settings UNION ALL
  SELECT name, 'identifier' AS color FROM system.settings UNION ALL
  SELECT cluster, 'string' AS color FROM system.clusters UNION ALL
  SELECT macro, 'string' AS color FROM system.macros UNION ALL
  SELECT policy_name, 'string' AS color FROM system.storage_policies UNION ALL
  SELECT concat(func.name, comb.name), 'identifier' AS color FROM system.functions AS func
    CROSS JOIN system.aggregate_function_combinators AS comb WHERE is_aggregate UNION ALL
  SELECT name, 'identifier' AS color FROM system.databases UNION ALL
  SELECT DISTINCT name, 'identifier' AS color FROM system.tables UNION ALL
  SELECT DISTINCT name, 'identifier' AS color FROM system.dictionaries UNION ALL
  SELECT DISTINCT name, 'identifier' AS color FROM system.columns
) WHERE notEmpty(completion) LIMIT 10000`;

async function adHocFilters() {
  const keys = await ask(
    "SELECT database, table, name, type FROM system.columns " +
      "WHERE database NOT IN ('system','INFORMATION_SCHEMA') ORDER BY database, table",
  );
  assert.ok(keys.data.some((k) => k.table === "profiling_samples" && k.name === "ServiceName"));
  const values = await ask(
    "SELECT DISTINCT ServiceName AS value FROM coroot.profiling_samples LIMIT 300",
  );
  assert.ok(values.data.some((v) => v.value === SQL_SERVICE));
  const types = await ask(
    "SELECT name, type FROM system.columns " +
      "WHERE database = 'coroot' AND table = 'profiling_samples'",
  );
  assert.strictEqual(types.data.find((t) => t.name === "Start").type, "DateTime64(9)");
}

// A panel: the macros $timeSeries and $timeFilter as the plugin expands them.
async function timeSeries() {
  const now = Math.floor(Date.now() / 1000);
  const answer = await ask(
    'SELECT (intDiv(toFloat64("Start") * 1000, (60 * 1000)) * (60 * 1000)) as t, sum(Value) AS v ' +
      'FROM coroot.profiling_samples WHERE "Start" >= toDateTime64(' +
      `${(now - 3600) * 1000}/1000, 3) AND "Start" <= toDateTime64(${(now + 60) * 1000}/1000, 3) ` +
      `AND ServiceName IN ('${SQL_SERVICE}') GROUP BY t ORDER BY t`,
  );
  assert.deepStrictEqual(
    answer.meta.map((m) => m.name),
    ["t", "v"],
  );
  assert.strictEqual(
    answer.data.reduce((sum, row) => sum + Number(row.v), 0),
    Number(SQL_TOTAL),
  );
}

(async () => {
  const { check, end } = checks();
  for (const [name, form] of Object.entries(forms)) {
    await check(name, async () => {
      const { data } = await ask("SELECT 1 AS one", form);
      assert.deepStrictEqual(data, [{ one: 1 }]);
    });
  }
  await check("pickers", pickers);
  await check("completion", async () => {
    const { data } = await ask(COMPLETION);
    const found = new Set(data.map((row) => row.completion));
    for (const name of ["profiling_samples", "StackHash", "toDateTime64", "JSONEachRow", "coroot"])
      assert.ok(found.has(name), `no ${name}`);
  });
  await check("ad hoc filters", adHocFilters);
  await check("a time series", timeSeries);
  await check("time zone", async () => {
    const { data } = await ask("SELECT timezone() AS timezone");
    assert.ok(data[0].timezone);
  });
  await check("an error is told", async () => {
    await assert.rejects(
      ask("SELECT nothing FROM coroot.profiling_samples"),
      /^Error: 404 Code: 47\. DB::Exception: /,
    );
  });
  await check("no key", async () => {
    const answer = await fetch(`${url}/?query=SELECT%201`);
    assert.match(await answer.text(), /^Code: 516\. .*\(AUTHENTICATION_FAILED\)/);
    assert.strictEqual(answer.headers.get("X-ClickHouse-Exception-Code"), "516");
  });
  end();
})();
