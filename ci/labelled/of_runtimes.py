# SPDX-License-Identifier: GPL-2.0-only
"""Captures of real runtimes, each with each of its ways to publish names."""

import os
import time
from typing import Sequence

from ci.base import debian_packages, process
from ci.base.status import Missing
from ci.labelled import scripts
from ci.labelled.bench import Bench, get_chain_options, find_descendant, find_program
from ci.labelled.recipe import register

CHAINS = ("-g", "-F", "799")
DUMPS = ("--call-graph", "dwarf,8192", "-F", "149")


def write_javascript(bench: Bench) -> str:
    return bench.write("hot.js", scripts.JAVASCRIPT.replace("MS", "1500"))


def add_node(name: str, label: str, version: str, *options: str, record: Sequence[str] = (),
             inject: str = "", without_dump: bool = False, source: str = "") -> None:
    @register("node-" + name, label)
    def make_capture(bench: Bench) -> None:
        command = [find_program("node", "apt-get install nodejs"), *options,
                   bench.write("hot.js", source) if source else write_javascript(bench)]
        bench.launch(version, record or get_chain_options(version, 799), command, inject=inject)
        if without_dump:
            bench.remove_jitdumps()


NATIVE = ("--perf-basic-prof", "--interpreted-frames-native-stack")
add_node("map-6.1", "healthy", "6.1", *NATIVE)
add_node("map-ours", "healthy", "ours", *NATIVE)
add_node("injected-7.3", "healthy", "7.3", "--perf-prof", "--interpreted-frames-native-stack",
         inject="7.3")
add_node("plain-6.12", "no-name-source", "6.12")
add_node("not-injected-6.1", "jitdump-not-injected", "6.1", "--perf-prof")
add_node("dump-gone-7.2", "jitdump-file-gone", "7.2", "--perf-prof", without_dump=True)
add_node("dwarf-6.1", "no-cfi-for-jit", "6.1", "--perf-basic-prof", record=DUMPS)
add_node("jitless-6.1", "interpreter", "6.1", "--jitless")
# Node copies its text to anonymous memory, where perf finds no names for its own functions.
LARGE = (*NATIVE, "--use-largepages=on")
add_node("large-pages-6.1", "no-name-source", "6.1", *LARGE, source=scripts.NATIVE_JAVASCRIPT,
         record=("-g", "-F", "199"))
add_node("large-pages-ours", "no-name-source", "ours", *LARGE, source=scripts.NATIVE_JAVASCRIPT)
add_node("large-pages-dwarf-7.3", "no-cfi-for-jit", "7.3", *LARGE, source=scripts.NATIVE_JAVASCRIPT,
         record=DUMPS)


def add_java(name: str, label: str, version: str, *options: str, record: Sequence[str] = (),
             perf_map: bool = False, attach: bool = True) -> None:
    @register("java-" + name, label)
    def make_capture(bench: Bench) -> None:
        binary = find_program("java", "apt-get install openjdk-17-jdk-headless")
        bench.write("Hot.java", scripts.JAVA)
        bench.must([os.path.join(os.path.dirname(os.path.realpath(binary)), "javac"), "Hot.java"])
        command = [os.path.realpath(binary), "-XX:+UseSerialGC", *options, "-cp", bench.folder,
                   "Hot", "6000" if attach else "4000"]

        def dump() -> None:
            if not attach:
                time.sleep(2.5)  # code compiled later is not in the map
            pid = bench.pid or find_descendant(bench.launched, "java")
            bench.must(["jcmd", str(pid), "Compiler.perfmap"])
        asked, meanwhile = record or get_chain_options(version, 799), dump if perf_map else None
        if attach:
            bench.attach(version, asked, command, meanwhile=meanwhile)
        else:
            bench.launch(version, asked, command, meanwhile=meanwhile)


KEEP = "-XX:+PreserveFramePointer"
add_java("map-6.1", "healthy", "6.1", KEEP, perf_map=True)
add_java("map-launched-ours", "healthy", "ours", KEEP, perf_map=True, attach=False,
         record=("-F", "299"))
add_java("no-fp-6.1", "jit-no-frame-pointer", "6.1", perf_map=True)
add_java("no-fp-plain-7.3", "jit-no-frame-pointer no-name-source", "7.3")
add_java("no-fp-ours", "jit-no-frame-pointer", "ours", perf_map=True)
add_java("no-map-6.12", "no-name-source", "6.12", KEEP)
add_java("dwarf-6.1", "no-cfi-for-jit", "6.1", perf_map=True, record=DUMPS)
add_java("task-7.2", "older-code", "7.2", KEEP, record=(*CHAINS, "--synth=task"))
add_java("int-6.1", "interpreter", "6.1", "-Xint", KEEP, perf_map=True)


def add_script(name: str, label: str, version: str, program: str, package: str, source: str,
               file: str, *options: str, record: Sequence[str] = (), attach: bool = False,
               inject: str = "") -> None:
    """Adds a recipe for a runtime whose arguments are a file and a number of milliseconds."""
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        command = [find_program(program, package), *options, bench.write(file, source), "1500"]
        if attach:
            bench.attach(version, record or get_chain_options(version, 799), command)
        else:
            bench.launch(version, record or get_chain_options(version, 799), command, inject=inject)


def add_luajit(name: str, label: str, version: str, attach: bool = False,
               record: Sequence[str] = ()) -> None:
    add_script("luajit-" + name, label, version, "luajit", "apt-get install luajit", scripts.LUA,
               "hot.lua", attach=attach, record=record)


add_luajit("6.1", "jit-no-frame-pointer no-name-source", "6.1")
add_luajit("ours", "jit-no-frame-pointer no-name-source", "ours", attach=True)
add_luajit("dwarf-7.3", "no-cfi-for-jit no-name-source", "7.3", record=DUMPS)

add_script("pypy-6.1", "jit-no-frame-pointer no-name-source", "6.1", "pypy3",
           "apt-get install pypy3", scripts.PYTHON, "hot.py")

# PHP does not compile a recently written script, unless file_update_protection is 0.
PHP_JIT = ("-d", "opcache.file_update_protection=0", "-d", "opcache.enable_cli=1",
           "-d", "opcache.jit_buffer_size=64M", "-d", "opcache.jit=tracing")


def add_php(name: str, label: str, version: str, *options: str, record: Sequence[str] = ()) -> None:
    add_script("php-" + name, label, version, "php", "apt-get install php8.2-cli php8.2-opcache",
               scripts.PHP, "hot.php", *options, record=record)


add_php("jit-6.1", "jit-no-frame-pointer no-name-source", "6.1", *PHP_JIT)
add_php("jit-map-7.3", "jit-no-frame-pointer", "7.3", *PHP_JIT, "-d", "opcache.jit_debug=16")
add_php("interpreter-6.1", "interpreter", "6.1", record=("--call-graph", "dwarf,32768", "-F", "99"))

PYTHON_DEBIAN = "/usr/bin/python3.11"
add_script("python-dwarf-6.1", "interpreter", "6.1", PYTHON_DEBIAN, "apt-get install python3.11",
           scripts.PYTHON, "hot.py", record=DUMPS)
add_script("python-dwarf-ours", "interpreter", "ours", PYTHON_DEBIAN, "apt-get install python3.11",
           scripts.PYTHON, "hot.py", record=("-F", "149", "--stack", "8192", "--no-chain"))
add_script("perl-dwarf-7.3", "interpreter", "7.3", "perl", "apt-get install perl", scripts.PERL,
           "hot.pl", record=DUMPS)
add_script("ruby-dwarf-6.12", "interpreter stripped-symbols", "6.12", "ruby",
           "apt-get install ruby", scripts.RUBY, "hot.rb", record=DUMPS)
add_script("python-fp-6.1", "library-no-frame-pointer", "6.1", PYTHON_DEBIAN,
           "apt-get install python3.11", scripts.PYTHON, "hot.py")
add_script("perl-fp-ours", "library-no-frame-pointer", "ours", "perl", "apt-get install perl",
           scripts.PERL, "hot.pl")

PYENV = os.path.expanduser("~/.pyenv/versions/")


def add_python(name: str, label: str, number: str, version: str, *options: str,
               record: Sequence[str] = (), inject: str = "") -> None:
    add_script("python-" + name, label, version, PYENV + number + "/bin/python3",
               "pyenv install " + number, scripts.PYTHON, "hot.py", *options, record=record,
               inject=inject)


add_python("3.12-map-6.1", "library-no-frame-pointer", "3.12.1", "6.1", "-X", "perf")
add_python("3.13-jitdump-7.3", "healthy", "3.13.0", "7.3", "-X", "perf_jit",
           record=("--call-graph", "dwarf,32768", "-F", "149"), inject="7.3")


def add_erlang(name: str, label: str, version: str, *options: str) -> None:
    @register("erlang-" + name, label)
    def make_capture(bench: Bench) -> None:
        erl = find_program("erl", "apt-get install erlang-base")
        bench.write("hot.erl", scripts.ERLANG)
        bench.must([find_program("erlc", "apt-get install erlang-base"), "hot.erl"])
        bench.launch(version, get_chain_options(version, 799),
                     [erl, "-noshell", "+S", "1", *options, "-run",
                                                    "hot", "main", "1500"])


add_erlang("plain-6.1", "no-name-source jit-no-frame-pointer", "6.1")
add_erlang("map-6.12", "jit-no-frame-pointer library-no-frame-pointer", "6.12", "+JPperf", "map")


def add_mono(name: str, label: str, version: str, *options: str, debug: str = "") -> None:
    @register("mono-" + name, label)
    def make_capture(bench: Bench) -> None:
        if debug:
            bench.set_variable("MONO_DEBUG", debug)
        bench.write("Hot.cs", scripts.CSHARP)
        bench.must([find_program("mcs", "apt-get install mono-mcs"), "Hot.cs"])
        bench.launch(version, get_chain_options(version, 799), [
            find_program("mono", "apt-get install mono-runtime"), *options, bench.place("Hot.exe"),
            "1500"])


add_mono("plain-6.1", "jit-no-frame-pointer library-no-frame-pointer", "6.1")
add_mono("map-7.2", "jit-no-frame-pointer library-no-frame-pointer", "7.2", "--jitmap")
add_mono("frames-6.12", "library-no-frame-pointer", "6.12", "--jitmap", debug="disable_omit_fp")

add_script("sbcl-6.1", "no-name-source", "6.1", "sbcl", "apt-get install sbcl", scripts.LISP,
           "hot.lisp", "--script")
add_script("guile-6.12", "jit-no-frame-pointer no-name-source", "6.12", "guile",
           "apt-get install guile-3.0", scripts.SCHEME, "hot.scm", "--no-auto-compile", "-s")


@register("qemu-6.1", "jit-no-frame-pointer no-name-source")
def make_qemu(bench: Bench) -> None:
    """Records qemu-user, whose version 7.2 publishes its translated code neither in a perf map nor
    in a jitdump."""
    emulator = find_program("qemu-x86_64", "apt-get install qemu-user")
    bench.launch("6.1", CHAINS, [emulator, bench.build_chain("chain", "-static"), "1500"])


def install_qemu_user(bench: Bench) -> str:
    """Returns the path of Debian 13's program, which can write a map or a jitdump and needs no
    libraries."""
    home = os.path.join(bench.scratch, "qemu")
    path = os.path.join(home, "root/usr/bin/qemu-x86_64")
    if not os.path.exists(path):
        os.makedirs(home, exist_ok=True)
        with debian_packages.Archive("trixie", home) as archive:
            version = archive.candidate("qemu-user")
            if not version:
                raise Missing("Debian 13 has no qemu-user")
            debian_packages.unpack([archive.fetch("qemu-user", version, home)],
                                   os.path.join(home, "root"))
    return path


def add_new_qemu(name: str, label: str, version: str, *options: str, record: Sequence[str] = CHAINS,
                 inject: str = "") -> None:
    @register("qemu-" + name, label)
    def make_capture(bench: Bench) -> None:
        bench.launch(version, record, [
            install_qemu_user(bench), *options, bench.build_chain("chain", "-static"), "1500"],
            inject=inject)


add_new_qemu("map-6.1", "jit-no-frame-pointer", "6.1", "-perfmap")
add_new_qemu("dump-7.2", "jit-no-frame-pointer jitdump-not-injected", "7.2", "-jitdump")
add_new_qemu("injected-7.3", "jit-no-frame-pointer", "7.3", "-jitdump", inject="7.3")
add_new_qemu("dwarf-6.12", "no-cfi-for-jit", "6.12", "-perfmap", record=DUMPS)


def install_npm_binary(bench: Bench, package: str, binary: str) -> str:
    """Returns the path of a program of an npm package, which is installed if necessary."""
    home = os.path.join(bench.scratch, "npm", package)
    path = os.path.join(home, "node_modules", binary)
    if not os.path.exists(path):
        os.makedirs(home, exist_ok=True)
        process.run_or_raise([find_program("npm", "apt-get install npm"), "install", "--prefix",
                              home,
                              package], timeout=300)
    return path


def add_npm(name: str, label: str, version: str, package: str, binary: str, *options: str) -> None:
    """Adds a recipe for a program of an npm package. The tree does not keep the capture, since the
    program has 100 MB."""
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        path = install_npm_binary(bench, package, binary)
        bench.launch(version, get_chain_options(version, 799),
                     [path, *options, write_javascript(bench)])


add_npm("deno-6.1", "no-name-source stripped-symbols", "6.1", "@deno/linux-x64-glibc",
        "@deno/linux-x64-glibc/deno", "run", "-A")
add_npm("bun-7.3", "no-name-source", "7.3", "@oven/bun-linux-x64", "@oven/bun-linux-x64/bin/bun")
