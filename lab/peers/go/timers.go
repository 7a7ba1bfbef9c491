// Experiment timers: time.AfterFunc, on one processor. When a timer fires, its function runs in a new goroutine. If the
// timer was stopped, the function is not called.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

func perTimer(seconds float64, count uint64) float64 { return seconds * 1e9 / float64(count) }

// scheduleAndCancel starts count waits of 1 to 10 s, and stops all of them in another order.
func scheduleAndCancel(asked *request, count uint64) {
	random := rand.New(rand.NewSource(1))
	timers, distances := make([]*time.Timer, count), make([]time.Duration, count)
	var fired atomic.Uint64 // timers that fired because the process was delayed
	for i := range timers {
		timers[i] = time.AfterFunc(time.Hour, func() { fired.Add(1) })
		timers[i].Stop()
		distances[i] = time.Second + time.Duration(random.Int63n(int64(9*time.Second)))
	}
	order := random.Perm(int(count))
	rounds := asked.pick(2_000, 100_000, 500_000) / count
	if rounds == 0 {
		rounds = 1
	}
	asked.repeat(func() repetition {
		schedule, cancel, stopped := 0.0, 0.0, uint64(0)
		fired.Store(0)
		sum := measure(func() {
			for round := uint64(0); round < rounds; round++ {
				begin := time.Now()
				for i, timer := range timers {
					timer.Reset(distances[i])
				}
				armed := time.Now()
				for _, i := range order {
					if timers[i].Stop() {
						stopped++
					}
				}
				schedule += armed.Sub(begin).Seconds()
				cancel += time.Since(armed).Seconds()
			}
		})
		for fired.Load()+stopped < rounds*count {
			time.Sleep(time.Millisecond)
		}
		if fired.Load()+stopped != rounds*count {
			asked.fail("%d timers were stopped and %d fired, of %d", stopped, fired.Load(), rounds*count)
		}
		sum.Figures = map[string]float64{
			"schedule_ns": perTimer(schedule, rounds*count), "cancel_ns": perTimer(cancel, rounds*count)}
		return sum
	})
}

// neverWaitedFor sets and stops timers whose channel is never read.
func neverWaitedFor(asked *request) {
	count := asked.pick(2_000, 2_000_000, 10_000_000)
	asked.repeat(func() repetition {
		r := measure(func() {
			for i := uint64(0); i < count; i++ {
				time.NewTimer(5 * time.Second).Stop()
			}
		})
		r.Figures = map[string]float64{"unused_ns": perTimer(r.Wall, count)}
		return r
	})
}

// accuracy measures how late functions begin, in a process that does nothing else.
func accuracy(asked *request) {
	count := asked.pick(200, 10_000, 50_000)
	random := rand.New(rand.NewSource(4))
	asked.repeat(func() repetition {
		late := make([]float64, count)
		var open sync.WaitGroup
		open.Add(int(count))
		first := time.Now().Add(20*time.Millisecond + time.Duration(count)*2*time.Microsecond)
		for i := range late {
			i, at := i, first.Add(time.Duration(random.Int63n(int64(count)*50_000)))
			time.AfterFunc(time.Until(at), func() {
				late[i] = time.Since(at).Seconds() * 1e6
				open.Done()
			})
		}
		r := measure(open.Wait)
		sort.Float64s(late)
		if late[0] < 0 {
			asked.fail("a timer fired before its time")
		}
		r.Figures = map[string]float64{"late_us": late[count/2], "late_p99_us": late[count*99/100],
			"cpu_ns": perTimer(r.User+r.System, count)}
		return r
	})
}

// resident returns the resident bytes of the process.
func resident(asked *request) float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		asked.fail("no /proc: %v", err)
	}
	var all, here float64
	if _, err := fmt.Sscan(string(text), &all, &here); err != nil {
		asked.fail("/proc/self/statm says %q", text)
	}
	return here * float64(os.Getpagesize())
}

// memory measures the memory of a stopped timer, and of a timer with a waiting function.
func memory(asked *request) {
	count := asked.pick(10_000, 1_000_000, 1_000_000)
	debug.SetGCPercent(-1)
	none := &time.Timer{}
	var all [2][]*time.Timer
	for i := range all {
		for k := uint64(0); k < count; k++ {
			all[i] = append(all[i], none) // written now, so that the array itself is not counted
		}
	}
	before := resident(asked)
	for i := range all[0] {
		all[0][i] = time.AfterFunc(time.Hour, func() {})
		all[0][i].Stop()
	}
	stopped := resident(asked)
	for i := range all[1] {
		all[1][i] = time.AfterFunc(time.Hour, func() {})
	}
	armed := resident(asked)
	runtime.KeepAlive(all)
	// Only once, because a second run would reuse the memory of the first.
	asked.repeat(func() repetition {
		return repetition{Series: map[string][]float64{}, Figures: map[string]float64{
			"armed_bytes": (armed - stopped) / float64(count), "unarmed_bytes": (stopped - before) / float64(count),
			"object_bytes": float64(unsafe.Sizeof(time.Timer{}))}}
	})
}

func timers(asked *request) {
	runtime.GOMAXPROCS(1)
	switch asked.Variant {
	case "schedule-few", "cancel-few":
		scheduleAndCancel(asked, 1_000)
	case "schedule-many", "cancel-many":
		scheduleAndCancel(asked, asked.pick(20_000, 1_000_000, 1_000_000))
	case "unused":
		neverWaitedFor(asked)
	case "accuracy":
		accuracy(asked)
	default:
		memory(asked)
	}
}
