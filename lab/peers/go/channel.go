// Experiment channel: Go's buffered channels between goroutines.
package main

import (
	"runtime"
	"strings"
	"sync"
)

const (
	producers = 8
	capacity  = 64
)

func produce(to chan<- uint64, number, each, turns uint64, used *uint64) {
	var x uint64
	for i := uint64(0); i < each; i++ {
		if turns > 0 {
			x = turn(turns, x+i)
		}
		to <- number<<32 | i
	}
	*used = x
}

// found is what a consumer has observed.
type found struct {
	sum, work uint64
	disorder  bool
	_         [104]byte
}

func consume(from <-chan uint64, count, turns uint64, f *found) {
	var next [producers]uint64
	var sum, x uint64
	for ; count > 0; count-- {
		value := <-from
		producer, i := value>>32, value&0xffffffff
		if i < next[producer] {
			f.disorder = true
		}
		next[producer] = i + 1
		sum += value
		if turns > 0 {
			x = turn(turns, x+value)
		}
	}
	f.sum, f.work = sum, x
}

func channel(asked *request) {
	work := uint64(asked.TurnsPerUs / 5) // 200 ns
	var produceTurns, consumeTurns uint64
	if strings.Contains(asked.Variant, "empty") {
		produceTurns = work
	}
	if strings.Contains(asked.Variant, "full") {
		consumeTurns = work
	}
	consumers := uint64(1)
	if strings.Contains(asked.Variant, "8 to 8") {
		consumers = 8
	}
	if strings.Contains(asked.Variant, "1 thread") {
		runtime.GOMAXPROCS(1)
	} else {
		runtime.GOMAXPROCS(2)
	}
	total := asked.pick(4000, 400000, 4000000)
	each := total / producers
	right := uint64(0)
	for p := uint64(0); p < producers; p++ {
		right += p<<32*each + each*(each-1)/2
	}
	asked.repeat(func() repetition {
		all := make([]found, consumers)
		works := make([]uint64, producers)
		r := measure(func() {
			var open sync.WaitGroup
			between := make(chan uint64, capacity)
			open.Add(producers + int(consumers))
			for i := range all {
				go func(f *found) {
					consume(between, total/consumers, consumeTurns, f)
					open.Done()
				}(&all[i])
			}
			for p := uint64(0); p < producers; p++ {
				go func(p uint64) {
					produce(between, p, each, produceTurns, &works[p])
					open.Done()
				}(p)
			}
			open.Wait()
		})
		sum := uint64(0)
		for i := range all {
			sum += all[i].sum
			if all[i].disorder {
				asked.fail("a producer's items came out of order")
			}
		}
		if sum != right {
			asked.fail("items were lost or came out twice")
		}
		return r.per("ns_per_item", "cpu_ns", 1e9, total)
	})
}
