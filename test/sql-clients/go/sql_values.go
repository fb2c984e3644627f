package main

import (
	"fmt"
	"reflect"
)

// An expression, and what fmt.Sprint makes of its value.
type value struct{ sql, text string }

var values = []value{
	{"toUInt8(8)", "8"},
	{"toUInt16(16)", "16"},
	{"toUInt32(32)", "32"},
	{"toUInt64(18446744073709551615)", "18446744073709551615"},
	{"toInt8(-8)", "-8"},
	{"toInt16(-16)", "-16"},
	{"toInt32(-32)", "-32"},
	{"toInt64(-9223372036854775808)", "-9223372036854775808"},
	{"toInt128(-128)", "-128"},
	{"toUInt256(256)", "256"},
	{"toFloat32(1.5)", "1.5"},
	{"toFloat64(-2.25)", "-2.25"},
	{"true", "true"},
	{"'text \\'with\\' quotes'", "text 'with' quotes"},
	{"''", ""},
	{"toFixedString('abc', 3)", "abc"},
	{"toLowCardinality('low')", "low"},
	{"toNullable(toInt64(5))", "5"},
	{"CAST(NULL, 'Nullable(String)')", "<nil>"},
	{"CAST('x', 'LowCardinality(Nullable(String))')", "x"},
	{"CAST(NULL, 'LowCardinality(Nullable(String))')", "<nil>"},
	{"['a', 'b']", "[a b]"},
	{"[[1], [], [2, 3]]", "[[1] [] [2 3]]"},
	{"CAST([], 'Array(LowCardinality(String))')", "[]"},
	{"CAST(['a', 'b', 'a'], 'Array(LowCardinality(String))')", "[a b a]"},
	{"map('a', 'b')", "map[a:b]"},
	{"CAST(map('k', 'v'), 'Map(LowCardinality(String), String)')", "map[k:v]"},
	{"tuple('a', toUInt8(1))", "[a 1]"},
	{"CAST(('a', 1), 'Tuple(name String, n UInt8)')", "map[n:1 name:a]"},
	{"CAST('b', 'Enum8(\\'a\\' = 1, \\'b\\' = 2)')", "b"},
	{"CAST('a (b', 'Enum16(\\'a (b\\' = 300)')", "a (b"},
	{"toDecimal32(1.5, 2)", "1.5"},
	{"toDecimal64(-2.25, 4)", "-2.25"},
	{"toDecimal128(3.125, 6)", "3.125"},
	{"toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"},
	{"toIPv4('10.1.2.3')", "10.1.2.3"},
	{"toIPv6('2001:db8::1')", "2001:db8::1"},
	{"toDate('2024-05-06')", "2024-05-06 00:00:00 +0000 UTC"},
	{"toDateTime('2024-05-06 07:08:09')", "2024-05-06 07:08:09 +0000 UTC"},
	{"toDateTime64('2024-05-06 07:08:09.123456789', 9, 'UTC')", "2024-05-06 07:08:09.123456789 +0000 UTC"},
	{"toIntervalDay(3)", "3 Days"},
	{"(1.5, 2.5)::Point", "[1.5 2.5]"},
}

// Release 2.8 reads these 45 years too early.
var newerValues = []value{{"toDate32('1950-05-06')", "1950-05-06 00:00:00 +0000 UTC"}}

// All of them in two rows.
func types(c client) error {
	sql := "SELECT "
	for i, v := range values {
		if i > 0 {
			sql += ", "
		}
		sql += fmt.Sprintf("%s AS c%d", v.sql, i)
	}
	rows, err := c.query(ctx, sql+" FROM numbers(2)")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		row, err := scanAll(rows)
		if err != nil {
			return err
		}
		for i, v := range values {
			if err := same(text(row[i]), v.text); err != nil {
				return fmt.Errorf("%s: %w", v.sql, err)
			}
		}
	}
	if rows.Err() != nil {
		return rows.Err()
	}
	return same(n, 2)
}

// Text of what pointers and interfaces lead to.
func text(v any) string {
	r := reflect.ValueOf(v)
	if !r.IsValid() || (r.Kind() == reflect.Pointer && r.IsNil()) {
		return "<nil>"
	}
	if r.Kind() == reflect.Pointer {
		if s, ok := v.(fmt.Stringer); ok {
			return s.String()
		}
		return text(r.Elem().Interface())
	}
	// some types have String() of their pointers only
	p := reflect.New(r.Type())
	p.Elem().Set(r)
	if s, ok := p.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprint(v)
}
