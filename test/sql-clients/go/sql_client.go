// The SQL port as clickhouse-go sees it over HTTP, which is what Grafana's ClickHouse plugin uses:
// every compression, types, parameters, errors. By database/sql, and with the argument "native" by
// the driver's own interface too, which older releases do not have over HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

var failed bool

// Prints one check.
func check(name string, err error) {
	if err == nil {
		fmt.Println("ok", name)
		return
	}
	failed = true
	fmt.Printf("not ok %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
}

func same(got, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("got %q, not %q", g, w)
	}
	return nil
}

func options(compression clickhouse.CompressionMethod) *clickhouse.Options {
	return &clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{os.Getenv("SQL_HOST") + ":" + os.Getenv("SQL_PORT")},
		Auth:        clickhouse.Auth{Database: "coroot", Username: "default", Password: os.Getenv("SQL_KEY")},
		Compression: &clickhouse.Compression{Method: compression, Level: 3},
		Settings:    clickhouse.Settings{"enable_http_compression": 1, "max_execution_time": 30},
		DialTimeout: time.Minute,
		ReadTimeout: 2 * time.Minute,
	}
}

var ctx = context.Background()

// The first value of the first row, as text.
func one(c client, ctx context.Context, sql string, args ...any) (string, error) {
	rows, err := c.query(ctx, sql, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	if !rows.Next() {
		return "", fmt.Errorf("no row: %v", rows.Err())
	}
	var value string
	if err := rows.Scan(&value); err != nil {
		return "", err
	}
	for rows.Next() {
	}
	return value, rows.Err()
}

const total = "SELECT toString(sum(Value)) FROM profiling_samples WHERE ServiceName = "

func parameters(c client) error {
	service := os.Getenv("SQL_SERVICE")
	with := clickhouse.Context(ctx, clickhouse.WithParameters(clickhouse.Parameters{"service": service}))
	for _, try := range []func() (string, error){
		func() (string, error) { return one(c, ctx, total+"$1", service) },
		func() (string, error) { return one(c, ctx, total+"?", service) },
		func() (string, error) { return one(c, ctx, total+"@s", clickhouse.Named("s", service)) },
		func() (string, error) { return one(c, with, total+"{service:String}") },
	} {
		got, err := try()
		if err == nil {
			err = same(got, os.Getenv("SQL_TOTAL"))
		}
		if err != nil {
			return err
		}
	}
	got, err := one(c, ctx, "SELECT toString(count() > 0) FROM profiling_samples WHERE Start BETWEEN ? AND ?",
		time.Now().Add(-24*time.Hour), time.Now().Add(time.Hour))
	if err == nil {
		err = same(got, "1")
	}
	return err
}

// Many blocks, in many frames.
func large(c client) error {
	rows, err := c.query(ctx, "SELECT number, toString(number), [toLowCardinality('a')] FROM numbers(100000)")
	if err != nil {
		return err
	}
	defer rows.Close()
	var n, sum uint64
	for rows.Next() {
		var number uint64
		var text string
		var list []string
		if err := rows.Scan(&number, &text, &list); err != nil {
			return err
		}
		if text != fmt.Sprint(number) || len(list) != 1 || list[0] != "a" {
			return fmt.Errorf("row %d is %q %q", number, text, list)
		}
		n++
		sum += number
	}
	if rows.Err() != nil {
		return rows.Err()
	}
	return same([]uint64{n, sum}, []uint64{100000, 99999 * 50000})
}

func empty(c client) error {
	rows, err := c.query(ctx, "SELECT number FROM numbers(10) WHERE number > 10")
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		return errors.New("there is a row")
	}
	return rows.Err()
}

func exception(c client) error {
	_, err := one(c, ctx, "SELECT nothing FROM profiling_samples")
	if err == nil {
		return errors.New("no error")
	}
	if !strings.Contains(err.Error(), "Code: 47") || !strings.Contains(err.Error(), "UNKNOWN_IDENTIFIER") {
		return fmt.Errorf("not readable: %w", err)
	}
	return c.ping()
}

func cancelled(c client) error {
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err := one(c, short, "SELECT toString(count()) FROM numbers(1000000000000) WHERE number % 7 = 8")
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ended with %v", err)
	}
	return c.ping()
}

func ourTables(c client) error {
	for _, table := range []string{"samples", "stacks", "profiles"} {
		rows, err := c.query(ctx, "SELECT * FROM profiling_"+table)
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		defer rows.Close()
		n := 0
		for ; rows.Next(); n++ {
			if _, err := scanAll(rows); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		if rows.Err() != nil || n == 0 {
			return fmt.Errorf("%s: %d rows, %v", table, n, rows.Err())
		}
	}
	return nil
}

func wrongKey(open func(*clickhouse.Options) (client, error)) error {
	o := options(clickhouse.CompressionNone)
	o.Auth.Password = "not the key"
	c, err := open(o)
	if err == nil {
		err = c.ping()
	}
	if err == nil || !strings.Contains(err.Error(), "Code: 516") {
		return fmt.Errorf("got %v", err)
	}
	return nil
}

var compressions = []struct {
	name   string
	method clickhouse.CompressionMethod
}{
	{"no compression", clickhouse.CompressionNone},
	{"LZ4", clickhouse.CompressionLZ4},
	{"ZSTD", clickhouse.CompressionZSTD},
	{"gzip", clickhouse.CompressionGZIP},
	{"deflate", clickhouse.CompressionDeflate},
	{"brotli", clickhouse.CompressionBrotli},
}

func all(by string, open func(*clickhouse.Options) (client, error)) {
	for _, compression := range compressions {
		name := by + ", " + compression.name + ", "
		c, err := open(options(compression.method))
		if err != nil {
			check(name+"open", err)
			continue
		}
		check(name+"ping", c.ping())
		check(name+"parameters", parameters(c))
		check(name+"types", types(c))
		check(name+"100000 rows", large(c))
		check(name+"empty result", empty(c))
		check(name+"exception", exception(c))
		check(name+"our tables", ourTables(c))
		if compression.method == clickhouse.CompressionLZ4 {
			check(name+"a query that is given up", cancelled(c))
		}
		c.close()
	}
	check(by+", a wrong key", wrongKey(open))
}

func main() {
	hasNative := len(os.Args) > 1 && os.Args[1] == "native"
	if hasNative {
		values = append(values, newerValues...)
	}
	all("database/sql", openStandard)
	if hasNative {
		all("native", openNative)
	}
	if failed {
		os.Exit(1)
	}
}
