import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** Prints a line per check, as clients.test.js reads it. */
final class Checks {
    interface Body {
        void run() throws Exception;
    }

    boolean failed;

    void check(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError e) {
            failed = true;
            System.out.println("not ok " + name + ": " + e.toString().replace('\n', ' '));
        }
    }

    static void is(Object got, Object expected) {
        if (!Objects.equals(got, expected))
            throw new AssertionError("got '" + got + "', not '" + expected + "'");
    }

    static void has(List<?> got, Object expected) {
        if (!got.contains(expected))
            throw new AssertionError(got + " has no '" + expected + "'");
    }

    /** The query must fail with an exception of this code and name. */
    static void fails(Statement s, String sql, int code, String name) throws Exception {
        try (ResultSet r = s.executeQuery(sql)) {
            while (r.next()) {
            }
        } catch (SQLException e) {
            is(e.getErrorCode(), code);
            if (!e.getMessage().contains("(" + name + ")"))
                throw new AssertionError(e.getMessage() + " does not say " + name);
            return;
        }
        throw new AssertionError("no exception");
    }

    /** One column of all rows, as text. */
    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> values = new ArrayList<>();
        try (rows) {
            while (rows.next()) values.add(rows.getString(name));
        }
        return values;
    }

    /** Reads all values of all rows and returns the number of rows. */
    static int drain(ResultSet rows) throws SQLException {
        int n = 0;
        try (rows) {
            ResultSetMetaData m = rows.getMetaData();
            for (; rows.next(); n++) {
                for (int i = 1; i <= m.getColumnCount(); i++) rows.getObject(i);
            }
        }
        return n;
    }

    static List<String> names(ResultSetMetaData m) throws SQLException {
        String[] names = new String[m.getColumnCount()];
        Arrays.setAll(names, i -> {
            try {
                return m.getColumnName(i + 1) + " " + m.getColumnTypeName(i + 1);
            } catch (SQLException e) {
                return e.toString();
            }
        });
        return List.of(names);
    }
}
