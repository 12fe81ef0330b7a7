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
               file: str, *options: str, record: Sequence[str] = CHAINS, attach: bool = False
               ) -> None:
    """Adds a recipe for a program that takes a script, and a number of milliseconds."""
    @register(name, label)
    def make(bench: Bench) -> None:
        command = [find_program(program, "apt-get install " + package), *options,
                   bench.write(file, source), "6000" if attach else "1500"]
        if attach:
            bench.attach(version, record, command)
        else:
            bench.launch(version, record, command)


OURS = ("-F", "799")
for made, record in (("6.1", CHAINS), ("ours", OURS)):
    add_script("luajit-" + made, "jit-no-frame-pointer no-name-source", made, "luajit", "luajit",
               scripts.LUA, "hot.lua", attach=made == "ours", record=record)
add_script("luajit-dwarf-7.3", "no-cfi-for-jit no-name-source", "7.3", "luajit", "luajit",
           scripts.LUA, "hot.lua", record=DUMPS)
add_script("pypy-6.1", "jit-no-frame-pointer no-name-source", "6.1", "pypy3",
           "pypy3", scripts.PYTHON, "hot.py")

# PHP does not compile a recently written script, unless file_update_protection is 0.
PHP_JIT = ("-d", "opcache.file_update_protection=0", "-d", "opcache.enable_cli=1",
           "-d", "opcache.jit_buffer_size=64M", "-d", "opcache.jit=tracing")


def add_php(name: str, label: str, version: str, *options: str, record: Sequence[str] = CHAINS
            ) -> None:
    add_script("php-" + name, label, version, "php", "php8.2-cli php8.2-opcache",
               scripts.PHP, "hot.php", *options, record=record)


add_php("jit-6.1", "jit-no-frame-pointer no-name-source", "6.1", *PHP_JIT)
add_php("jit-map-7.3", "jit-no-frame-pointer", "7.3", *PHP_JIT, "-d", "opcache.jit_debug=16")
add_php("interpreter-6.1", "interpreter", "6.1", record=("--call-graph", "dwarf,32768", "-F", "99"))

PYTHON_DEBIAN = "/usr/bin/python3.11"
add_script("python-dwarf-6.1", "interpreter", "6.1", PYTHON_DEBIAN, "python3.11",
           scripts.PYTHON, "hot.py", record=DUMPS)
add_script("python-dwarf-ours", "interpreter", "ours", PYTHON_DEBIAN, "python3.11",
           scripts.PYTHON, "hot.py", record=("-F", "149", "--stack", "8192", "--no-chain"))
add_script("perl-dwarf-7.3", "interpreter", "7.3", "perl", "perl", scripts.PERL,
           "hot.pl", record=DUMPS)
add_script("ruby-dwarf-6.12", "interpreter stripped-symbols", "6.12", "ruby",
           "ruby", scripts.RUBY, "hot.rb", record=DUMPS)
add_script("python-fp-6.1", "library-no-frame-pointer", "6.1", PYTHON_DEBIAN,
           "python3.11", scripts.PYTHON, "hot.py")
add_script("perl-fp-ours", "library-no-frame-pointer", "ours", "perl", "perl",
           scripts.PERL, "hot.pl", record=OURS)

PYENV = os.path.expanduser("~/.pyenv/versions/")

add_script("sbcl-6.1", "no-name-source", "6.1", "sbcl", "sbcl", scripts.LISP,
           "hot.lisp", "--script")
add_script("guile-6.12", "jit-no-frame-pointer no-name-source", "6.12", "guile",
           "guile-3.0", scripts.SCHEME, "hot.scm", "--no-auto-compile", "-s")


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
