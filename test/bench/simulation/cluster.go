package main

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	podsPerNet = 250
	maxPods    = podsPerNet * 250
)

// Every pod has an address of its own: all of 127.0.0.0/8 is this machine.
func podIP(i int) string { return fmt.Sprintf("127.10.%d.%d", i/podsPerNet, i%podsPerNet+1) }

func podOf(ip net.IP) int {
	ip = ip.To4()
	return int(ip[2])*podsPerNet + int(ip[3]) - 1
}

// What the pods serve, and when they were asked for it.
type cluster struct {
	pods     int
	apps     []*app
	interval time.Duration
	paths    map[string]kind
	frozen   atomic.Bool

	mu       sync.Mutex
	asked    [numKinds][]int       // by pod: scrapes answered
	arrivals [numKinds][]time.Time // by pod: the last one
	gaps     []time.Duration       // off the interval
	scrapes  [numKinds]int
	served   map[string]map[string]int64 // service → type → what uploads must add up to
	inFlight struct {
		now, max int
		since    time.Time
		seconds  float64 // sum over time, from the first request on
		first    time.Time
	}
}

func newCluster(pods int, apps []*app, interval time.Duration) *cluster {
	c := &cluster{pods: pods, apps: apps, interval: interval, paths: map[string]kind{}, served: map[string]map[string]int64{}}
	for k := range shapes {
		c.paths["/debug/pprof/"+shapes[k].path] = kind(k)
		c.asked[k] = make([]int, pods)
		c.arrivals[k] = make([]time.Time, pods)
	}
	for _, a := range apps {
		c.served[a.service()] = map[string]int64{}
	}
	return c
}

func (c *cluster) app(pod int) *app { return c.apps[pod%len(c.apps)] }

// With mu held.
func (c *cluster) countInFlight(change int) {
	now := time.Now()
	f := &c.inFlight
	if f.first.IsZero() {
		f.first, f.since = now, now
	}
	f.seconds += float64(f.now) * now.Sub(f.since).Seconds()
	f.since = now
	f.now += change
	if f.now > f.max {
		f.max = f.now
	}
}

// The first scrape of a target, and the one in its slot after that, may come at any time; later ones
// must be on time.
func (c *cluster) arrive(pod int, k kind) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countInFlight(+1)
	if c.asked[k][pod] >= 2 {
		c.gaps = append(c.gaps, now.Sub(c.arrivals[k][pod])-c.interval)
	}
	c.arrivals[k][pod] = now
}

func (c *cluster) leave() {
	c.mu.Lock()
	c.countInFlight(-1)
	c.mu.Unlock()
}

// The next profile of the pod, and what its upload adds.
func (c *cluster) next(pod int, k kind) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.app(pod)
	n := c.asked[k][pod]
	c.asked[k][pod]++
	c.scrapes[k]++
	state := func(n int) *variant {
		if n >= numVariants {
			n = numVariants - 1
		}
		return &a.variants[k][n]
	}
	v := state(n)
	for t, name := range shapes[k].uploaded {
		if name == "" {
			continue
		}
		if !shapes[k].cumulative[t] {
			c.served[a.service()][name] += v.totals[t]
		} else if n > 0 {
			c.served[a.service()][name] += v.totals[t] - state(n - 1).totals[t]
		}
	}
	return v.body
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	k, known := c.paths[strings.TrimSuffix(r.URL.Path, "/")]
	pod := podOf(address.IP)
	if !known || pod < 0 || pod >= c.pods {
		http.NotFound(w, r)
		return
	}
	if c.frozen.Load() {
		http.Error(w, "frozen", http.StatusServiceUnavailable)
		return
	}
	c.arrive(pod, k)
	defer c.leave()
	if k == cpu {
		seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
		if err != nil || seconds < 1 || seconds > 60 {
			http.Error(w, "seconds", http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-r.Context().Done():
			return
		}
	}
	if c.frozen.Load() {
		http.Error(w, "frozen", http.StatusServiceUnavailable)
		return
	}
	body := c.next(pod, k)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", `attachment; filename="`+shapes[k].path+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}
