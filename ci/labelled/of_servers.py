# SPDX-License-Identifier: GPL-2.0-only
"""Captures of runtimes inside a server: PostgreSQL's LLVM, and .NET in a program of npm."""

import functools
import sys

from ci.labelled import recipe, scripts
from ci.labelled.bench import Bench, find_program
from ci.labelled.of_runtimes import DUMPS, install_npm
from ci.labelled.recipe import Prepare

# Few samples, because the tree keeps each page of a program that has a sample.
CHAINS = ("-g", "-F", "199")
add = functools.partial(recipe.add, record=CHAINS)

POSTGRES = "/usr/lib/postgresql/15/bin/"
# PostgreSQL refuses to run as root: a user namespace gives it another user id.
SOMEBODY = ("unshare", "--map-user=1000", "--map-group=1000")


def run_postgres(*options: str) -> Prepare:
    """Prepares one PostgreSQL backend without a server, which compiles everything that it can."""
    def prepare(bench: Bench) -> list[str]:
        data = bench.place("data")
        bench.must([*SOMEBODY, find_program(POSTGRES + "initdb", "postgresql-15"), "--no-sync",
                    "--no-instructions", "--auth=trust", "-D", data])
        settings = [word for one in ("jit_above_cost=0", "jit_inline_above_cost=0",
                                     "jit_optimize_above_cost=0", *options) for word in ("-c", one)]
        query = bench.write("hot.sql", scripts.SQL)
        return ["sh", "-c", 'exec "$@" < ' + query, "sh", *SOMEBODY, POSTGRES + "postgres",
                "--single", "-j", "-D", data, *settings, "postgres"]
    return prepare


PUBLISHES = run_postgres("jit_profiling_support=on")
add("postgres-plain-6.1", "jit-no-frame-pointer no-name-source", run_postgres())
add("postgres-not-injected-6.12", "jit-no-frame-pointer jitdump-not-injected", PUBLISHES)
add("postgres-injected-7.3", "jit-no-frame-pointer", PUBLISHES, inject="7.3")
add("postgres-dwarf-6.1", "no-cfi-for-jit no-name-source", run_postgres(), record=DUMPS)
add("postgres-dwarf-injected-7.3", "no-cfi-for-jit", PUBLISHES, record=DUMPS, inject="7.3")


def add_dotnet(name: str, label: str, *settings: str, record: tuple[str, ...] = CHAINS) -> None:
    """Adds a recipe for a server that answers the same request repeatedly; all its code is compiled
    at run time."""
    def prepare(bench: Bench) -> list[str]:
        program = install_npm(bench, "@azure/mcp-linux-x64", "@azure/mcp-linux-x64/dist/azmcp")
        client = bench.write("ask.py", scripts.MCP_CLIENT)
        for setting in ("DOTNET_ReadyToRun=0", "AZURE_MCP_COLLECT_TELEMETRY=false", *settings):
            bench.set_variable(*setting.split("="))
        return [sys.executable, client, "20000", program, "server", "start", "--mode", "all"]
    add("dotnet-" + name, label, prepare, record=record, attach=True, descendant="azmcp")


MAP, DUMP = "DOTNET_PerfMapEnabled=3", "DOTNET_PerfMapEnabled=2"
ONE_MAPPING = "DOTNET_EnableWriteXorExecute=0"
# The program itself is stripped.
add_dotnet("plain-6.1", "no-name-source stripped-symbols")
add_dotnet("memfd-map-7.3", "map-not-read-for-memfd stripped-symbols", MAP)
add_dotnet("map-6.12", "stripped-symbols", MAP, ONE_MAPPING)
# The runtime ends the dump and its mapping after a record that it could not write completely.
add_dotnet("dump-7.2", "no-name-source stripped-symbols", DUMP, ONE_MAPPING)
add_dotnet("dwarf-6.1", "no-cfi-for-jit stripped-symbols", MAP, ONE_MAPPING, record=DUMPS)
