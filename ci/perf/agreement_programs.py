# SPDX-License-Identifier: GPL-2.0-only
"""Provides real programs for agreement.py. Each keeps a CPU busy for some seconds.

A function raises Missing if its program is not installed.
"""

import os

from ci.base import files, process
from ci.base.status import Missing
from ci.labelled import scripts

# Exceptions, virtual calls, callbacks from libc, threads, recursion deeper than the dump, calls
# through the PLT and the vDSO, and a signal handler that runs on its own stack.
CPLUSPLUS = r"""
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <thread>
#include <vector>

static std::atomic<long> total;

struct Node {
	std::unique_ptr<Node> left, right;
	long value = 1;
	virtual long sum() const
	{
		return value + (left ? left->sum() : 0) + (right ? right->sum() : 0);
	}
	virtual ~Node() = default;
};

static std::unique_ptr<Node> plant(int depth)
{
	auto node = std::make_unique<Node>();

	if (depth) {
		node->left = plant(depth - 1);
		node->right = plant(depth - 1);
	}
	return node;
}

static int fail(int depth)
{
	if (!depth)
		throw std::runtime_error("deep enough");
	return fail(depth - 1) + 1;
}

static long down(int depth)
{
	volatile char room[200];

	room[depth % sizeof(room)] = 1;
	if (depth)
		return down(depth - 1) + room[depth % sizeof(room)];
	for (int i = 0; i < 20000; i++)
		room[i % sizeof(room)] += i;
	return room[7];
}

static int by_value(const void *a, const void *b)
{
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static void interrupted(int)
{
	long sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += i ^ sum >> 1;
	total += sum & 1;
}

static double now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void work(double until)
{
	while (now() < until) {
		std::ostringstream out;
		std::vector<std::string> words;
		std::map<std::string, int> count;
		std::vector<int> numbers(3000);
		std::function<int(int)> fibonacci = [&](int n) {
			return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
		};

		total += plant(9)->sum() + fibonacci(14) + down(10) + down(250);
		for (int i = 0; i < 20; i++) {
			try {
				total += fail(20);
			} catch (const std::exception &) {
				total++;
			}
		}
		for (int i = 0; i < 300; i++)
			out << i << ',';
		std::string text = out.str();
		std::regex pair("(\\d+),(\\d+)");
		total += std::distance(std::sregex_iterator(text.begin(), text.end(), pair),
				       std::sregex_iterator());
		for (int &number : numbers)
			number = rand();
		qsort(numbers.data(), numbers.size(), sizeof(numbers[0]), by_value);
		for (int number : numbers)
			count[std::to_string(number % 500)]++;
		for (int i = 0; i < 3000; i++)
			total += labs(i - 500) + (now() > 0);
	}
}

int main(int, char **argv)
{
	double until = now() + atof(argv[1]);
	static char stack[1 << 16];
	stack_t own = {};
	struct sigaction action = {};
	itimerval every = {{0, 10000}, {0, 10000}};

	own.ss_sp = stack;
	own.ss_size = sizeof(stack);
	action.sa_handler = interrupted;
	action.sa_flags = SA_ONSTACK | SA_RESTART;
	if (sigaltstack(&own, nullptr) || sigaction(SIGPROF, &action, nullptr) ||
	    setitimer(ITIMER_PROF, &every, nullptr))
		return 1;
	std::thread other(work, until);
	work(until);
	other.join();
	return 0;
}
"""

GIT = """
until=$(($(date +%%s) + %d))
while [ "$(date +%%s)" -lt $until ]; do
	git log -p --stat >/dev/null
	git repack -adfq --depth=50 --window=50
	git blame -M text >/dev/null
done
"""


def find_program(name: str) -> str:
    path = process.find_program(name)
    # A wrapper script would add its own process to the recording.
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            path = "/usr/bin/" + name
    if not os.path.exists(path):
        raise Missing("%s is a script, and /usr/bin has no such program" % name)
    return path


def write_script(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    files.write(path, text)
    return path


def make_python3(folder: str, seconds: int) -> list[str]:
    return [find_program("python3"), write_script(folder, "work.py", scripts.PYTHON),
            str(1000 * seconds)]


def make_node(folder: str, seconds: int) -> list[str]:
    return [find_program("node"), write_script(folder, "work.js", scripts.JAVASCRIPT.replace(
        "MS", str(1000 * seconds)))]


def make_perl(folder: str, seconds: int) -> list[str]:
    return [find_program("perl"), write_script(folder, "work.pl", scripts.PERL),
            str(1000 * seconds)]


def make_cplusplus(folder: str, seconds: int) -> list[str]:
    source, path = write_script(folder, "work.cc", CPLUSPLUS), os.path.join(folder, "work")
    # With lazy binding and without CET, so that calls go through a classic PLT.
    process.run_or_raise([find_program("g++"), "-O2", "-g", "-std=c++17", "-pthread", "-Wl,-z,lazy",
                          "-fcf-protection=none", source, "-o", path])
    return [path, str(seconds)]


def create_history(repository: str) -> None:
    """Creates a repository with 120 commits on a file of 3,000 lines."""
    stream = []
    lines = ["line %d of a file that changes\n" % number for number in range(3000)]
    for commit in range(120):
        for line in range(commit, 3000, 97):
            lines[line] = "line %d, changed in commit %d\n" % (line, commit)
        data = "".join(lines)
        stream.append("commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 1\nx\n"
                      "M 100644 inline text\ndata %d\n%s\n" % (commit, len(data), data))
    process.run_or_raise(["git", "init", "-q", "-b", "main", repository])
    process.run_or_raise(["git", "-C", repository, "fast-import", "--quiet"], input="".join(stream))
    process.run_or_raise(["git", "-C", repository, "reset", "-q", "--hard"])


def make_git(folder: str, seconds: int) -> list[str]:
    find_program("git")
    repository = os.path.join(folder, "repository")
    create_history(repository)
    return ["/bin/sh", "-c", "cd %s\n%s" % (repository, GIT % seconds)]


PROGRAMS = {"python3": make_python3, "node": make_node, "perl": make_perl, "C++": make_cplusplus,
            "git": make_git}
