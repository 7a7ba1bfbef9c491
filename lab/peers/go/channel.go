// Experiment channel: Go's channels between goroutines.
package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

const mostProducers = 8

// setting is the meaning of a variant's name: "8 to 1, 64, full".
type setting struct {
	producers, consumers, capacity uint64
	threads                        int
	each                           uint64 // items of a producer
	produceTurns, consumeTurns     uint64
}

func parse(asked *request) setting {
	s := setting{threads: 2}
	if _, err := fmt.Sscanf(asked.Variant, "%d to %d, %d", &s.producers, &s.consumers, &s.capacity); err != nil {
		asked.fail("no setting: %s", asked.Variant)
	}
	work := uint64(asked.TurnsPerUs / 5) // 200 ns
	if strings.HasSuffix(asked.Variant, ", empty") {
		s.produceTurns = work
	}
	if strings.HasSuffix(asked.Variant, ", full") {
		s.consumeTurns = work
	}
	if strings.HasSuffix(asked.Variant, ", 1 thread") {
		s.threads = 1
	}
	s.each = asked.pick(4000, 400000, 4000000) / s.producers
	return s
}

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
	var next [mostProducers]uint64
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
	s := parse(asked)
	runtime.GOMAXPROCS(s.threads)
	total := s.producers * s.each
	right := uint64(0)
	for p := uint64(0); p < s.producers; p++ {
		right += p<<32*s.each + s.each*(s.each-1)/2
	}
	asked.repeat(func() repetition {
		all := make([]found, s.consumers)
		works := make([]uint64, s.producers)
		r := measure(func() {
			var open sync.WaitGroup
			between := make(chan uint64, s.capacity)
			open.Add(int(s.producers + s.consumers))
			for i := range all {
				go func(f *found) {
					consume(between, total/s.consumers, s.consumeTurns, f)
					open.Done()
				}(&all[i])
			}
			for p := uint64(0); p < s.producers; p++ {
				go func(p uint64) {
					produce(between, p, s.each, s.produceTurns, &works[p])
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
