// Experiment io-models, chained: a goroutine for each handler.
package main

import (
	"runtime"
	"strings"
	"sync"
)

const chains = 64

// Only one handler at a time writes a chain's count, because each starts the next one as its last step.
type chain struct {
	ran uint64
	_   [120]byte
}

func handler(of *chain, left uint64, turns int, open *sync.WaitGroup) {
	for i := 0; i < turns; i++ { // the compiler does not remove empty loops
	}
	of.ran++
	if left > 0 {
		go handler(of, left-1, turns, open)
	} else {
		open.Done()
	}
}

func ioModels(asked *request) {
	turns := 1000
	if strings.Contains(asked.Variant, "5,000") {
		turns = 5000
	}
	runtime.GOMAXPROCS(asked.threads())
	each := asked.pick(6400, 200000, 1000000) / chains
	asked.repeat(func() repetition {
		var all [chains]chain
		r := measure(func() {
			var open sync.WaitGroup
			open.Add(chains)
			for i := range all {
				go handler(&all[i], each-1, turns, &open)
			}
			open.Wait()
		})
		var ran uint64
		for i := range all {
			ran += all[i].ran
		}
		if ran != each*chains {
			asked.fail("%d tasks ran where %d were posted", ran, each*chains)
		}
		return r.per("ns_per_handler", "cpu_ns", 1e9, ran)
	})
}
