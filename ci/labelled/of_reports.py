# SPDX-License-Identifier: GPL-2.0-only
"""Captures of set-ups that people describe in public reports: engines within other programs,
mistakes of runtimes, killed and restarted processes."""

import glob
import os
import re
import shutil
import signal
import time
from typing import Callable, Sequence

from ci.base import process
from ci.labelled import engine_scripts as sources
from ci.labelled import programs, scripts
from ci.labelled.bench import Bench, find_descendant
from ci.labelled.of_engines import (AT_EXIT, EMITTED, EMITTED_DUMPS, INTERPRETED, KEEP, LIB, NO_FP,
                                    add_python, add_script, find_node, prepare_java)
from ci.labelled.of_runtimes import CHAINS, DUMPS
from ci.labelled.recipe import register

HIDDEN = "stacks:%s names:no-name-source" % NO_FP
DUMP = ("--perf-prof", "--interpreted-frames-native-stack")


def add(name: str, label: str, version: str, command: Callable[[Bench], list[str]],
        record: Sequence[str] = CHAINS, inject: str = "",
        after: Callable[[Bench], object] | None = None) -> None:
    @register(name, label)
    def make(bench: Bench) -> None:
        bench.launch(version, record, command(bench), inject=inject)
        if after:
            after(bench)


def build_wrong(*options: str) -> Callable[[Bench], list[str]]:
    return lambda bench: [bench.build("wrong", programs.WRONG, "-O1", "-fno-omit-frame-pointer",
                                      *options), "1500"]


LEAF = "stacks:jit-no-frame-pointer names:"
add("main-calls-7.3", LEAF + "no-name-source", "7.3", build_wrong("-DMARKER=PROT_READ"))
add("main-calls-injected-6.1", LEAF + "jitdump-wrong-clock", "6.1",
    build_wrong("-DCLOCK=CLOCK_REALTIME"), inject="6.1")
add("main-calls-late-6.12", LEAF + "jitdump-wrong-clock", "6.12",
    lambda bench: [*build_wrong()(bench), "late"], inject="6.12")
add("map-decimal-6.12", LEAF + "map-stale", "6.12", build_wrong("-DDECIMAL"))

for engine, source, package, label in (
        ("monkey", sources.MONKEY, "pythonmonkey", HIDDEN),
        ("stpyv8", sources.STPYV8, "stpyv8", "stacks:%s names:no-name-source" % LIB),
        ("jax", sources.JAX, "jax", HIDDEN)):
    add_python(engine + "-6.1", label, "3.11.7", "6.1", source, package=package)
    add_python(engine + "-dwarf-6.12", EMITTED_DUMPS, "3.11.7", "6.12", source, package=package,
               record=DUMPS)
add_python("quickjs-dwarf-6.12", INTERPRETED, "3.11.7", "6.12", sources.QUICKJS, record=DUMPS,
           package="quickjs")
add_script("ruby-yjit-6.12", HIDDEN, "6.12", "ruby", "ruby", scripts.RUBY, "hot.rb", "--yjit",
           "--yjit-call-threshold=2")
add_script("ruby-yjit-dwarf-7.3", EMITTED_DUMPS, "7.3", "ruby", "ruby", scripts.RUBY, "hot.rb",
           "--yjit", "--yjit-call-threshold=2", record=DUMPS)
add_script("tarantool-6.12", EMITTED, "6.12", "tarantool", "tarantool", scripts.LUA, "hot.lua")
add_script("tarantool-dwarf-6.1", EMITTED_DUMPS, "6.1", "tarantool", "tarantool", scripts.LUA,
           "hot.lua", record=DUMPS, attach=True)
add_script("bash-dwarf-6.1", INTERPRETED, "6.1", "bash", "bash", sources.BASH, "hot.sh",
           record=DUMPS)
add_script("swipl-dwarf-7.3", INTERPRETED, "7.3", "swipl", "swi-prolog-nox", sources.PROLOG,
           "hot.pl", "-g", "main", "-t", "halt", record=DUMPS)


def add_jsc(name: str, label: str, version: str, *options: str, record: Sequence[str] = CHAINS
            ) -> None:
    """Adds a recipe for the shell of WebKit's engine (libjavascriptcoregtk-4.0-bin)."""
    add(name, label, version, lambda bench: ["jsc", *options, bench.write("hot.js", sources.JSC)],
        record)


add_jsc("jsc-6.12", "stacks:%s|- names:no-name-source" % LIB, "6.12")
add_jsc("jsc-dwarf-6.1", EMITTED_DUMPS, "6.1", record=DUMPS)
add_jsc("jsc-interpreter-6.1", "stacks:%s names:stripped-symbols" % LIB, "6.1", "--useJIT=0")


def add_qml(name: str, label: str, version: str, *variables: str, record: Sequence[str] = CHAINS
            ) -> None:
    """Adds a recipe for Qt's QML engine, whose code is in a memfd (packages qml and
    qml-module-qtquick2)."""
    add(name, label, version, lambda bench: [
        "env", "QT_QPA_PLATFORM=offscreen", *variables, "sh", "-c", "echo ready; qml %s; true" %
        bench.write("hot.qml", sources.QML)], record)


add_qml("qml-6.1", HIDDEN, "6.1")
add_qml("qml-map-7.3", "stacks:%s names:map-not-read-for-memfd" % NO_FP, "7.3",
        "QV4_PROFILE_WRITE_PERF_MAP=1")
add_qml("qml-dwarf-7.3", EMITTED_DUMPS, "7.3", record=DUMPS)


def run_node(bench: Bench) -> list[str]:
    return [find_node(bench, "24"), *DUMP, bench.write("hot.js", sources.JAVASCRIPT)]


def run_two_nodes(bench: Bench) -> list[str]:
    return ["sh", "-c", "{0} > other & {0}; wait".format(" ".join(run_node(bench)))]


def lose_one_dump(bench: Bench) -> None:
    os.unlink(min(glob.glob(bench.place("jit-*.dump"))))
    bench.inject("ours")


@register("probe-at-entry-6.1", "stacks:%s names:-" % LIB)
def probe_entry(bench: Bench) -> None:
    """The entry follows another function without padding."""
    chain = bench.build_chain("chain", "-fno-omit-frame-pointer", "-no-pie")
    bench.launch("6.1", ("-e", "mem:%#x:x" % process.read_symbols(chain)["middle"], "-c", "1",
                         "-g"), [chain, "800"])


TIME = ["unshare", "--time", "--monotonic", "100000", "--fork"]
CLOCK = "stacks:- names:jitdump-wrong-clock"
add("node-24-time-namespace-6.12", CLOCK, "6.12", lambda bench: [*TIME, *run_node(bench)])
add("node-24-time-injected-6.12", CLOCK, "6.12", lambda bench: [*TIME, *run_node(bench)],
    inject="6.12")
add("node-24-one-dump-gone-7.3", "stacks:- names:jitdump-file-gone", "7.3", run_two_nodes,
    after=lose_one_dump)


@register("node-24-killed-6.1", "stacks:- names:map-partial")
def kill_node(bench: Bench) -> None:
    """V8 writes the jitdump in pieces of 4 KiB: SIGKILL loses the last one."""
    started = bench.start([*bench.recorder("6.1", CHAINS), "--", *run_node(bench)])
    time.sleep(1)
    name, = glob.glob(bench.place("jit-*.dump"))
    os.kill(int(re.findall(r"\d+", os.path.basename(name))[0]), signal.SIGKILL)
    started.communicate(timeout=60)
    bench.inject("6.1")


@register("java-17-restarted-6.12", "stacks:- names:map-stale")
def restart_java(bench: Bench) -> None:
    """An earlier process with the pid has left its map."""
    command = prepare_java(bench, "17", scripts.JAVA)
    first = bench.start([*command, KEEP, *AT_EXIT, "Hot", "500"])
    first.communicate(timeout=60)
    second = bench.start([*bench.recorder("6.12", CHAINS), "--", *command, KEEP, "Hot", "1500"])
    pid = find_descendant(second.pid, "java")
    second.communicate(timeout=60)
    shutil.move("/tmp/perf-%d.map" % first.pid, "/tmp/perf-%d.map" % pid)
