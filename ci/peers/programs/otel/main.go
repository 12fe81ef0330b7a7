// SPDX-License-Identifier: GPL-2.0-only

// Prints a line for each sample that the OpenTelemetry eBPF profiler takes on this machine:
// CLOCK_MONOTONIC in ns, pid, tid, and its frames, innermost first: a name, ? for an unknown name,
// ! for an error of the profiler. harness/profiler/otel.py reads the lines.
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

// The defaults of the profiler's command line.
const (
	interval      = 5 * time.Second
	probabilistic = time.Minute
)

// printer prints each sample in the goroutine that handles traces. Times are CLOCK_MONOTONIC in ns.
type printer struct {
	out     *bufio.Writer
	time    int64        // of the trace that is being handled
	printed atomic.Int64 // time of the latest printed trace
}

func (p *printer) ReportTraceEvent(trace *libpf.Trace, meta *samples.TraceEventMeta) error {
	fmt.Fprint(p.out, p.time, " ", meta.PID, " ", meta.TID)
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

// handleTraces passes the kernel's samples to the profiler, which names and reports them.
func (p *printer) handleTraces(ctx context.Context, trc *tracer.Tracer,
	traces <-chan *libpf.EbpfTrace) {
	for {
		select {
		case trace := <-traces:
			if trace == nil { // marks the end of a batch
				continue
			}
			p.time = trace.KTime
			trc.HandleTrace(trace)
			p.printed.Store(p.time)
		case <-ctx.Done():
			return
		}
	}
}

// drain waits until a sample after now is printed, and so all earlier ones. It uses some CPU time,
// so that there is such a sample.
func (p *printer) drain() {
	now := int64(times.GetKTime())
	for p.printed.Load() < now {
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
		InterpretersConfig:     interpreterconfig.NoInterpreters(), // loads seconds faster
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
	go p.handleTraces(ctx, trc, traces)
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
