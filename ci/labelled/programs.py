# SPDX-License-Identifier: GPL-2.0-only
"""The sources of the recorded programs. Each prints "ready" and runs until its standard input ends,
or for the number of milliseconds in its first argument."""

# Common part of all C programs: ends with standard input or after a time.
ENDS = """
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double end_at;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void begin(int argc, char **argv)
{
	end_at = argc > 1 ? now_ms() + atof(argv[1]) : 0;
	if (write(1, "ready\\n", 6) != 6)
		exit(1);
}

static int go_on(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	return end_at ? now_ms() < end_at : poll(&in, 1, 0) == 0;
}
"""

# Repeats CALL and sums up its results.
MAIN = """
int main(int argc, char **argv)
{
	begin(argc, argv);
	while (go_on())
		sum += CALL;
	return 0;
}
"""

INNER = """
volatile long sum;

__attribute__((noinline)) long inner(long n)
{
	for (long i = 0; i < n; i++)
		sum += i ^ i >> 3;
	return sum;
}
"""

# A chain of four functions, each with work of its own. Healthy if built with frame pointers.
CHAIN = ENDS + INNER + """
__attribute__((noinline)) long middle(long n)
{
	return inner(n) + 1;
}

__attribute__((noinline)) long outer(long n)
{
	return middle(n) + middle(n / 2) + 1;
}
""" + MAIN.replace("CALL", "outer(100000)")

# Runs the same on a stack of its own. The switch is like that of many coroutine libraries: it has
# no call frame information, and its frame pointer leads to data.
COROUTINE = ENDS + INNER + """
__asm__(".text\\n.globl switch_to\\nswitch_to:\\n"
	"\\tpush %rbp\\n"
	"\\tpush %rbx\\n"
	"\\tmov %rsp, %rbx\\n"
	"\\tmov %rdi, %rsp\\n"
	"\\tmov %rsi, %rbp\\n"
	"\\tcall *%rdx\\n"
	"\\tmov %rbx, %rsp\\n"
	"\\tpop %rbx\\n"
	"\\tpop %rbp\\n"
	"\\tret\\n");
void switch_to(void *stack, void *data, void (*run)(void));

static void run(void)
{
	while (go_on())
		sum += inner(100000) + 1;
}

int main(int argc, char **argv)
{
	enum { SIZE = 1 << 20, FRAMES = 8 };
	unsigned long *stack = malloc(SIZE);

	begin(argc, argv);
	for (long i = 0; i < FRAMES; i++) {
		stack[2 * i] = i + 1 < FRAMES ? (unsigned long)&stack[2 * i + 2] : 0;
		stack[2 * i + 1] = 0x5f0000000000 + 4099 * i;
	}
	switch_to((char *)stack + SIZE - 64, stack, run);
	return sum == 42;
}
"""

# The same in threads, in children, and after an exec.
FAMILY = ENDS + INNER + """
#include <pthread.h>
#include <sys/wait.h>

__attribute__((noinline)) long outer(long n)
{
	return inner(n) + 1;
}

static void *work(void *unused)
{
	(void)unused;
	while (go_on())
		sum += outer(100000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			if (i && argc > 2)
				execl(argv[2], argv[2], argv[1], (char *)NULL);
			work(NULL);
			_exit(0);
		}
	}
	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	pthread_join(thread, NULL);
	while (wait(NULL) > 0)
		;
	return 0;
}
"""

# A library that calls a function given to it and has computations of its own. One function uses
# %rbp unless it is built with frame pointers (FRAMES).
LIBRARY = """
long library_leaf(long n)
{
	long s = 0;

	for (long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(s) : "r"(i));
	return s;
}

#ifndef FRAMES
__attribute__((noinline)) static long in_rbp(long n)
{
	__asm__ volatile("mov %0, %%rbp\\n1:\\tdec %%rbp\\n\\tjnz 1b" : : "r"(n) : "rbp", "cc");
	return n;
}

long library_loop(long n)
{
	return in_rbp(n) + 1;
}
#endif

long library_call(long (*back)(long), long n)
{
	long s = 0;

	for (long i = 0; i < 4; i++)
		s += back(n) ^ i;
	return s;
}
"""

USES_LIBRARY = ENDS + """
long library_leaf(long n);
long library_loop(long n);
long library_call(long (*back)(long), long n);

volatile long sum;

__attribute__((noinline)) long called_back(long n)
{
	for (long i = 0; i < n; i++)
		sum += i ^ i >> 3;
	return sum;
}

__attribute__((noinline)) long caller(long n)
{
	return USE + 1;
}
""" + MAIN.replace("CALL", "caller(400000)")

# Calls itself DEPTH times with SIZE bytes of locals, which it writes unless HOLLOW.
DEEP = ENDS + """
#ifndef HOLLOW
#define HOLLOW 0
#endif

volatile long sum;

__attribute__((noinline)) long down(int depth, long n)
{
	char locals[SIZE];
	long s = 0;

	if (!HOLLOW)
		memset(locals, depth, sizeof(locals));
	__asm__ volatile("" : : "r"(locals) : "memory");
	if (depth)
		return down(depth - 1, n) + locals[0];
	for (long i = 0; i < n; i++)
		s += sum ^ i;
	return s;
}
""" + MAIN.replace("CALL", "down(DEPTH, 400000)")

# A piece of code in memory that the kernel cannot merge with other memory: a loop of about 1 ms
# with a frame pointer, named in a perf map.
PIECES = ENDS + """
#include <sys/mman.h>

typedef void code(void);

static FILE *perf_map;

static void open_map(void)
{
	char path[40];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	perf_map = fopen(path, "w");
	if (!perf_map)
		exit(1);
}

static code *map_piece(void)
{
	/* push %rbp; mov %rsp,%rbp; mov $1000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
	static const unsigned char loop[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f, 0x00,
					     0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
	char *memory = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(memory, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(memory, loop, sizeof(loop));
	fprintf(perf_map, "%lx %zx piece\\n", (unsigned long)memory, sizeof(loop));
	fflush(perf_map);
	return (code *)(void *)memory;
}
"""

# A forked child runs the piece that its parent mapped, and alone names it in a map.
MAP_OF_CHILD = PIECES + """
#include <sys/wait.h>

int main(int argc, char **argv)
{
	code *piece;

	perf_map = fopen("/dev/null", "w");
	piece = map_piece();
	if (fork()) {
		wait(NULL);
		return 0;
	}
	open_map();
	fprintf(perf_map, "%lx f piece\\n", (unsigned long)piece);
	fflush(perf_map);
	begin(argc, argv);
	while (go_on())
		piece();
	return 0;
}
"""

# Maps a piece every 50 ms, and runs all of them in turn.
MAPPER = PIECES + """
int main(int argc, char **argv)
{
	code *pieces[400];
	int count = 0;
	double next = 0;

	open_map();
	begin(argc, argv);
	while (go_on()) {
		if (now_ms() >= next && count < 400) {
			pieces[count++] = map_piece();
			next = now_ms() + 50;
		}
		for (int i = 0; i < count; i++)
			pieces[i]();
	}
	return 0;
}
"""

# Maps each piece amid many other mapping records; a small ring loses some of them.
STORM = PIECES + """
static void storm(char *page)
{
	for (int i = 0; i < 2000; i++) {
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		mprotect(page, 4096, PROT_READ);
	}
}

int main(int argc, char **argv)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	open_map();
	begin(argc, argv);
	while (go_on()) {
		storm(page);
		code *piece = map_piece();

		storm(page);
		for (int i = 0; i < 30; i++)
			piece();
	}
	return 0;
}
"""

# System calls, for captures of the kernel alone.
CALLS = ENDS + """
#include <fcntl.h>

int main(int argc, char **argv)
{
	char buffer[65536];
	int zero = open("/dev/zero", O_RDONLY);

	begin(argc, argv);
	while (go_on())
		for (int i = 0; i < 20; i++)
			if (read(zero, buffer, sizeof(buffer)) < 0)
				return 1;
	return 0;
}
"""

# C++ with the usual options: no frame pointers, call frame information everywhere.
SORTS = """
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

static std::map<std::string, int> count(const std::vector<std::string> &words)
{
	std::map<std::string, int> counts;
	for (const auto &word : words)
		counts[word]++;
	return counts;
}

int main(int argc, char **argv)
{
	auto end = std::chrono::steady_clock::now() +
		   std::chrono::milliseconds(argc > 1 ? atoi(argv[1]) : 1000);
	std::vector<std::string> words;
	size_t sum = 0;

	puts("ready");
	fflush(stdout);
	for (unsigned i = 0; i < 20000; i++)
		words.push_back("word" + std::to_string(i * 2654435761u % 5000));
	while (std::chrono::steady_clock::now() < end) {
		auto counts = count(words);
		std::sort(words.begin(), words.end());
		std::random_shuffle(words.begin(), words.end());
		sum += counts.size();
	}
	return sum == 0;
}
"""

# Runs its argument, a program, from memory, so that the program has no file.
FROM_MEMORY = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	const int in = open(argv[1], O_RDONLY), memory = memfd_create("program", MFD_CLOEXEC);
	ssize_t size;

	while (argc > 1 && (size = read(in, buf, sizeof(buf))) > 0)
		if (write(memory, buf, size) != size)
			exit(1);
	fexecve(memory, argv + 1, environ);
	return 1;
}
"""

# Computes in a function that qsort() calls back, from a library without frame pointers.
SORTED_BY_LIBC = ENDS + """
volatile long sum;

__attribute__((noinline)) int compare(const void *left, const void *right)
{
	for (long i = 0; i < 300; i++)
		sum += i ^ i >> 3;
	return *(const int *)left - *(const int *)right;
}

int main(int argc, char **argv)
{
	static int numbers[4096];

	begin(argc, argv);
	while (go_on()) {
		for (int i = 0; i < 4096; i++)
			numbers[i] = i * 2654435761u >> 12;
		qsort(numbers, 4096, sizeof(*numbers), compare);
		for (int i = 0; i < 2000; i++)
			compare(numbers, numbers + 1);
	}
	return 0;
}
"""

# A second thread maps the code that the main thread runs.
HELPED = PIECES + """
#include <pthread.h>

static code *volatile pieces[400];
static volatile int count;

static void *map_pieces(void *unused)
{
	while (count < 400) {
		pieces[count] = map_piece();
		count++;
		usleep(20000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t helper;

	open_map();
	begin(argc, argv);
	pthread_create(&helper, NULL, map_pieces, NULL);
	while (go_on())
		for (int i = 0; i < count; i++)
			pieces[i]();
	return 0;
}
"""

# Emits code into a deleted temporary file in the folder of the second argument, as libraries do
# that may not map memory writable and executable. A third argument: names it in a perf map.
IN_FILE = PIECES.replace("static code *map", "__attribute__((unused)) static code *map") + """
static code *map_in_file(const char *folder)
{
	static const unsigned char loop[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f, 0x00,
					     0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
	char path[200];
	int fd;
	void *write_to, *run;

	snprintf(path, sizeof(path), "%s/orcexec.XXXXXX", folder);
	fd = mkstemp(path);
	unlink(path);
	if (ftruncate(fd, 65536))
		exit(1);
	write_to = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	run = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	memcpy(write_to, loop, sizeof(loop));
	if (perf_map) {
		fprintf(perf_map, "%lx %zx piece\\n", (unsigned long)run, sizeof(loop));
		fflush(perf_map);
	}
	return (code *)run;
}

int main(int argc, char **argv)
{
	code *piece;

	if (argc > 3)
		open_map();
	piece = map_in_file(argv[2]);
	begin(argc, argv);
	while (go_on())
		piece();
	return 0;
}
"""

UCONTEXT = ENDS + INNER + """
#include <ucontext.h>

static ucontext_t caller, task;

static void run(void)
{
	while (go_on())
		sum += inner(100000) + 1;
}

__attribute__((noinline)) static void start(void)
{
	static char stack[65536];

	getcontext(&task);
	task.uc_stack.ss_sp = stack;
	task.uc_stack.ss_size = sizeof(stack);
	task.uc_link = &caller;
	makecontext(&task, run, 0);
	swapcontext(&caller, &task);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	start();
	return sum == 42;
}
"""

# Runs code without a frame from main(). Publishes it as a runtime does that gets it wrong: in a map
# with decimal numbers (-DDECIMAL), or in a jitdump whose marker is no code (-DMARKER=PROT_READ),
# whose times are of another clock (-DCLOCK=...) or whose addresses are off (-DOFFSET=...). With a
# second argument, writes the record at last.
WRONG = ENDS + """
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MARKER
#define MARKER (PROT_READ | PROT_EXEC)
#endif
#ifndef CLOCK
#define CLOCK CLOCK_MONOTONIC
#endif
#ifndef OFFSET
#define OFFSET 0
#endif

static const unsigned char loop[] = {0xb9, 0x40, 0x42, 0x0f, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void append(int file, const void *bytes, size_t size)
{
	if (write(file, bytes, size) != (ssize_t)size)
		exit(1);
}

static int open_dump(void)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} head = {0x4A695444, 1, sizeof(head), 62, 0, getpid(), clock_ns(), 0};
	char path[64];
	int dump;

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	dump = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
	append(dump, &head, sizeof(head));
	mmap(NULL, 4096, MARKER, MAP_PRIVATE, dump, 0);
	return dump;
}

static void publish(int dump, char *memory)
{
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
	} load = {0, sizeof(load) + 5 + sizeof(loop), clock_ns(), getpid(), getpid(),
		  (uintptr_t)memory, (uintptr_t)memory, sizeof(loop), 1};

	append(dump, &load, sizeof(load));
	append(dump, "loop", 5);
	append(dump, loop, sizeof(loop));
}

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int late = argc > 2, dump;

	memcpy(memory, loop, sizeof(loop));
#ifdef DECIMAL
	char path[64], line[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	dump = open(path, O_CREAT | O_WRONLY, 0644);
	append(dump, line, snprintf(line, sizeof(line), "%lu %zu loop\\n", (long)memory,
				    sizeof(loop)));
	late = -1;
#else
	dump = open_dump();
#endif
	if (!late)
		publish(dump, memory + OFFSET);
	begin(argc, argv);
	while (go_on())
		((void (*)(void))memory)();
	if (late > 0)
		publish(dump, memory);
	return 0;
}
"""

# Spends its time in memset().
FILLS = ENDS + """
static char bytes[1 << 22];

__attribute__((noinline)) static int fill(void)
{
	memset(bytes, 1, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
	return 1;
}

static int sum;
""" + MAIN.replace("CALL", "fill()")

# Spends its time in assembly without a frame and without call frame information.
ASSEMBLY = ENDS + """
volatile long sum;
long bare(long n);

__asm__(".text\\n.globl bare\\n.type bare,@function\\nbare:\\n"
	"\\tpush %rbx\\n\\tmov %rdi, %rbx\\n1:\\tdec %rbx\\n\\tjnz 1b\\n\\tpop %rbx\\n\\tret\\n"
	".size bare,.-bare\\n");

__attribute__((noinline)) long calls(long n)
{
	return bare(n) + 1;
}
""" + MAIN.replace("CALL", "calls(400000)")

# Loads the library that is its second argument from memory, and runs its library_call().
LIBRARY_FROM_MEMORY = ENDS + INNER + """
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
	static char buf[1 << 20];
	const int in = open(argv[2], O_RDONLY), memory = (int)syscall(SYS_memfd_create, "lib", 0);
	const ssize_t size = read(in, buf, sizeof(buf));
	long (*call)(long (*back)(long), long n);
	char path[40];
	void *library;

	if (write(memory, buf, size) != size)
		return 1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return 1;
	call = (long (*)(long (*)(long), long))dlsym(library, "library_call");
	begin(argc, argv);
	while (go_on())
		sum += call(inner, 100000);
	return 0;
}
"""

# Computes in the handler of a timer's signal, and elsewhere.
SIGNALS = ENDS + INNER + """
#include <signal.h>
#include <sys/time.h>

static void handle(int number)
{
	(void)number;
	inner(200000);
}

__attribute__((noinline)) long outer(long n)
{
	return inner(n) + 1;
}

int main(int argc, char **argv)
{
	const struct itimerval every = {{0, 2000}, {0, 2000}};

	signal(SIGALRM, handle);
	begin(argc, argv);
	setitimer(ITIMER_REAL, &every, NULL);
	while (go_on())
		sum += outer(100000);
	return 0;
}
"""
