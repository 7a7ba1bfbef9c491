// Peer: Go. This is the process of a cell. It starts as lab/harness/cell_process.hpp describes, and reports like
// lab/harness/cell.cpp. Each experiment's workload has its own file.
//
// Used by: the rows in lab/experiments/*/go.cpp. lab/go.cmake builds it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

type request struct {
	Experiment       string  `json:"experiment"`
	ReportDescriptor int     `json:"report_descriptor"`
	Variant          string  `json:"variant"`
	Scale            int     `json:"scale"` // smoke, quick, full
	Repetitions      int     `json:"repetitions"`
	TurnsPerUs       float64 `json:"turns_per_us"`
	report           *os.File
}

type repetition struct {
	Wall        float64              `json:"wall_s"`
	User        float64              `json:"user_s"`
	System      float64              `json:"system_s"`
	Voluntary   float64              `json:"voluntary_switches"`
	Involuntary float64              `json:"involuntary_switches"`
	Figures     map[string]float64   `json:"figures"`
	Series      map[string][]float64 `json:"series"`
}

// pick returns the size for the requested scale.
func (asked *request) pick(sizes ...uint64) uint64 { return sizes[asked.Scale] }

// threads returns the number of threads in the variant's name.
func (asked *request) threads() int {
	return int(asked.Variant[strings.Index(asked.Variant, " thread")-1] - '0')
}

func (asked *request) send(what map[string]any) {
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	asked.report.Write(append(line, '\n'))
}

// fail tells the driver that the result was wrong, and terminates the process.
func (asked *request) fail(format string, values ...any) {
	asked.send(map[string]any{"failed": fmt.Sprintf(format, values...)})
	os.Exit(0)
}

// repeat calls once without a report, then as often as the driver requests.
func (asked *request) repeat(once func() repetition) {
	once()
	measured := 0.0
	for done := 0; done < asked.Repetitions || (asked.Scale > 0 && done < 5*asked.Repetitions && measured < 0.12); done++ {
		found := once()
		measured += found.Wall
		asked.send(map[string]any{"repetition": found})
	}
}

func used() (r repetition) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	r.User = float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
	r.System = float64(u.Stime.Sec) + float64(u.Stime.Usec)/1e6
	r.Voluntary, r.Involuntary = float64(u.Nvcsw), float64(u.Nivcsw)
	return r
}

func measure(body func()) repetition {
	before, begin := used(), time.Now()
	body()
	wall := time.Since(begin).Seconds()
	r := used()
	r.Wall, r.User, r.System = wall, r.User-before.User, r.System-before.System
	r.Voluntary, r.Involuntary = r.Voluntary-before.Voluntary, r.Involuntary-before.Involuntary
	r.Series = map[string][]float64{}
	return r
}

// per sets two figures: wall and CPU time of each of count things, in units of which a second has that many.
func (r repetition) per(wall, cpu string, units float64, count uint64) repetition {
	each := units / float64(count)
	r.Figures = map[string]float64{wall: r.Wall * each, cpu: (r.User + r.System) * each}
	return r
}

// turn is lab::turn(): work of a known length. The caller must use its result.
func turn(turns, seed uint64) uint64 {
	for i := uint64(0); i < turns; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	return seed
}

func main() {
	asked := &request{}
	if len(os.Args) != 3 || json.Unmarshal([]byte(os.Args[2]), asked) != nil {
		fmt.Fprintln(os.Stderr, "ekiden-lab starts this program")
		os.Exit(2)
	}
	asked.report = os.NewFile(uintptr(asked.ReportDescriptor), "report")
	experiments := map[string]func(*request){
		"channel": channel, "coroutine-hop": hop, "io-models": ioModels, "socket-echo": echo, "timers": timers}
	run, known := experiments[asked.Experiment]
	if !known {
		asked.fail("this executable has no cell of %s", asked.Experiment)
	}
	run(asked)
}
