# SPDX-License-Identifier: GPL-2.0-only
"""Captures of runtimes inside a server: PostgreSQL's LLVM, and .NET in a program of npm."""

import os
import sys
from typing import Sequence

from ci.labelled import scripts
from ci.labelled.bench import Bench, find_program
from ci.labelled.of_runtimes import DUMPS, install_npm_binary
from ci.labelled.recipe import register

# Few samples, because the tree keeps each page of a program that has a sample.
CHAINS = ("-g", "-F", "199")

POSTGRES = "/usr/lib/postgresql/15/bin/"
# PostgreSQL refuses to run as root: a user namespace gives it another user id.
SOMEBODY = ("unshare", "--map-user=1000", "--map-group=1000")


def add_postgres(name: str, label: str, version: str, *options: str, record: Sequence[str] = CHAINS,
                 inject: str = "") -> None:
    """Adds a recipe for one PostgreSQL backend without a server, which compiles everything that it
    can."""
    name = "postgres-" + name

    @register(name, label)
    def make_capture(bench: Bench) -> None:
        folder = os.path.dirname(find_program(POSTGRES + "initdb", "apt-get install postgresql-15"))
        data = bench.place("data")
        bench.must([*SOMEBODY, folder + "/initdb", "--no-sync", "--no-instructions",
                    "--auth=trust", "-D", data])
        settings = [word for one in ("jit_above_cost=0", "jit_inline_above_cost=0",
                                     "jit_optimize_above_cost=0", *options) for word in ("-c", one)]
        query = bench.write("hot.sql", scripts.SQL)
        bench.launch(version, record, [
            "sh", "-c", 'exec "$@" < ' + query, "sh", *SOMEBODY, folder + "/postgres", "--single",
            "-j", "-D", data, *settings, "postgres"], inject=inject)


PUBLISHES = "jit_profiling_support=on"
add_postgres("plain-6.1", "jit-no-frame-pointer no-name-source", "6.1")
add_postgres("not-injected-6.12", "jit-no-frame-pointer jitdump-not-injected", "6.12", PUBLISHES)
add_postgres("injected-7.3", "jit-no-frame-pointer", "7.3", PUBLISHES, inject="7.3")
add_postgres("dwarf-6.1", "no-cfi-for-jit no-name-source", "6.1", record=DUMPS)
add_postgres("dwarf-injected-7.3", "no-cfi-for-jit", "7.3", PUBLISHES, record=DUMPS, inject="7.3")


def add_dotnet(name: str, label: str, version: str, *settings: str,
               record: Sequence[str] = CHAINS) -> None:
    """Adds a recipe for a server that answers the same request repeatedly; all its code is compiled
    at run time."""
    name = "dotnet-" + name

    @register(name, label)
    def make_capture(bench: Bench) -> None:
        program = install_npm_binary(bench, "@azure/mcp-linux-x64",
                                     "@azure/mcp-linux-x64/dist/azmcp")
        client = bench.write("ask.py", scripts.ASK)
        for setting in ("DOTNET_ReadyToRun=0", "AZURE_MCP_COLLECT_TELEMETRY=false", *settings):
            bench.set_variable(*setting.split("="))
        bench.attach(version, record, [
            sys.executable, client, "20000", program, "server", "start", "--mode", "all"],
            name="azmcp")


MAP, DUMP = "DOTNET_PerfMapEnabled=3", "DOTNET_PerfMapEnabled=2"
ONE_MAPPING = "DOTNET_EnableWriteXorExecute=0"
# The program itself is stripped.
add_dotnet("plain-6.1", "no-name-source stripped-symbols", "6.1")
add_dotnet("memfd-map-7.3", "map-not-read-for-memfd stripped-symbols", "7.3", MAP)
add_dotnet("map-6.12", "stripped-symbols", "6.12", MAP, ONE_MAPPING)
# The runtime ends the dump and its mapping after a record that it could not write completely.
add_dotnet("dump-7.2", "no-name-source stripped-symbols", "7.2", DUMP, ONE_MAPPING)
add_dotnet("dwarf-6.1", "no-cfi-for-jit stripped-symbols", "6.1", MAP, ONE_MAPPING, record=DUMPS)
