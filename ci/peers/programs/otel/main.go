// SPDX-License-Identifier: GPL-2.0-only

// Prints a line for each sample that the OpenTelemetry eBPF profiler takes on this machine:
// CLOCK_MONOTONIC in ns, pid, tid, and its frames, innermost first: a name, ? where it knows none,
// ! where it failed. harness/profiler/otel.py reads them.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/ebpf-profiler/interpreter/interpreterconfig"
	"go.opentelemetry.io/ebpf-profiler/libpf"
	"go.opentelemetry.io/ebpf-profiler/metrics"
	"go.opentelemetry.io/ebpf-profiler/processmanager"
	"go.opentelemetry.io/ebpf-profiler/reporter/samples"
	"go.opentelemetry.io/ebpf-profiler/times"
	"go.opentelemetry.io/ebpf-profiler/tracer"
	"go.opentelemetry.io/otel/metric/noop"
)

const module = "go.opentelemetry.io/ebpf-profiler"

// Its own defaults of the command line.
const (
	interval      = 5 * time.Second
	probabilistic = time.Minute
)

// printer gets each sample from the goroutine that handles traces.
type printer struct {
	out  *bufio.Writer
	when int64        // of the trace that is being handled
	seen atomic.Int64 // of the latest one that was printed
}

func (p *printer) ReportTraceEvent(trace *libpf.Trace, meta *samples.TraceEventMeta) error {
	fmt.Fprint(p.out, p.when, " ", meta.PID, " ", meta.TID)
	for _, handle := range trace.Frames {
		frame := handle.Value()
		switch name := frame.FunctionName.String(); {
		case frame.Type.IsError():
			fmt.Fprint(p.out, " !")
		case frame.Type == libpf.KernelFrame:
		case name == "":
			fmt.Fprint(p.out, " ?")
		default:
			fmt.Fprint(p.out, " ", url.PathEscape(name))
		}
	}
	fmt.Fprintln(p.out)
	return p.out.Flush()
}

// handle gives what the kernel sampled to the profiler, which names it and reports it.
func (p *printer) handle(ctx context.Context, trc *tracer.Tracer, traces <-chan *libpf.EbpfTrace) {
	for {
		select {
		case trace := <-traces:
			if trace == nil { // all before it are handled
				continue
			}
			p.when = trace.KTime
			trc.HandleTrace(trace)
			p.seen.Store(p.when)
		case <-ctx.Done():
			return
		}
	}
}

// drain waits until all that was sampled before now is printed: something later is, too. It burns
// a little CPU time for that.
func (p *printer) drain() {
	now := int64(times.GetKTime())
	for p.seen.Load() < now {
		for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func start(ctx context.Context, p *printer, frequency int) (*tracer.Tracer, error) {
	intervals := times.New(interval, interval, probabilistic)
	times.StartRealtimeSync(ctx, 0)
	metrics.Start(noop.Meter{})
	trc, err := tracer.NewTracer(ctx, &tracer.Config{
		TraceReporter:          p,
		Intervals:              intervals,
		InterpretersConfig:     interpreterconfig.NoInterpreters(), // seconds less to load
		SamplesPerSecond:       frequency,
		FrameCacheSize:         processmanager.DefaultFrameCacheSize,
		KernelVersionCheck:     true,
		ProbabilisticInterval:  probabilistic,
		ProbabilisticThreshold: tracer.ProbabilisticThresholdMax,
		IncludeEnvVars:         libpf.Set[string]{},
	})
	if err != nil {
		return nil, err
	}
	trc.StartPIDEventProcessor(ctx)
	if err := trc.AttachTracer(nil); err != nil {
		return trc, err
	}
	if err := trc.EnableProfiling(); err != nil {
		return trc, err
	}
	if err := trc.AttachSchedMonitor(); err != nil {
		return trc, err
	}
	traces := make(chan *libpf.EbpfTrace)
	if err := trc.StartMapMonitors(ctx, traces); err != nil {
		return trc, err
	}
	go p.handle(ctx, trc, traces)
	return trc, nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, one := range info.Deps {
			if one.Path == module {
				return one.Version
			}
		}
	}
	return "unknown"
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("expected version, or samples per second")
	}
	if os.Args[1] == "version" {
		fmt.Println(version())
		return nil
	}
	frequency, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	ctx, cancel := context.WithCancel(context.Background())
	p := &printer{out: bufio.NewWriter(os.Stdout)}
	trc, err := start(ctx, p, frequency)
	if err == nil {
		fmt.Fprintln(os.Stderr, "jitproof: sampling")
		select {
		case <-stop:
			p.drain()
		case <-trc.Done():
			err = fmt.Errorf("the tracer ended")
		}
	}
	cancel()
	if trc != nil {
		trc.Close()
	}
	return err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
