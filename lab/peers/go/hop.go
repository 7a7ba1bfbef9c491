// Experiment coroutine-hop: pairs of goroutines that pass a number to each other, over unbuffered channels.
package main

import (
	"runtime"
	"strings"
	"sync"
)

func hop(asked *request) {
	pairs := uint64(1)
	if strings.HasPrefix(asked.Variant, "64") {
		pairs = 32
	}
	runtime.GOMAXPROCS(asked.threads())
	trips := asked.pick(6400, 640000, 6400000) / pairs / 2 // each has two hops
	asked.repeat(func() repetition {
		counts := make([]uint64, pairs)
		r := measure(func() {
			var open sync.WaitGroup
			open.Add(int(pairs))
			for p := range counts {
				there, back := make(chan uint64), make(chan uint64)
				go func() {
					for number := range there {
						back <- number + 1
					}
				}()
				go func(count *uint64) {
					number := uint64(0)
					for i := uint64(0); i < trips; i++ {
						there <- number + 1
						number = <-back
					}
					close(there)
					*count = number
					open.Done()
				}(&counts[p])
			}
			open.Wait()
		})
		hops := uint64(0)
		for _, count := range counts {
			hops += count
		}
		if hops != pairs*trips*2 {
			asked.fail("%d hops counted where there were %d", hops, pairs*trips*2)
		}
		return r.per("ns_per_hop", "cpu_ns", 1e9, hops)
	})
}
