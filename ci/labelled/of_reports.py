# SPDX-License-Identifier: GPL-2.0-only
"""Captures of set-ups that people describe in public reports: engines within other programs,
mistakes of runtimes, killed and restarted processes."""

import glob
import os
import re
import shutil
import signal
import time

from ci.base import process
from ci.labelled import engine_scripts as sources
from ci.labelled import programs, scripts
from ci.labelled.bench import Bench, find_descendant, find_program, WITH_FP
from ci.labelled.of_engines import (
    AT_EXIT, EMITTED, EMITTED_DUMPS, HIDDEN, INTERPRETED, LIB_ALONE, NO_FP)
from ci.labelled.of_runtimes import (
    add, CHAINS, DUMP, DUMPS, KEEP, LIB, prepare_java, run_node, run_python, run_script)
from ci.labelled.recipe import Prepare, register
from harness.selftest.support import run_directory as rd


def run_wrong(*options: str) -> Prepare:
    return lambda bench: [bench.build("wrong", programs.WRONG, *WITH_FP, *options), "1500"]


LEAF = "stacks:jit-no-frame-pointer names:"
add("main-calls-7.3", LEAF + "no-name-source", run_wrong("-DMARKER=PROT_READ"))
add("main-calls-injected-6.1", LEAF + "jitdump-wrong-clock", run_wrong("-DCLOCK=CLOCK_REALTIME"),
    inject="6.1")
add("main-calls-late-6.12", LEAF + "jitdump-wrong-clock",
    lambda bench: [*run_wrong()(bench), "late"], inject="6.12")
add("map-decimal-6.12", LEAF + "map-stale", run_wrong("-DDECIMAL"))
add("main-calls-elsewhere-7.3", LEAF + "damaged-jitdump", run_wrong("-DOFFSET=0x100000"),
    inject="7.3")

for ENGINE, SOURCE, PACKAGE, LABEL in (
        ("monkey", sources.MONKEY, "pythonmonkey", HIDDEN),
        ("stpyv8", sources.STPYV8, "stpyv8", "stacks:%s names:no-name-source" % LIB)):
    EMBEDDED = run_python("3.11.7", source=SOURCE, package=PACKAGE)
    add("python-%s-6.1" % ENGINE, LABEL, EMBEDDED)
    add("python-%s-dwarf-6.12" % ENGINE, EMITTED_DUMPS, EMBEDDED, record=DUMPS)
add("python-quickjs-dwarf-6.12", INTERPRETED, run_python(
    "3.11.7", source=sources.QUICKJS, package="quickjs"), record=DUMPS)
YJIT = run_script("ruby", "ruby", scripts.RUBY, "hot.rb", "--yjit", "--yjit-call-threshold=2")
add("ruby-yjit-6.12", HIDDEN, YJIT)
add("ruby-yjit-dwarf-7.3", EMITTED_DUMPS, YJIT, record=DUMPS)
add("tarantool-6.12", EMITTED, run_script("tarantool", "tarantool", scripts.LUA, "hot.lua"))
add("tarantool-dwarf-6.1", EMITTED_DUMPS, run_script(
    "tarantool", "tarantool", scripts.LUA, "hot.lua", ms=6000), record=DUMPS, attach=True)
add("swipl-dwarf-7.3", INTERPRETED, run_script(
    "swipl", "swi-prolog-nox", sources.PROLOG, "hot.pl", "-g", "main", "-t", "halt"), record=DUMPS)


def run_jsc(*options: str) -> Prepare:
    """Prepares the shell of WebKit's engine (libjavascriptcoregtk-4.0-bin)."""
    return lambda bench: ["jsc", *options, bench.write("hot.js", sources.JSC)]


add("jsc-6.12", "stacks:%s|- names:no-name-source" % LIB, run_jsc())
add("jsc-dwarf-6.1", EMITTED_DUMPS, run_jsc(), record=DUMPS)
add("jsc-interpreter-6.1", "stacks:%s names:stripped-symbols" % LIB, run_jsc("--useJIT=0"))


def run_qml(*variables: str) -> Prepare:
    """Prepares Qt's QML engine, whose code is in a memfd (packages qml and
    qml-module-qtquick2)."""
    return lambda bench: ["env", "QT_QPA_PLATFORM=offscreen", *variables, "sh", "-c",
                          "echo ready; qml %s; true" % bench.write("hot.qml", sources.QML)]


add("qml-6.1", HIDDEN, run_qml())
add("qml-map-7.3", "stacks:%s names:map-not-read-for-memfd" % NO_FP,
    run_qml("QV4_PROFILE_WRITE_PERF_MAP=1"))
add("qml-dwarf-7.3", EMITTED_DUMPS, run_qml(), record=DUMPS)

# Its stacks have a hole of memory that was never touched (package openjdk-17-jre-zero).
add("java-17-zero-dwarf-7.3", "stacks:empty-dump names:interpreter",
    lambda bench: [*prepare_java(bench, "17", scripts.JAVA), "-zero", "Hot", "1500"], record=DUMPS)
# PRoot's loader maps the program, and sets the name of the process.
add("healthy-proot-6.1", "healthy", lambda bench: [find_program("proot"), bench.build_chain(
    "chain", "-static", "-fno-omit-frame-pointer"), "1500"])

NODE = run_node(*DUMP, release="24")


def run_two_nodes(bench: Bench) -> list[str]:
    return ["sh", "-c", "{0} > other & {0}; wait".format(" ".join(NODE(bench)))]


def lose_one_dump(bench: Bench) -> None:
    os.unlink(min(glob.glob(bench.place("jit-*.dump"))))
    bench.inject("ours")


@register("probe-at-entry-6.1", LIB_ALONE)
def probe_entry(bench: Bench) -> None:
    """The entry follows another function without padding."""
    chain = bench.build_chain("chain", "-fno-omit-frame-pointer", "-no-pie")
    bench.launch("6.1", ("-e", "mem:%#x:x" % process.read_symbols(chain)["middle"], "-c", "1",
                         "-g"), [chain, "800"])


@register("return-probe-dwarf-6.1", "stacks:no-cfi-for-jit names:-")
def probe_return(bench: Bench) -> None:
    chain, probe = bench.build_chain(), [bench.perf("6.1"), "probe", "-q"]
    bench.extra.append(chain)
    bench.must([*probe, "-x", chain, "outer%return"])
    try:
        bench.launch("6.1", ("-e", "cpu-clock", "-e", "probe_chain:*", *DUMPS), [chain, "1200"])
    finally:
        bench.must([*probe, "-d", "probe_chain:*"])


def run_in_time_namespace(bench: Bench) -> list[str]:
    return ["unshare", "--time", "--monotonic", "100000", "--fork", *NODE(bench)]


add("node-24-time-namespace-6.12", "stacks:- names:jitdump-wrong-clock", run_in_time_namespace)
add("node-24-time-injected-6.12", "stacks:- names:jitdump-wrong-clock", run_in_time_namespace,
    inject="6.12")
add("node-24-one-dump-gone-7.3", "stacks:- names:jitdump-file-gone", run_two_nodes,
    after=lose_one_dump)


@register("node-24-killed-6.1", "stacks:- names:map-partial")
def kill_node(bench: Bench) -> None:
    """V8 writes the jitdump in pieces of 4 KiB: SIGKILL loses the last one."""
    started = bench.start([*bench.recorder("6.1", CHAINS), "--", *NODE(bench)])
    time.sleep(1)
    name, = glob.glob(bench.place("jit-*.dump"))
    os.kill(int(re.findall(r"\d+", os.path.basename(name))[0]), signal.SIGKILL)
    started.communicate(timeout=60)
    bench.inject("6.1")


def keep_map_of_child(bench: Bench) -> None:
    """Keeps the map of a process that has samples, but no mapping records."""
    pids = {one.pid for one in rd.PerfData.load(bench.data).samples()}
    bench.extra += filter(os.path.exists, ("/tmp/perf-%d.map" % pid for pid in pids))


# perf asks for the map of the parent, which mapped the code.
add("map-of-child-6.1", "stacks:- names:map-partial", lambda bench: [
    bench.build("parent", programs.MAP_OF_CHILD, *WITH_FP), "1200"], after=keep_map_of_child)


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
