import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * ClickHouse's JDBC driver, with its defaults and as DBeaver and Metabase use it. The system
 * property clickhouse.jdbc.v1 chooses its first implementation.
 */
public final class Client {
    private static final String TABLES =
            "profiling_functions profiling_notes profiling_profiles profiling_quality "
                    + "profiling_samples profiling_stacks";
    /* the agent sums functions some time after an upload, and nobody has written a note */
    private static final String MAYBE_EMPTY = "profiling_functions profiling_notes";

    private final Checks c = new Checks();
    private final String service = System.getenv("SQL_SERVICE");
    private final long total = Long.parseLong(System.getenv("SQL_TOTAL"));
    private final boolean first = Boolean.getBoolean("clickhouse.jdbc.v1");

    public static void main(String[] args) throws Exception {
        Client client = new Client();
        try (Connection db = open(System.getenv("SQL_KEY"), Map.of())) {
            client.readsMetadata(db.getMetaData());
            client.readsProfiles(db);
            client.readsAllTypes(db);
            client.bindsParameters(db);
            client.getsExceptions(db);
            client.readsMuch(db);
            client.cancels(db);
        }
        client.worksForDBeaver();
        client.worksForMetabase();
        client.needsTheKey();
        System.exit(client.c.failed ? 1 : 0);
    }

    private static Connection open(String key, Map<String, String> properties) throws SQLException {
        Properties p = new Properties();
        p.putAll(properties);
        p.put("user", "default");
        p.put("password", key);
        return DriverManager.getConnection(
                "jdbc:clickhouse://" + System.getenv("SQL_HOST") + ":" + System.getenv("SQL_PORT"),
                p);
    }

    private void readsMetadata(DatabaseMetaData m) {
        String place = first ? "TABLE_CAT" : "TABLE_SCHEM";
        String catalog = first ? "coroot" : null, schema = first ? null : "coroot";
        c.check("the server's version", () -> {
            Checks.is(m.getDatabaseProductName(), "ClickHouse");
            Checks.is(m.getDatabaseMajorVersion() > 20, true);
        });
        c.check("databases",
                ()
                        -> Checks.has(
                                Checks.column(first ? m.getCatalogs() : m.getSchemas(), place),
                                "coroot"));
        c.check("tables", () -> {
            List<String> got = new ArrayList<>(Checks.column(
                    m.getTables(catalog, schema, "profiling%", new String[] {"TABLE"}),
                    "TABLE_NAME"));
            got.sort(null);
            Checks.is(String.join(" ", got), TABLES);
        });
        c.check("columns", () -> {
            try (ResultSet r = m.getColumns(catalog, schema, "profiling_samples", "%")) {
                List<String> got = new ArrayList<>();
                while (r.next())
                    got.add(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"));
                Checks.is(String.join(", ", got),
                        "ServiceName LowCardinality(String), Type LowCardinality(String), "
                                + "Start DateTime64(9), "
                                + "End DateTime64(9), Labels Map(LowCardinality(String), String), "
                                + "StackHash UInt64, Value Int64");
            }
        });
        c.check("all tables and columns", () -> {
            Checks.drain(m.getTables(null, null, "%", null));
            Checks.drain(m.getColumns(null, null, "%", "%"));
        });
        c.check("keys and indexes", () -> {
            Checks.drain(m.getPrimaryKeys(catalog, schema, "profiling_samples"));
            Checks.drain(m.getIndexInfo(catalog, schema, "profiling_samples", false, true));
            Checks.drain(m.getImportedKeys(catalog, schema, "profiling_samples"));
        });
        c.check("types", () -> Checks.has(Checks.column(m.getTypeInfo(), "TYPE_NAME"), "UInt64"));
        c.check("functions",
                ()
                        -> Checks.has(
                                Checks.column(m.getFunctions(null, null, "%"), "FUNCTION_NAME"),
                                "toDateTime"));
        c.check("all that is left of metadata", () -> {
            Checks.drain(m.getTableTypes());
            Checks.drain(m.getFunctionColumns(null, null, "%", "%"));
            Checks.drain(m.getProcedures(null, null, "%"));
            Checks.drain(m.getClientInfoProperties());
            Checks.drain(m.getUDTs(null, null, "%", null));
            m.getSQLKeywords();
            m.getStringFunctions();
        });
    }

    private void readsProfiles(Connection db) {
        c.check("what was uploaded", () -> {
            try (PreparedStatement s = db.prepareStatement(
                         "SELECT sum(Value), count() FROM coroot.profiling_samples "
                         + "WHERE ServiceName = ?")) {
                s.setString(1, service);
                try (ResultSet r = s.executeQuery()) {
                    Checks.is(r.next(), true);
                    Checks.is(r.getLong(1), total);
                    Checks.is(r.getInt(2), 50);
                    Checks.is(r.next(), false);
                }
            }
        });
        c.check("a stack", () -> {
            try (PreparedStatement s =
                            db.prepareStatement("SELECT Stack FROM coroot.profiling_stacks "
                                    + "WHERE ServiceName = ? AND has(Stack, 'leaf 7 :0')")) {
                s.setString(1, service);
                try (ResultSet r = s.executeQuery()) {
                    Checks.is(r.next(), true);
                    Object[] frames = (Object[]) r.getArray(1).getArray();
                    Checks.is(frames[1], "work \"it's\" λ :0");
                }
            }
        });
        c.check("every column of every table", () -> {
            for (String table : TABLES.split(" ")) {
                try (Statement s = db.createStatement()) {
                    int n = Checks.drain(s.executeQuery("SELECT * FROM coroot." + table));
                    Checks.is(n > 0 || MAYBE_EMPTY.contains(table), true);
                }
            }
        });
    }

    private void readsAllTypes(Connection db) {
        c.check("values of all types", () -> {
            try (Statement s = db.createStatement();
                    ResultSet r = s.executeQuery("SELECT toUInt64(18446744073709551615) u, "
                            + "toInt64(-9223372036854775808) i, "
                            + "toDecimal64(1.5, 3) d, toFloat64(0.5) f, 'x\\'y' s, "
                            + "toLowCardinality('z') lc, "
                            + "CAST(NULL, 'Nullable(String)') n, "
                            + "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') uu, "
                            + "toDate('2024-02-29') dt, "
                            + "toDateTime64('2024-02-29 12:34:56.789', 9, 'UTC') ts, "
                            + "['a', 'b'] a, map('k', toUInt64(1)) m, true b")) {
                Checks.is(r.next(), true);
                Checks.is(
                        r.getObject("u", BigInteger.class), new BigInteger("18446744073709551615"));
                Checks.is(r.getLong("i"), Long.MIN_VALUE);
                Checks.is(r.getBigDecimal("d").compareTo(new BigDecimal("1.5")), 0);
                Checks.is(r.getDouble("f"), 0.5);
                Checks.is(r.getString("s"), "x'y");
                Checks.is(r.getString("lc"), "z");
                Checks.is(r.getString("n"), null);
                Checks.is(r.getObject("uu").toString(), "61f0c404-5cb3-11e7-907b-a6006ad3dba0");
                Checks.is(r.getDate("dt").toString(), "2024-02-29");
                Checks.is(r.getTimestamp("ts").getTime(), 1709210096789L);
                Checks.is(((Object[]) r.getArray("a").getArray())[1], "b");
                Checks.is(((Map<?, ?>) r.getObject("m")).get("k").toString(), "1");
                Checks.is(r.getBoolean("b"), true);
                Checks.has(Checks.names(r.getMetaData()), "ts DateTime64(9, 'UTC')");
            }
        });
    }

    private void bindsParameters(Connection db) {
        c.check("parameters", () -> {
            try (PreparedStatement s = db.prepareStatement(
                         "SELECT ? a, ? b, ? c, count() d FROM coroot.profiling_samples "
                         + "WHERE ServiceName IN ?")) {
                s.setString(1, "it's \\ \n\t\"λ?");
                s.setLong(2, -7);
                s.setString(3, null);
                s.setArray(4, db.createArrayOf("String", new String[] {service, "b'"}));
                try (ResultSet r = s.executeQuery()) {
                    Checks.is(r.next(), true);
                    Checks.is(r.getString(1), "it's \\ \n\t\"λ?");
                    Checks.is(r.getLong(2), -7L);
                    Checks.is(r.getString(3), null);
                    Checks.is(r.getInt(4), 50);
                }
            }
        });
    }

    private void getsExceptions(Connection db) throws SQLException {
        try (Statement s = db.createStatement()) {
            c.check("a syntax error",
                    () -> Checks.fails(s, "SELECT nonsense FROM", 62, "SYNTAX_ERROR"));
            c.check("an unknown table",
                    () -> Checks.fails(s, "SELECT 1 FROM coroot.nothing", 60, "UNKNOWN_TABLE"));
            c.check("an exception in mid-answer",
                    ()
                            -> Checks.fails(s,
                                    "SELECT throwIf(number = 1500000), number "
                                            + "FROM numbers(2000000)",
                                    395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"));
            c.check("nothing is written", () -> {
                try {
                    s.executeUpdate(
                            "INSERT INTO coroot.profiling_profiles (ServiceName) VALUES ('x')");
                } catch (SQLException e) {
                    Checks.is(e.getErrorCode() == 164 || e.getErrorCode() == 497, true);
                    return;
                }
                throw new AssertionError("no exception");
            });
            c.check("a query after exceptions",
                    () -> Checks.is(Checks.drain(s.executeQuery("SELECT 1")), 1));
        }
    }

    private void readsMuch(Connection db) {
        c.check("a large answer", () -> {
            try (Statement s = db.createStatement();
                    ResultSet r = s.executeQuery(
                            "SELECT number, toString(number) FROM numbers(500000)")) {
                long sum = 0;
                while (r.next()) {
                    sum += r.getLong(1);
                    Checks.is(r.getString(2), r.getString(1));
                }
                Checks.is(sum, 124999750000L);
            }
        });
        c.check("a limit of rows", () -> {
            try (Statement s = db.createStatement()) {
                s.setMaxRows(5);
                if (first) /* asks the server to fail beyond the limit, which DBeaver knows */
                    Checks.fails(
                            s, "SELECT number FROM numbers(100)", 396, "TOO_MANY_ROWS_OR_BYTES");
                else
                    Checks.is(Checks.drain(s.executeQuery("SELECT number FROM numbers(100)")), 5);
            }
        });
    }

    private void cancels(Connection db) {
        c.check("a cancelled query ends", () -> {
            try (Statement s = db.createStatement()) {
                AtomicBoolean ended = new AtomicBoolean();
                Thread canceller = new Thread(() -> {
                    try {
                        while (!ended.get()) {
                            Thread.sleep(50);
                            s.cancel();
                        }
                    } catch (InterruptedException | SQLException e) {
                        System.out.println("cancel: " + e);
                    }
                });
                canceller.start();
                try {
                    Checks.fails(s,
                            "SELECT count() FROM numbers(1000000000000) "
                                    + "WHERE cityHash64(number) = 1",
                            394, "QUERY_WAS_CANCELLED");
                } finally {
                    ended.set(true);
                    canceller.join();
                }
            }
        });
    }

    /** What the tool sends when it connects and shows the tree of tables. */
    private void worksForDBeaver() {
        Map<String, String> p = Map.of("session_id", "sess_8d5c5b0e-0000-4000-8000-000000000000");
        c.check("DBeaver", () -> {
            try (Connection db = open(System.getenv("SQL_KEY"), first ? p : Map.of());
                    Statement s = db.createStatement()) {
                Checks.is(Checks.drain(s.executeQuery("SELECT VERSION()")), 1);
                Checks.is(Checks.drain(s.executeQuery("SELECT name FROM system.table_engines")) > 0,
                        true);
                Checks.has(Checks.column(s.executeQuery("SHOW DATABASES"), "name"), "coroot");
                s.execute("SET readonly=1");
                try (PreparedStatement tables = db.prepareStatement(
                             "SELECT name as TABLE_NAME, engine as TABLE_TYPE, "
                             + "database as TABLE_SCHEM,"
                             + "comment as REMARKS, * FROM system.tables\nWHERE database = ?")) {
                    tables.setString(1, "coroot");
                    Checks.has(
                            Checks.column(tables.executeQuery(), "TABLE_NAME"), "profiling_stacks");
                }
                try (ResultSet r = s.executeQuery("SHOW CREATE TABLE coroot.profiling_samples")) {
                    Checks.is(r.next(), true);
                    Checks.is(r.getString(1).contains("ENGINE = MergeTree"), true);
                }
            }
        });
    }

    private void worksForMetabase() {
        Map<String, String> p = first
                ? Map.of()
                : Map.of("use_server_time_zone_for_dates", "true", "product_name", "metabase/v0.57",
                        "jdbc_ignore_unsupported_values", "true", "jdbc_schema_term", "schema",
                        "ssl", "false", "clickhouse_setting_session_timezone", "Asia/Tokyo",
                        "clickhouse_setting_select_sequential_consistency", "1");
        c.check("Metabase", () -> {
            try (Connection db = open(System.getenv("SQL_KEY"), p);
                    Statement s = db.createStatement()) {
                Checks.is(Checks.column(s.executeQuery("SELECT timezone() AS tz"), "tz").size(), 1);
                try (PreparedStatement named = db.prepareStatement(
                             "SELECT count(*) > 0 FROM system.databases WHERE name = ?")) {
                    named.setString(1, "coroot");
                    try (ResultSet r = named.executeQuery()) {
                        Checks.is(r.next(), true);
                        Checks.is(r.getBoolean(1), true);
                    }
                }
                if (!first)
                    Checks.is(
                            Checks.column(s.executeQuery("SELECT toHour(toDateTime(0)) AS h"), "h"),
                            List.of("9"));
            }
        });
    }

    private void needsTheKey() {
        c.check("the wrong key", () -> {
            try (Connection db = open("wrong", Map.of()); Statement s = db.createStatement()) {
                Checks.fails(s, "SELECT 1", 516, "AUTHENTICATION_FAILED");
            } catch (SQLException
                            e) { /* the first implementation asks the server when it connects */
                Checks.is(e.getErrorCode(), 516);
            }
        });
    }
}
