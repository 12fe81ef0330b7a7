# SPDX-License-Identifier: GPL-2.0-only
"""The scripts of the real runtimes: the same three functions in each language. Each prints "ready"
after its warm-up and runs for the number of milliseconds in its argument."""

JAVASCRIPT = """
function leaf(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 31 + i) % 65521; return s; }
function middle(n) { return leaf(n) + leaf(n >> 1); }
function outer(n) { let s = 0; for (let i = 0; i < 10; i++) s += middle(n + i); return s; }
function work(until) { let s = 0; while (Date.now() < until) s += outer(3000); return s; }
const out = s => (typeof Deno !== 'undefined' ? console.log(s)
                  : require('fs').writeSync(1, s + '\\n'));
work(Date.now() + 300);
out('ready');
work(Date.now() + MS);
"""

# Spends most of its time in functions of the runtime.
NATIVE_JAVASCRIPT = """
const keys = [...Array(200).keys()].map(i => 'k' + i);
const text = s => JSON.stringify(Object.fromEntries(keys.map(k => [k, s]))).length;
function work(until) { let s = 0; while (Date.now() < until) s += text(s); return s; }
work(Date.now() + 300);
require('fs').writeSync(1, 'ready\\n');
work(Date.now() + 1500);
"""

JAVA = """
public class Hot {
	static int leaf(int n) {
		int s = 1;
		for (int i = 0; i < n; i++)
			s = (s * 31 + i) % 65521;
		return s;
	}
	static int middle(int n, int depth) {
		return depth > 0 ? middle(n, depth - 1) + 1 : leaf(n) + leaf(n >> 1);
	}
	static int outer(int n) {
		int s = 0;
		for (int i = 0; i < 10; i++)
			s += middle(n + i, 4);
		return s;
	}
	static int work(long ms) {
		long end = System.nanoTime() + ms * 1000000L;
		int s = 0;
		while (System.nanoTime() < end)
			s += outer(3000);
		return s;
	}
	public static void main(String[] arguments) {
		int s = work(1500);
		System.out.println("ready");
		System.out.flush();
		s += work(Long.parseLong(arguments[0]));
		System.exit(s == 42 ? 1 : 0);
	}
}
"""

PYTHON = """
import os, sys, time

def leaf(n):
    s = 1
    for i in range(n):
        s = (s * 31 + i) % 65521
    return s

def middle(n):
    return leaf(n) + leaf(n >> 1)

def outer(n):
    return sum(middle(n + i) for i in range(10))

def work(seconds):
    end, s = time.time() + seconds, 0
    while time.time() < end:
        s += outer(300)
    return s

work(0.2)
os.write(1, b"ready\\n")
work(float(sys.argv[1]) / 1000)
"""

LUA = """
local function leaf(n) local s = 1 for i = 1, n do s = (s * 31 + i) % 65521 end return s end
local function middle(n) return leaf(n) + leaf(n / 2) end
local function work(seconds)
	local s, stop = 0, os.clock() + seconds
	while os.clock() < stop do s = s + middle(20000) end
	return s
end
work(0.2)
io.write("ready\\n") io.flush()
work(tonumber(arg[1]) / 1000)
"""

PHP = """<?php
function leaf($n) { $s = 1; for ($i = 0; $i < $n; $i++) $s = ($s * 31 + $i) % 65521; return $s; }
function middle($n) { return leaf($n) + leaf($n >> 1); }
function work($seconds) { $s = 0; $end = microtime(true) + $seconds;
	while (microtime(true) < $end) $s += middle(20000); return $s; }
work(0.3);
echo "ready\\n";
work($argv[1] / 1000);
"""

RUBY = """
def leaf(n) s = 1; i = 0; while i < n; s = (s * 31 + i) % 65521; i += 1; end; s end
def middle(n) leaf(n) + leaf(n / 2) end
def work(seconds)
  stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  middle(5000) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop
end
work(0.2)
$stdout.write("ready\\n")
$stdout.flush
work(ARGV[0].to_f / 1000)
"""

PERL = """
use Time::HiRes 'time';
sub leaf { my $n = shift; my $s = 1; for (my $i = 0; $i < $n; $i++) { $s = ($s * 31 + $i) % 65521; }
	return $s; }
sub middle { my $n = shift; return leaf($n) + leaf($n / 2); }
sub work { my $end = time + shift; middle(2000) while time < $end; }
work(0.2);
$| = 1;
print "ready\\n";
work($ARGV[0] / 1000);
"""

ERLANG = """
-module(hot).
-export([main/1]).
leaf(0, S) -> S;
leaf(N, S) -> leaf(N - 1, (S * 31 + N) rem 65521).
middle(N) -> leaf(N, 1) + leaf(N div 2, 1).
work(End) ->
	case erlang:monotonic_time(millisecond) < End of
		true -> middle(20000), work(End);
		false -> ok
	end.
main([Ms]) ->
	work(erlang:monotonic_time(millisecond) + 300),
	io:format("ready~n"),
	work(erlang:monotonic_time(millisecond) + list_to_integer(Ms)),
	halt(0).
"""

CSHARP = """
using System;
using System.Diagnostics;
class Hot {
	static int Leaf(int n) {
		int s = 1;
		for (int i = 0; i < n; i++)
			s = (s * 31 + i) % 65521;
		return s;
	}
	static int Middle(int n) { return Leaf(n) + Leaf(n / 2); }
	static void Work(long ms) {
		var watch = Stopwatch.StartNew();
		int s = 0;
		while (watch.ElapsedMilliseconds < ms)
			s += Middle(20000);
		if (s == 42)
			Console.WriteLine();
	}
	static void Main(string[] arguments) {
		Work(200);
		Console.WriteLine("ready");
		Work(long.Parse(arguments[0]));
	}
}
"""

LISP = """
(declaim (optimize (speed 1)))
(defun leaf (n) (let ((s 1)) (dotimes (i n s) (setf s (mod (+ (* s 31) i) 65521)))))
(defun middle (n) (+ (leaf n) (leaf (floor n 2))))
(defun work (ms)
  (let ((end (+ (get-internal-real-time) (* ms (/ internal-time-units-per-second 1000)))))
    (loop while (< (get-internal-real-time) end) do (middle 20000))))
(mapc #'compile '(leaf middle work))
(work 200)
(format t "ready~%")
(finish-output)
(work (parse-integer (second *posix-argv*)))
"""

SCHEME = """
(define (leaf n)
  (let loop ((i 0) (s 1))
    (if (= i n) s (loop (+ i 1) (modulo (+ (* s 31) i) 65521)))))
(define (middle n) (+ (leaf n) (leaf (quotient n 2))))
(define (work ms)
  (let ((end (+ (get-internal-real-time) (* ms (quotient internal-time-units-per-second 1000)))))
    (let loop () (when (< (get-internal-real-time) end) (middle 20000) (loop)))))
(work 300)
(display "ready\\n")
(force-output)
(work (string->number (cadr (command-line))))
"""

# A single backend prints the answer behind its prompt, so "ready" must follow a newline.
SQL = """
COPY (SELECT E'\\nready') TO STDOUT (FORMAT csv);

SELECT sum(CASE WHEN a % 3 = 0 THEN (a * 31 + b) % 65521 ELSE (b * 31 - a) % 65521 END),
       sum((a + b) * 7 % 11 - (a - b) * 5 % 13 + (a * 3 + b) % 17 * (b * 5 - a) % 19),
       max(a * b % 1009 + a % 23 - b % 29), min(a * 17 % 1013 - b * 19 % 1019 + a % 31)
  FROM generate_series(1, 1500) AS a, generate_series(1, 10000) AS b;

"""

# Requests the list of tools from a server of the Model Context Protocol, repeatedly.
MCP_CLIENT = """
import json, subprocess, sys, time

server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
asked = 0

def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    server.stdin.flush()

def ask(method, **params):
    global asked
    asked += 1
    send(id=asked, method=method, params=params)
    for line in server.stdout:
        if line.startswith("{") and json.loads(line).get("id") == asked:
            return

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ask("tools/list")

ask("initialize", protocolVersion="2024-11-05", capabilities={},
    clientInfo={"name": "labelled", "version": "1"})
send(method="notifications/initialized")
work(3)
print("ready", flush=True)
work(int(sys.argv[1]) / 1000)
server.stdin.close()
server.wait()
"""
