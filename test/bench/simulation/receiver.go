package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"sync"
	"time"
)

// Accepts every upload and adds up its values.
type receiver struct {
	cluster *cluster
	readers sync.Pool // of *gzip.Reader: they are large

	mu      sync.Mutex
	uploads int
	bytes   int64
	samples int
	refused map[string]int // reason → count
	sums    map[string]map[string]int64
}

func newReceiver(c *cluster) *receiver {
	return &receiver{
		cluster: c,
		readers: sync.Pool{New: func() any { return new(gzip.Reader) }},
		refused: map[string]int{},
		sums:    map[string]map[string]int64{},
	}
}

func (r *receiver) take(service string, body []byte) error {
	z := r.readers.Get().(*gzip.Reader)
	defer r.readers.Put(z)
	sums, samples, err := sumProfile(z, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && service == "" {
		err = fmt.Errorf("no service.name")
	}
	if err != nil {
		r.refused[err.Error()]++
		return err
	}
	r.uploads++
	r.bytes += int64(len(body))
	r.samples += samples
	if r.sums[service] == nil {
		r.sums[service] = map[string]int64{}
	}
	for name, sum := range sums {
		r.sums[service][name] += sum
	}
	return nil
}

func (r *receiver) upload(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = r.take(req.URL.Query().Get("service.name"), body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// Services and types whose uploads do not add up to what was served, and the other way round.
func (r *receiver) differences() []string {
	d := []string{}
	compare := func(a, b map[string]map[string]int64, say func(service, name string, a, b int64)) {
		for service, types := range a {
			for name, sum := range types {
				if sum != b[service][name] {
					say(service, name, sum, b[service][name])
				}
			}
		}
	}
	compare(r.cluster.served, r.sums, func(service, name string, served, came int64) {
		d = append(d, fmt.Sprintf("%s %s: %d served, %d came", service, name, served, came))
	})
	compare(r.sums, r.cluster.served, func(service, name string, came, served int64) {
		if _, known := r.cluster.served[service][name]; !known {
			d = append(d, fmt.Sprintf("%s %s: not served, %d came", service, name, came))
		}
	})
	sort.Strings(d)
	return d
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func (c *cluster) punctuality() object {
	off := make([]time.Duration, len(c.gaps))
	onTime := 0
	for i, g := range c.gaps {
		off[i] = g.Abs()
		if off[i] <= time.Second {
			onTime++
		}
	}
	sort.Slice(off, func(i, j int) bool { return off[i] < off[j] })
	if len(off) == 0 {
		return object{"gaps": 0}
	}
	return object{
		"gaps": len(off), "onTime": float64(onTime) / float64(len(off)),
		"p50": seconds(off[len(off)/2]), "p99": seconds(off[len(off)*99/100]), "max": seconds(off[len(off)-1]),
	}
}

func (r *receiver) report(w http.ResponseWriter, _ *http.Request) {
	c := r.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	c.countInFlight(0)
	scrapes := object{}
	for k, n := range c.scrapes {
		scrapes[shapes[k].path] = n
	}
	average := 0.0
	if s := time.Since(c.inFlight.first).Seconds(); s > 0 {
		average = c.inFlight.seconds / s
	}
	json.NewEncoder(w).Encode(object{
		"scrapes": scrapes, "punctuality": c.punctuality(),
		"inFlight": object{"now": c.inFlight.now, "max": c.inFlight.max, "average": average},
		"uploads":  r.uploads, "uploadedBytes": r.bytes, "uploadedSamples": r.samples,
		"refused": r.refused, "differences": r.differences(),
	})
}
