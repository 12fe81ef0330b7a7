# SPDX-License-Identifier: GPL-2.0-only
"""Scripts of more runtimes, and of set-ups: workers, forked children, deep stacks, engines within
Python. They do what those of scripts.py do, for 1.5 seconds where they take no argument."""

from ci.labelled import scripts

JAVASCRIPT = scripts.JAVASCRIPT.replace("MS", "1500")
FUNCTIONS = scripts.JAVASCRIPT.split("const out")[0]

GJS = FUNCTIONS + """
work(Date.now() + 300); print('ready'); work(Date.now() + 1500); imports.system.exit(0);
"""

WORKERS = FUNCTIONS + """
const { Worker, isMainThread } = require('worker_threads');
if (isMainThread) {
  let running = 2;
  for (let i = 0; i < 2; i++) new Worker(__filename).on('exit', () => {
    if (!--running) process.exit(0);
  });
  require('fs').writeSync(1, 'ready\\n');
} else work(Date.now() + 1500);
"""

CLUSTER = FUNCTIONS + """
const cluster = require('cluster');
if (cluster.isPrimary) {
  for (let i = 0; i < 2; i++) cluster.fork();
  require('fs').writeSync(1, 'ready\\n');
} else { work(Date.now() + 1500); process.exit(0); }
"""

DEEP_JAVASCRIPT = """
function down(n, s) { if (n > 0) return down(n - 1, s) + 1;
  for (let i = 0; i < 3000; i++) s = (s * 31 + i) % 65521; return s; }
function work(until) { let s = 0; while (Date.now() < until) s += down(300, 1); return s; }
work(Date.now() + 300);
require('fs').writeSync(1, 'ready\\n');
work(Date.now() + 1500);
"""

# A module with one exported function, a loop.
WASM_JAVASCRIPT = """
const bytes = new Uint8Array([0,97,115,109,1,0,0,0,1,6,1,96,1,127,1,127,3,2,1,0,7,7,1,3,114,117,110,
0,0,10,38,1,36,1,2,127,3,64,32,2,65,31,108,32,1,106,65,241,255,3,112,33,2,32,1,65,1,106,34,1,32,0,
72,13,0,11,32,2,11]);
const run = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.run;
function work(until) { let s = 0; while (Date.now() < until) s += run(300000); return s; }
work(Date.now() + 300);
require('fs').writeSync(1, 'ready\\n');
work(Date.now() + 1500);
"""

CHEZ = """
(define (leaf n) (let loop ([i 0] [s 1])
  (if (fx= i n) s (loop (fx+ i 1) (fxmod (fx+ (fx* s 31) i) 65521)))))
(define (middle n) (+ (leaf n) (leaf (quotient n 2))))
(define (now) (let ([t (current-time)]) (+ (* 1000 (time-second t))
                                           (quotient (time-nanosecond t) 1000000))))
(define (work ms) (let ([end (+ (now) ms)])
  (let loop () (when (< (now) end) (middle 20000) (loop)))))
(work 300)
(display "ready\\n")
(flush-output-port (current-output-port))
(work 1500)
"""

RACKET = """#lang racket/base
(define (leaf n) (let loop ([i 0] [s 1])
  (if (= i n) s (loop (+ i 1) (modulo (+ (* s 31) i) 65521)))))
(define (middle n) (+ (leaf n) (leaf (quotient n 2))))
(define (work ms) (let ([end (+ (current-inexact-milliseconds) ms)])
  (let loop () (when (< (current-inexact-milliseconds) end) (middle 20000) (loop)))))
(work 300)
(display "ready\\n")
(flush-output)
(work 1500)
"""

POLY = """
fun leaf (0, s) = s | leaf (n, s) = leaf (n - 1, (s * 31 + n) mod 65521);
fun middle n = leaf (n, 1) + leaf (n div 2, 1);
fun work ms = let val stop = Time.+ (Time.now (), Time.fromMilliseconds ms)
  fun loop () = if Time.< (Time.now (), stop) then (middle 20000; loop ()) else () in loop () end;
work 300;
print "ready\\n";
TextIO.flushOut TextIO.stdOut;
work 1500;
"""

FORTH = """
: leaf ( n -- s ) 1 swap 0 do 31 * i + 65521 mod loop ;
: middle ( n -- s ) dup leaf swap 2/ leaf + ;
: work ( ms -- ) 1000 * utime drop + begin utime drop over < while 2000 middle drop repeat drop ;
300 work .( ready) cr stdout flush-file drop 1500 work bye
"""

R = """
leaf <- function(n) { s <- 1; for (i in 1:n) s <- (s * 31 + i) %% 65521; s }
middle <- function(n) leaf(n) + leaf(n / 2)
work <- function(sec) { end <- proc.time()[[3]] + sec; while (proc.time()[[3]] < end) middle(2000) }
work(0.3)
cat("ready\\n"); flush(stdout())
work(1.5)
"""

CLISP = """
(defun leaf (n) (let ((s 1)) (dotimes (i n s) (setf s (mod (+ (* s 31) i) 65521)))))
(defun middle (n) (+ (leaf n) (leaf (floor n 2))))
(defun work (ms)
  (let ((end (+ (get-internal-real-time) (* ms (/ internal-time-units-per-second 1000)))))
    (loop while (< (get-internal-real-time) end) do (middle 2000))))
(mapc #'compile '(leaf middle work))
(work 300)
(format t "~%ready~%")
(finish-output)
(work 1500)
"""

# A forked child, called "child", compiles a function of its own.
PHP_FORK = scripts.PHP.split("work(0.3)")[0] + """
work(0.3);
function other($n) { $s = 2; for ($i = 0; $i < $n; $i++) $s = ($s * 17 + $i) % 65521; return $s; }
function own($seconds) { $s = 0; $end = microtime(true) + $seconds;
	while (microtime(true) < $end) $s += other(20000); return $s; }
if (!pcntl_fork()) {
	file_put_contents('/proc/self/comm', 'child'); own($argv[1] / 1000); exit(0); }
usleep(300000);
echo "ready\\n";
pcntl_wait($status);
"""

PYTHON_FORK = scripts.PYTHON.split("work(0.2)")[0] + """
work(0.2)
for _ in range(2):
    if not os.fork():
        work(float(sys.argv[1]) / 1000)
        os._exit(0)
os.write(1, b"ready\\n")
work(float(sys.argv[1]) / 1000)
os.wait()
os.wait()
"""

NUMBA = """
import os, sys, time, numba
@numba.njit
def leaf(n):
    s = 1
    for i in range(n):
        s = (s * 31 + i) % 65521
    return s
@numba.njit
def middle(n):
    return leaf(n) + leaf(n >> 1)
def work(seconds):
    end = time.time() + seconds
    while time.time() < end:
        middle(300000)
work(0.2)
os.write(1, b"ready\\n")
work(1.5)
"""

# PROFILER: how wasmtime publishes names.
WASMTIME = """
import os, sys, time, wasmtime
config = wasmtime.Config()
config.profiler = "PROFILER"
store = wasmtime.Store(wasmtime.Engine(config))
module = wasmtime.Module(store.engine, '''(module
  (func $leaf (param i32 i32) (result i32)
    (i32.rem_u (i32.add (i32.mul (local.get 0) (i32.const 7)) (local.get 1)) (i32.const 13)))
  (func $mid (param i32) (result i32) (local $i i32) (local $s i32)
    (loop $again
      (local.set $s (i32.add (local.get $s) (call $leaf (local.get $i) (local.get $s))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (local.get 0))))
    (local.get $s))
  (func (export "run") (param i32) (local $i i32)
    (loop $again
      (drop (call $mid (i32.const 200)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (local.get 0))))))''')
run = wasmtime.Instance(store, module, []).exports(store)["run"]
def work(seconds):
    end = time.time() + seconds
    while time.time() < end:
        run(store, 1000)
work(0.2)
os.write(1, b"ready\\n")
work(1.5)
"""

# Compiles its second half after the warm-up.
TWO_PHASES = scripts.JAVA.replace("public static void main", """
	static int other(int n) {
		int s = 7;
		for (int i = 0; i < n; i++)
			s = (s * 17 + i) % 65519;
		return s;
	}
	static int otherOuter(int n) {
		int s = 0;
		for (int i = 0; i < 20; i++)
			s += other(n + i) + other(n / 2);
		return s;
	}
	static int second(long ms) {
		long end = System.nanoTime() + ms * 1000000L;
		int s = 0;
		while (System.nanoTime() < end)
			s += otherOuter(3000);
		return s;
	}
	public static void main""").replace("s += work(Long", "s += second(Long")
DEEP_JAVA = scripts.JAVA.replace("middle(n + i, 4)", "middle(n + i, 400)")

GO = """
package main
import ("fmt"; "sort"; "time")
//go:noinline
func leaf(n int) int { s := 1; for i := 0; i < n; i++ { s = (s*31 + i) % 65521 }; return s }
//go:noinline
func middle(n int) int { return leaf(n) + leaf(n/2) }
func work(end time.Time, done chan int) {
	s := 0
	for time.Now().Before(end) {
		s += middle(20000)
		a := []int{5, 2, 8, 1}
		sort.Ints(a)
	}
	done <- s
}
func main() {
	fmt.Println("ready")
	done := make(chan int)
	end := time.Now().Add(1500 * time.Millisecond)
	go work(end, done)
	go work(end, done)
	<-done
	<-done
}
"""

CGO = """
package main

// static int work(int n) { int s = 1; while (n > 0) s = (s * 31 + n--) % 65521; return s; }
import "C"
import (
	"fmt"
	"time"
)

func main() {
	fmt.Println("ready")
	for s, end := C.int(0), time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		s += C.work(100000)
	}
}
"""

# Spends its time in .NET's own libraries.
PRECOMPILED = scripts.CSHARP.replace(
    "Middle(20000)", "string.Join(\",\", new[] {\"a\", s.ToString()}).Length")

WAZERO = """
package main
import ("context"; "fmt"; "time"; "github.com/tetratelabs/wazero")
var bytes = []byte{0,97,115,109,1,0,0,0,1,6,1,96,1,127,1,127,3,2,1,0,7,7,1,3,114,117,110,0,0,10,38,
1,36,1,2,127,3,64,32,2,65,31,108,32,1,106,65,241,255,3,112,33,2,32,1,65,1,106,34,1,32,0,72,13,0,11,
32,2,11}
func main() {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	m, err := r.Instantiate(ctx, bytes)
	if err != nil { panic(err) }
	run := m.ExportedFunction("run")
	fmt.Println("ready")
	end := time.Now().Add(1500 * time.Millisecond)
	for time.Now().Before(end) { run.Call(ctx, 300000) }
}
"""

RUST = """
use std::collections::HashMap;
use std::time::{Duration, Instant};
#[inline(never)]
fn count(words: &[String]) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for word in words { *counts.entry(word.clone()).or_insert(0) += 1; }
    counts
}
#[inline(never)]
fn outer(words: &mut Vec<String>) -> usize {
    words.sort();
    words.rotate_left(7);
    count(words).len()
}
fn main() {
    let mut words: Vec<String> = (0..20000u32)
        .map(|i| format!("word{}", i.wrapping_mul(2654435761) % 5000)).collect();
    println!("ready");
    let end = Instant::now() + Duration::from_millis(1500);
    let mut sum = 0;
    while Instant::now() < end { sum += outer(&mut words); }
    if sum == 42 { println!("{}", sum); }
}
"""

JSC = FUNCTIONS + "work(Date.now() + 300);\nprint('ready');\nwork(Date.now() + 1500);\n"

QML = "import QtQml 2.2\nQtObject {" + FUNCTIONS + """
Component.onCompleted: { work(Date.now() + 300); console.log("ready"); work(Date.now() + 1500);
                         Qt.quit() } }
"""


def call_from_python(begin: str, call: str) -> str:
    """Returns a program that calls JavaScript's work(): @begin opens an engine, @call evaluates
    SOURCE in it."""
    return "\n".join([
        begin, call.replace("SOURCE", repr(FUNCTIONS + "work(Date.now() + 300)")),
        "print('ready', flush=True)", call.replace("SOURCE", repr("work(Date.now() + 1500)")), ""])


MONKEY = call_from_python("import pythonmonkey", "pythonmonkey.eval(SOURCE)")
RACER = call_from_python("from py_mini_racer import MiniRacer\nengine = MiniRacer()",
                         "engine.eval(SOURCE)")
STPYV8 = call_from_python("import STPyV8\nengine = STPyV8.JSContext()\nengine.enter()",
                          "engine.eval(SOURCE)")
QUICKJS = call_from_python("import quickjs\nengine = quickjs.Context()", "engine.eval(SOURCE)")

PROLOG = """
leaf(0, S, S) :- !.
leaf(N, S, R) :- S1 is (S * 31 + N) mod 65521, N1 is N - 1, leaf(N1, S1, R).
work(End) :- get_time(T), ( T >= End -> true ; leaf(20000, 1, _), work(End) ).
main :- write(ready), nl, flush_output, get_time(T), End is T + 1.5, work(End).
"""
