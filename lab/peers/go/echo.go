// Experiment socket-echo: a goroutine for each end of a connection, on two threads in total.
package main

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

const message = 64

func serve(connection net.Conn) {
	var buffer [message]byte
	for {
		if _, err := io.ReadFull(connection, buffer[:]); err != nil {
			return
		}
		if _, err := connection.Write(buffer[:]); err != nil {
			return
		}
	}
}

// ask returns the number of correct answers.
func ask(connection net.Conn, trips uint64) (right uint64) {
	var sent, answer [message]byte
	for trip := uint64(1); trip <= trips; trip++ {
		binary.LittleEndian.PutUint64(sent[:], trip)
		binary.LittleEndian.PutUint64(sent[message-8:], trip)
		if _, err := connection.Write(sent[:]); err != nil {
			return right
		}
		if _, err := io.ReadFull(connection, answer[:]); err != nil {
			return right
		}
		if answer == sent {
			right++
		}
	}
	return right
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func echo(asked *request) {
	count := must(strconv.ParseUint(strings.Fields(asked.Variant)[0], 10, 64))
	trips := asked.pick(1000, 40000, 400000) / count
	if count == 1 {
		trips = asked.pick(500, 10000, 100000)
	}
	runtime.GOMAXPROCS(2)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	var clients []net.Conn
	for i := uint64(0); i < count; i++ { // Go disables Nagle's algorithm by default
		clients = append(clients, must(net.Dial("tcp", listener.Addr().String())))
		go serve(must(listener.Accept()))
	}
	asked.repeat(func() repetition {
		all := make([]uint64, count)
		r := measure(func() {
			var open sync.WaitGroup
			open.Add(int(count))
			for i := range all {
				go func(i int) {
					all[i] = ask(clients[i], trips)
					open.Done()
				}(i)
			}
			open.Wait()
		})
		right := uint64(0)
		for _, one := range all {
			right += one
		}
		if right != trips*count {
			asked.fail("%d answers were right of %d", right, trips*count)
		}
		return r.per("us_per_trip", "cpu_us", 1e6, right)
	})
}
