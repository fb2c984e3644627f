package main

import (
	"context"
	"database/sql"
	"reflect"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// What both interfaces can do.
type client interface {
	ping() error
	query(ctx context.Context, sql string, args ...any) (rows, error)
	close() error
}

type rows interface {
	Next() bool
	Scan(values ...any) error
	Err() error
	Close() error
	// pointers to what the values of a row can be scanned into
	targets() ([]any, error)
}

func scanAll(r rows) ([]any, error) {
	values, err := r.targets()
	if err != nil {
		return nil, err
	}
	return values, r.Scan(values...)
}

type standardClient struct{ db *sql.DB }
type standardRows struct{ *sql.Rows }

// As Grafana's plugin does.
func openStandard(o *clickhouse.Options) (client, error) {
	db := clickhouse.OpenDB(o)
	db.SetMaxOpenConns(2)
	return standardClient{db}, nil
}

func (c standardClient) ping() error  { return c.db.PingContext(ctx) }
func (c standardClient) close() error { return c.db.Close() }
func (c standardClient) query(ctx context.Context, sql string, args ...any) (rows, error) {
	r, err := c.db.QueryContext(ctx, sql, args...)
	return standardRows{r}, err
}

func (r standardRows) targets() (all []any, err error) {
	columns, err := r.Columns()
	for range columns {
		all = append(all, new(any))
	}
	return all, err
}

type nativeClient struct{ conn driver.Conn }
type nativeRows struct{ driver.Rows }

func openNative(o *clickhouse.Options) (client, error) {
	conn, err := clickhouse.Open(o)
	return nativeClient{conn}, err
}

func (c nativeClient) ping() error  { return c.conn.Ping(ctx) }
func (c nativeClient) close() error { return c.conn.Close() }
func (c nativeClient) query(ctx context.Context, sql string, args ...any) (rows, error) {
	r, err := c.conn.Query(ctx, sql, args...)
	return nativeRows{r}, err
}

func (r nativeRows) targets() (all []any, err error) {
	for _, t := range r.ColumnTypes() {
		all = append(all, reflect.New(t.ScanType()).Interface())
	}
	return all, nil
}
