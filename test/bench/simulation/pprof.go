package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

type function struct{ name, file string }

type frame struct {
	function int
	line     int
}

// What is put into a pprof; stacks are root first.
type profile struct {
	types         [][2]string
	functions     []function
	stacks        [][]frame
	values        [][]int64
	labelBytes    bool
	period        int64
	durationNanos int64
}

// ---- protobuf, as much of it as pprof needs ----

type message struct{ bytes.Buffer }

func (m *message) varint(v uint64) {
	for ; v >= 0x80; v >>= 7 {
		m.WriteByte(byte(v) | 0x80)
	}
	m.WriteByte(byte(v))
}

func (m *message) number(field int, v int64) {
	m.varint(uint64(field) << 3)
	m.varint(uint64(v))
}

func (m *message) text(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	m.Write(b)
}

func (m *message) numbers(field int, vs []int64) {
	var packed message
	for _, v := range vs {
		packed.varint(uint64(v))
	}
	m.text(field, packed.Bytes())
}

type stringTable struct {
	ids     map[string]int64
	strings []string
}

func (t *stringTable) id(s string) int64 {
	id, ok := t.ids[s]
	if !ok {
		id = int64(len(t.strings))
		t.ids[s] = id
		t.strings = append(t.strings, s)
	}
	return id
}

// ---- profile.proto ----

// Gzipped at its fastest, as Go's runtime/pprof does it.
func (p *profile) encode() []byte {
	var out, m message
	table := &stringTable{ids: map[string]int64{}}
	table.id("")
	for _, t := range p.types {
		var vt message
		vt.number(1, table.id(t[0]))
		vt.number(2, table.id(t[1]))
		m.text(1, vt.Bytes())
	}
	p.encodeSamples(&m, table)
	var mapping message
	mapping.number(1, 1)
	mapping.number(2, 0x400000)
	mapping.number(3, 0x1400000)
	mapping.number(5, table.id("/app/server"))
	mapping.number(6, table.id("5f0c1e2d3a4b5c6d7e8f"))
	m.text(3, mapping.Bytes())
	if p.period > 0 {
		var vt message
		vt.number(1, table.id("cpu"))
		vt.number(2, table.id("nanoseconds"))
		m.text(11, vt.Bytes())
		m.number(12, p.period)
	}
	for _, s := range table.strings {
		m.text(6, []byte(s))
	}
	m.number(9, 1_700_000_000_000_000_000)
	if p.durationNanos > 0 {
		m.number(10, p.durationNanos)
	}
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	z.Write(m.Bytes())
	z.Close()
	return out.Bytes()
}

func (p *profile) encodeSamples(m *message, table *stringTable) {
	locations := map[frame]int64{}
	var order []frame
	for i, stack := range p.stacks {
		var ids []int64
		for d := len(stack) - 1; d >= 0; d-- {
			id, ok := locations[stack[d]]
			if !ok {
				id = int64(len(order) + 1)
				locations[stack[d]] = id
				order = append(order, stack[d])
			}
			ids = append(ids, id)
		}
		var sample message
		sample.numbers(1, ids)
		sample.numbers(2, p.values[i])
		if p.labelBytes {
			var label message
			label.number(1, table.id("bytes"))
			label.number(3, int64(64<<(i%5)))
			sample.text(3, label.Bytes())
		}
		m.text(2, sample.Bytes())
	}
	p.encodeLocations(m, table, order)
}

// Functions are there once, and only those in a stack.
func (p *profile) encodeLocations(m *message, table *stringTable, order []frame) {
	written := map[int]bool{}
	for i, f := range order {
		var line, location message
		if !written[f.function] {
			written[f.function] = true
			p.encodeFunction(m, table, f.function)
		}
		line.number(1, int64(f.function+1))
		line.number(2, int64(f.line))
		location.number(1, int64(i+1))
		location.number(2, 1)
		location.number(3, int64(0x400000+0x100*f.function+f.line))
		location.text(4, line.Bytes())
		m.text(4, location.Bytes())
	}
}

func (p *profile) encodeFunction(m *message, table *stringTable, i int) {
	var fn message
	f := p.functions[i]
	fn.number(1, int64(i+1))
	fn.number(2, table.id(f.name))
	fn.number(3, table.id(f.name))
	fn.number(4, table.id(f.file))
	m.text(5, fn.Bytes())
}

// ---- reading what arrives ----

var errBad = errors.New("not a pprof")

func takeVarint(b []byte) (uint64, []byte, error) {
	var v uint64
	for i := 0; i < len(b) && i < 10; i++ {
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, b[i+1:], nil
		}
	}
	return 0, nil, errBad
}

// Calls each for every field: a number, or bytes.
func fields(b []byte, each func(field int, n uint64, data []byte) error) error {
	for len(b) > 0 {
		var key, n uint64
		var data []byte
		var err error
		if key, b, err = takeVarint(b); err != nil {
			return err
		}
		if n, b, err = takeVarint(b); err != nil {
			return err
		}
		switch key & 7 {
		case 0:
		case 2:
			if n > uint64(len(b)) {
				return errBad
			}
			data, b = b[:n], b[n:]
		default:
			return errBad
		}
		if err = each(int(key>>3), n, data); err != nil {
			return err
		}
	}
	return nil
}

func addValues(sums *[]int64, sample []byte) error {
	t := 0
	add := func(v uint64) {
		for len(*sums) <= t {
			*sums = append(*sums, 0)
		}
		(*sums)[t] += int64(v)
		t++
	}
	return fields(sample, func(field int, n uint64, data []byte) error {
		if field != 2 {
			return nil
		}
		if data == nil {
			add(n)
		}
		for len(data) > 0 {
			var v uint64
			var err error
			if v, data, err = takeVarint(data); err != nil {
				return err
			}
			add(v)
		}
		return nil
	})
}

// The sum of all samples by the name of the type, and how many samples there are.
func sumProfile(z *gzip.Reader, body []byte) (map[string]int64, int, error) {
	if err := z.Reset(bytes.NewReader(body)); err != nil {
		return nil, 0, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, 0, err
	}
	var types []uint64
	var strings []string
	var sums []int64
	samples := 0
	err = fields(raw, func(field int, n uint64, data []byte) error {
		switch field {
		case 1:
			id := uint64(0)
			err := fields(data, func(f int, n uint64, _ []byte) error {
				if f == 1 {
					id = n
				}
				return nil
			})
			types = append(types, id)
			return err
		case 2:
			samples++
			return addValues(&sums, data)
		case 6:
			strings = append(strings, string(data))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	result := map[string]int64{}
	for i, id := range types {
		if id >= uint64(len(strings)) || i >= len(sums) {
			return nil, 0, errBad
		}
		if strings[id] != "" {
			result[strings[id]] += sums[i]
		}
	}
	return result, samples, nil
}
