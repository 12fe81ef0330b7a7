# SPDX-License-Identifier: GPL-2.0-only
"""Captures of runtimes in set-ups of users: workers, engines within programs, containers, forked
children, several releases. The tree keeps few of them: their files are large."""

import glob
import os
import time
from typing import Any, Sequence

from ci.base import debian_packages, files, process
from ci.labelled import engine_scripts as sources
from ci.labelled import programs, scripts
from ci.labelled.bench import Bench, find_program, make_dump_options
from ci.labelled.of_runtimes import (
    add, BUN, CHAINS, compile_csharp, DENO, DUMP, DUMPS, find_node, find_python, install_pip, KEEP,
    MUCH_DUMPS, NATIVE, PHP_JIT, PHP_MAP, prepare_java, run_erlang, run_java, run_mono,
    run_node, run_npm, run_php, run_python, run_script)
from ci.labelled.recipe import LIB, Prepare, register
from harness.selftest.support import run_directory as rd

NO_FP = "jit-no-frame-pointer|" + LIB


def install_suite(bench: Bench, suite: str, package: str) -> str:
    """Returns the folder with a package of another Debian suite and its dependencies."""
    root = os.path.join(bench.scratch, "debian", suite + "-" + package)
    if not os.path.exists(root):
        os.makedirs(root)
        with debian_packages.Archive(suite, root + ".apt") as archive:
            debian_packages.unpack(archive.download(package), root)
    return root


def start_in_suite(root: str, program: str) -> list[str]:
    """Returns the command that runs a program of another suite with the libraries beside it."""
    libraries = root + "/usr/lib/x86_64-linux-gnu"
    return [libraries + "/ld-linux-x86-64.so.2", "--library-path", libraries,
            root + "/usr/bin/" + program]


def add_node(name: str, label: str, *options: str, source: str = sources.JAVASCRIPT, **how: Any
             ) -> None:
    """Adds a recipe for the release of node with which @name begins."""
    add("node-" + name, label, run_node(*options, source=source, release=name[:2]), **how)


DEEP = sources.DEEP_JAVASCRIPT
# libc has no frame pointers: writing the map, and waiting, costs some percent of the stacks.
SOME_LIB = "stacks:-|%s names:-" % LIB
UNNAMED = "stacks:- names:no-name-source"
NOT_INJECTED = "stacks:jitdump-not-injected names:jitdump-not-injected"
add_node("22-workers-map-6.1", SOME_LIB, *NATIVE, source=sources.WORKERS)
add_node("24-cluster-map-7.3", "healthy", *NATIVE, source=sources.CLUSTER)
add_node("22-cluster-plain-6.12", UNNAMED, source=sources.CLUSTER)
add_node("24-map-dwarf-6.12", "stacks:no-cfi-for-jit names:-", "--perf-basic-prof", record=DUMPS)
add_node("24-deep-map-6.1", "stacks:depth-limit names:-", *NATIVE, source=DEEP)
add_node("22-deep-plain-ours", "stacks:depth-limit names:no-name-source", source=DEEP)
add_node("22-wrong-clock-6.12", "stacks:- names:jitdump-wrong-clock", *DUMP, clock=False)
# V8 writes unwinding information, or an empty index with which unwinders follow frame pointers.
add_node("24-not-injected-dwarf-7.3", NOT_INJECTED, *DUMP, record=DUMPS)
add_node("24-unwinding-7.3", NOT_INJECTED, *DUMP, "--perf-prof-unwinding-info", record=MUCH_DUMPS)
add_node("24-unwinding-injected-6.12", "healthy", *DUMP, "--perf-prof-unwinding-info",
         record=MUCH_DUMPS, inject="6.12")
add_node("24-no-call-graph-7.3", "stacks:no-call-graph names:no-name-source", record=("-F", "799"))
add_node("22-user-only-6.1", "healthy", *NATIVE, record=("-e", "cpu-clock:u", *CHAINS))
add_node("24-wasm-map-6.1", "healthy", *NATIVE, source=sources.WASM_JAVASCRIPT)
add_node("22-wasm-plain-7.3", UNNAMED, source=sources.WASM_JAVASCRIPT)
add_node("24-interpreted-6.1", "names:interpreter", "--perf-basic-prof", "--no-opt",
         "--no-sparkplug", "--no-maglev")
add_node("22-only-functions-7.3", "healthy", "--perf-basic-prof-only-functions",
         "--interpreted-frames-native-stack")
add_node("24-sched-6.1", SOME_LIB, *NATIVE,
         record=("-e", "sched:sched_switch", "-e", "cpu-clock", *CHAINS))
# Attaches to a running node without a snapshot of its mappings.
add_node("24-older-6.12", "older-code", *NATIVE, source=scripts.JAVASCRIPT.replace("MS", "6000"),
         record=(*CHAINS, "--synth=task"), attach=True)


def run_copy_of_node(bench: Bench) -> list[str]:
    home = bench.place("node")
    bench.must(["cp", find_node(bench, "24"), home])
    return [home, "--jitless", bench.write("hot.js", sources.JAVASCRIPT)]


# The recording is read on a machine without the program.
add("node-24-elsewhere-6.1", "stacks:-|%s names:missing-file" % LIB, run_copy_of_node,
    after=lambda bench: bench.must(["rm", bench.place("node")]))
# Node with a map for a short time, and LuaJIT for a longer one.
add("two-runtimes-6.1", "stacks:jit-no-frame-pointer names:no-name-source", lambda bench: [
    "sh", "-c", "%s %s %s & exec luajit %s 3000" % (
        find_node(bench, "24"), " ".join(NATIVE),
        bench.write("hot.js", scripts.JAVASCRIPT.replace("MS", "400")),
        bench.write("hot.lua", scripts.LUA))])

add("deno-map-6.12", "stripped-symbols", run_npm(
    *DENO, "--v8-flags=--perf-basic-prof,--interpreted-frames-native-stack"))
add("deno-not-injected-7.3", "stacks:- names:jitdump-not-injected", run_npm(
    *DENO, "--v8-flags=" + ",".join(DUMP)))


def run_bun(bench: Bench) -> Sequence[str]:
    """Prepares Bun, whose jitdump has a name that perf does not know."""
    bench.set_variable("BUN_JSC_useJITDump", "1")
    return BUN(bench)


add("bun-dump-6.1", "stacks:- names:damaged-jitdump", run_bun)

INTERPRETED = "names:interpreter|stripped-symbols"
EMITTED = "stacks:jit-no-frame-pointer names:no-name-source"
EMITTED_DUMPS = "stacks:no-cfi-for-jit names:no-name-source"
HIDDEN = "stacks:%s names:no-name-source" % NO_FP
GJS = run_script("gjs", "gjs", sources.GJS, "hot.js")
add("gjs-7.3", HIDDEN, GJS)
add("gjs-dwarf-6.1", EMITTED_DUMPS, GJS, record=DUMPS)
add("luajit-interpreter-6.12", "stacks:%s names:stripped-symbols" % LIB, run_script(
    "luajit", "luajit", scripts.LUA, "hot.lua", "-joff"))
add("nvim-6.1", EMITTED, run_script(
    "nvim", "neovim", scripts.LUA.replace("tonumber(arg[1])", "1500") + "vim.cmd('qa!')\n",
    "hot.lua", "--headless", "-u", "NONE", "-S"))
add("lua-dwarf-6.1", INTERPRETED, run_script("lua5.4", "lua5.4", scripts.LUA, "hot.lua"),
    record=DUMPS)
add("pypy-jitless-dwarf-7.3", INTERPRETED, run_script(
    "pypy3", "pypy3", scripts.PYTHON, "hot.py", "--jit", "off"), record=DUMPS)
add("pypy-attached-dwarf-6.12", EMITTED_DUMPS, run_script(
    "pypy3", "pypy3", scripts.PYTHON, "hot.py", ms=6000), record=DUMPS, attach=True)
add("chez-6.1", EMITTED, run_script("chezscheme", "chezscheme", sources.CHEZ, "hot.scm",
                                    "--script"))
add("racket-6.12", EMITTED, run_script("racket", "racket", sources.RACKET, "hot.rkt"))
add("polyml-6.1", EMITTED, run_script("poly", "polyml", sources.POLY, "hot.ml", "--script"))
add("gforth-6.1", "stacks:%s names:interpreter" % LIB,
    run_script("gforth", "gforth", sources.FORTH, "hot.fs"))
add("r-dwarf-6.12", INTERPRETED, run_script(
    "/usr/lib/R/bin/exec/R", "r-base-core", sources.R, "hot.R", "--no-echo", "--no-restore",
    "--vanilla", "-f"), record=DUMPS)
CLISP = "/usr/lib/clisp-2.49.93+/base/"
add("clisp-dwarf-6.1", "stacks:dump-too-small " + INTERPRETED, run_script(
    CLISP + "lisp.run", "clisp", sources.CLISP, "hot.lisp", "-M", CLISP + "lispinit.mem"),
    record=DUMPS)
add("php-map-dwarf-6.1", "stacks:no-cfi-for-jit names:-", run_php(*PHP_JIT, *PHP_MAP),
    record=DUMPS)


def add_php_child(name: str, label: str, *jit: str) -> None:
    """Adds a recipe that attaches to a forked child, which compiles code of its own."""
    add(name, label, run_script("php", "php8.2-cli", sources.PHP_FORK, "fork.php", *PHP_JIT, *jit,
                                ms=6000), attach=True, descendant="child",
        after=lambda bench: bench.extra.extend(glob.glob("/tmp/perf-%d.map" % bench.launched)))


# PHP adds the child's code to the map of its parent.
add_php_child("php-child-map-6.12", "stacks:jit-no-frame-pointer names:map-partial", *PHP_MAP)
add_php_child("php-child-plain-6.12", EMITTED)

LIB_ALONE = "stacks:%s names:-" % LIB
add("python-3.13-map-6.12", LIB_ALONE, run_python("3.13.0", "-X", "perf"))
add("python-3.13-map-dwarf-6.1", "stacks:no-cfi-for-jit names:-",
    run_python("3.13.0", "-X", "perf"), record=MUCH_DUMPS)
add("python-3.13-not-injected-6.12", NOT_INJECTED, run_python("3.13.0", "-X", "perf_jit"),
    record=MUCH_DUMPS)
add("python-3.13-fork-dump-7.3", "stacks:no-cfi-for-jit names:damaged-jitdump|empty-jitdump",
    run_python("3.13.0", "-X", "perf_jit", source=sources.PYTHON_FORK),
    record=make_dump_options(16384, 99))
add("python-3.12-fork-map-7.3", LIB_ALONE,
    run_python("3.12.1", "-X", "perf", source=sources.PYTHON_FORK))
add("python-3.13-plain-small-6.1", "stacks:dump-too-small", run_python("3.13.0"),
    record=make_dump_options(512, 149))


def run_new_python(bench: Bench) -> list[str]:
    root = install_suite(bench, "sid", "python3.14")
    bench.set_variable("PYTHONHOME", root + "/usr")
    return [*start_in_suite(root, "python3.14"), "-X", "perf",
            bench.write("hot.py", scripts.PYTHON), "1500"]


def run_new_ruby(bench: Bench) -> list[str]:
    root = install_suite(bench, "trixie", "ruby")
    bench.set_variable("RUBYLIB", "{0}/usr/lib/ruby/3.3.0:{0}/usr/lib/x86_64-linux-gnu/ruby/3.3.0"
                       .format(root))
    return [*start_in_suite(root, "ruby3.3"), "--disable-gems",
            bench.write("hot.rb", scripts.RUBY), "1500"]


add("python-3.14-map-7.3", "stacks:%s names:stripped-symbols|-" % LIB, run_new_python)
add("ruby-3.3-plain-7.3", "stacks:%s names:stripped-symbols|interpreter" % LIB, run_new_ruby)


def run_wasmtime(profiler: str) -> Prepare:
    source = sources.WASMTIME.replace("PROFILER", profiler)
    return run_python("3.11.7", package="wasmtime", source=source if profiler else
                      source.replace('config.profiler = ""\n', ""))


add("python-wasmtime-plain-6.1", "stacks:%s names:no-name-source" % LIB, run_wasmtime(""))
add("python-wasmtime-map-7.3", LIB_ALONE, run_wasmtime("perfmap"))
add("python-wasmtime-injected-dwarf-6.12", "stacks:no-cfi-for-jit names:-", run_wasmtime("jitdump"),
    record=DUMPS, inject="6.12")
add("python-wasmtime-wrong-clock-6.1", "stacks:%s names:jitdump-wrong-clock" % LIB,
    run_wasmtime("jitdump"), clock=False)
add("python-numba-6.1", HIDDEN, run_python("3.11.7", source=sources.NUMBA, package="numba"))
add("python-numba-dwarf-7.3", EMITTED_DUMPS, run_python(
    "3.11.7", source=sources.NUMBA.replace("work(1.5)", "work(9)"), package="numba"),
    record=DUMPS, attach=True)
add("python-mini-racer-6.1", "stacks:%s|- names:no-name-source" % LIB,
    run_python("3.11.7", source=sources.RACER, package="mini-racer"))

CONTAINER = ("unshare", "--pid", "--fork")
AT_EXIT = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit")


def keep_map_of_namespace(bench: Bench) -> None:
    """Keeps the perf map of a process whose pid in its namespace is small."""
    bench.extra += glob.glob("/tmp/perf-[0-9].map")


def add_java(name: str, label: str, *options: str, source: str = scripts.JAVA, **how: Any) -> None:
    """Adds a recipe for the release of OpenJDK with which @name begins."""
    add("java-" + name, label, run_java(*options, source=source, release=name[:2], ms=1500), **how)


add_java("25-map-7.3", "healthy", KEEP, *AT_EXIT)
add_java("25-no-fp-6.12", "stacks:jit-no-frame-pointer names:-", *AT_EXIT)
add_java("25-deep-6.1", "stacks:depth-limit names:no-name-source", KEEP, source=sources.DEEP_JAVA)
add_java("25-shallow-6.12", "stacks:depth-limit names:-", KEEP, *AT_EXIT,
         record=(*CHAINS, "-e", "cpu-clock/max-stack=5/"))
add_java("17-dwarf-plain-6.1", EMITTED_DUMPS, record=DUMPS)
# Each worker has a map. node 18 is not PIE, so all have code at the same addresses.
add("node-18-workers-container-6.12", "stacks:- names:pid-namespace-map", lambda bench: [
    *CONTAINER, *run_node(*NATIVE, source=sources.CLUSTER, release="18")(bench)],
    after=keep_map_of_namespace)
add("java-17-container-7.3", "stacks:- names:pid-namespace-map", lambda bench: [
    *CONTAINER, *run_java(KEEP, *AT_EXIT, ms=1500)(bench)], after=keep_map_of_namespace)


@register("java-17-early-map-6.1", "stacks:- names:map-partial|map-stale")
def make_early_map(bench: Bench) -> None:
    """Writes the map before the program compiles its second half."""
    started = bench.start([*prepare_java(bench, "17", sources.TWO_PHASES), KEEP, "Hot", "6000"])
    bench.must(["jcmd", str(started.pid), "Compiler.perfmap"])
    time.sleep(1)
    bench.must([*bench.recorder("6.1", CHAINS), "-p", str(started.pid), "--", "sleep", "1"])
    bench.stop(started, 2)


def run_dotnet(*settings: str, source: str = scripts.CSHARP) -> Prepare:
    """Prepares .NET Core 3.1, of a package for Python."""
    def prepare(bench: Bench) -> list[str]:
        home = install_pip(bench, "dotnetcore2", find_python("3.11.7")) + "/dotnetcore2/bin"
        os.chmod(home + "/dotnet", 0o755)
        bench.write("Hot.runtimeconfig.json", """{"runtimeOptions": {"framework": {
            "name": "Microsoft.NETCore.App", "version": "3.1.0"},
            "configProperties": {"System.Globalization.Invariant": true}}}""")
        for setting in settings:
            bench.set_variable(*setting.split("="))
        return [home + "/dotnet", compile_csharp(bench, "Hot.dll", source), "1500"]
    return prepare


MAP = "COMPlus_PerfMapEnabled=1"
add("dotnet-3.1-map-6.1", LIB_ALONE, run_dotnet(MAP, "TMPDIR=/tmp"))
# The runtime writes the map to $TMPDIR, where perf does not look.
add("dotnet-3.1-map-elsewhere-7.3", "stacks:%s names:no-name-source" % LIB, run_dotnet(MAP))
add("dotnet-3.1-dwarf-6.12", EMITTED_DUMPS, run_dotnet(), record=DUMPS)
add("dotnet-3.1-precompiled-6.1", "stacks:%s names:stripped-symbols" % LIB,
    run_dotnet(MAP, "TMPDIR=/tmp", source=sources.PRECOMPILED))


def keep_dumps(bench: Bench) -> None:
    pids = {one.pid for one in rd.PerfData.load(bench.data).maps()}
    bench.extra += filter(os.path.exists, ("/tmp/jit-%d.dump" % pid for pid in pids))


add("erlang-dump-6.1", "stacks:jit-no-frame-pointer names:jitdump-not-injected",
    run_erlang("+JPperf", "dump"), after=keep_dumps)
add("erlang-map-dwarf-7.3", "stacks:no-cfi-for-jit names:stripped-symbols|-",
    run_erlang("+JPperf", "map"), record=DUMPS)

add("mono-interpreter-dwarf-6.1", INTERPRETED, run_mono("--interpreter"), record=DUMPS)
add("mono-dwarf-plain-6.12", EMITTED_DUMPS, run_mono(), record=DUMPS)
add("mono-container-6.1", "stacks:%s names:pid-namespace-map" % NO_FP,
    lambda bench: [*CONTAINER, *run_mono("--jitmap")(bench)],
    after=keep_map_of_namespace)


def compile_chain(bench: Bench, compiler: str, packages: str, *options: str) -> str:
    """Compiles the chain of four functions. Returns its path."""
    process.run_or_raise([find_program(compiler, packages), "-O1", *options, "-x", "c", "-", "-o",
                          bench.place("chain")], input=programs.CHAIN, cwd=bench.folder)
    return bench.place("chain")


add("qemu-aarch64-6.12", EMITTED, lambda bench: ["qemu-aarch64", compile_chain(
    bench, "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "-static"),
    "1500"])
add("valgrind-6.1", EMITTED, lambda bench: [
    find_program("valgrind"), "--tool=none", "-q", bench.build_chain(), "1500"])
add("lli-6.1", HIDDEN, lambda bench: [
    find_program("lli-14", "llvm-14-runtime"), compile_chain(
        bench, "clang", "clang-14", "-emit-llvm", "-fno-omit-frame-pointer", "-c"), "1500"])
# tcc keeps frame pointers in the code that it compiles in memory, but has none itself.
add("tcc-run-7.3", "stacks:%s names:no-name-source" % LIB,
    run_script("tcc", "tcc", programs.CHAIN, "chain.c", "-run"))
# grep -P compiles its expression.
add("grep-pcre-6.1", EMITTED, lambda bench: [
    "sh", "-c", "echo ready; timeout 2 grep -cP '(a+)+b$' %s; true" %
    bench.write("text", ("a" * 22 + "cb\n") * 40)])


def run_go(name: str, *flags: str, source: str = sources.GO, module: str = "") -> Prepare:
    """Prepares a program of Go, in the folder @name. @module: a module that it needs."""
    def prepare(bench: Bench) -> list[str]:
        home = os.path.join(bench.scratch, "go", name)
        program = os.path.join(home, "run")
        if not os.path.exists(program):
            os.makedirs(home, exist_ok=True)
            files.write(home + "/main.go", source)
            go = find_program("go", "golang")
            for words in (["mod", "init", "run"], *([["get", module]] if module else []),
                          ["build", *flags, "-o", program, "."]):
                process.run_or_raise([go, *words], cwd=home, timeout=300)
        return [program]
    return prepare


add("healthy-go-6.12", "healthy", run_go("sum"))
add("go-stripped-7.3", "stacks:- names:stripped-symbols", run_go("stripped", "-ldflags=-s -w"))
add("go-dwarf-6.1", "stacks:no-cfi-for-jit names:-", run_go("sum"), record=DUMPS)
add("cgo-dwarf-7.3", "stacks:no-cfi-for-jit names:-", run_go("cgo", source=sources.CGO),
    record=DUMPS)
add("wazero-6.1", EMITTED, run_go("wazero", source=sources.WAZERO,
                                  module="github.com/tetratelabs/wazero@v1.9.0"))


def compile_rust(bench: Bench) -> list[str]:
    process.run_or_raise([find_program("rustc"), "-O", "-o", bench.place("sum"),
                          bench.write("sum.rs", sources.RUST)])
    return [bench.place("sum")]


add("rust-6.1", LIB_ALONE, compile_rust)
# rustc links with lld from 1.90 on, whose programs perf with libdw cannot walk.
add("healthy-rust-dwarf-6.12", "healthy", compile_rust, record=DUMPS)
