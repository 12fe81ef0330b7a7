// SPDX-License-Identifier: GPL-2.0-only
/* Tests truth files that many processes write: each process is read back, and foreign files are
 * refused. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_truth.h"

static void write_family(void)
{
	uint32_t outer = add_code(0x1000, "f", 100);
	uint32_t path = jp_truth_path(&outer, 1);
	uint64_t roots = add_roots();
	pid_t own_pid = getpid(), pid;

	put_activation(150, 160, path, roots);
	pid = fork();
	if (!pid) {
		put_at(JP_TRUTH_PROCESS_START, 200, own_pid, JP_START_FORK, 0, 0);
		put_at(JP_TRUTH_ENTER, 250, path, SP, BP, roots);
		/* There is no LEAVE: the exec ends the activation. */
		put_at(JP_TRUTH_PROCESS_START, 400, own_pid, JP_START_EXEC, 0, 0);
		put_at(JP_TRUTH_MARK, 410, 0, 1, 0, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	put_at(JP_TRUTH_CODE_UNLOAD, 300, outer, 0, 0, 0);
	put_at(JP_TRUTH_MARK, 420, 0, 2, 0, 0);
}

static void test_forked_processes(void)
{
	check(!truth->torn && truth->nr_acts == 4 && truth->nr_codes == 2, "both write one truth");
	check(find_code(parent, 0x1004, 299) && !find_code(parent, 0x1004, 301) &&
		      !find_code(child, 0x1004, 199) && find_code(child, 0x1004, 350) &&
		      !find_code(child, 0x1004, 401),
	      "a fork inherits code, keeps it when the parent unloads it, and drops it on exec");
	check(jp_truth_stack_at(truth, child, child, 399, 0, 0x1000, SP, JP_DUMP, &stack) ==
			      JP_STACK_FOUND &&
		      stack.activation->path->functions[0]->pid == child &&
		      jp_truth_stack_at(truth, child, child, 401, 0, 0x1000, SP, JP_DUMP, &stack) ==
			      JP_STACK_NO_ACTIVATION,
	      "an activation ends with the exec");
}

enum { PROCESSES = 4, THREADS = 3, MARKS = 2000 };

static void *mark_thread(void *arg)
{
	char text[64];

	jp_truth_new_task();
	for (unsigned i = 0; i < MARKS; i++) {
		snprintf(text, sizeof(text), "thread %p, mark %u, more than one record", arg, i);
		put_at(JP_TRUTH_MARK, jp_clock_now(), jp_truth_text(text), i, 0, 0);
	}
	return NULL;
}

static void write_crowd(void)
{
	for (int p = 0; p < PROCESSES; p++) {
		pthread_t threads[THREADS];

		if (fork())
			continue;
		for (uintptr_t t = 0; t < THREADS; t++)
			pthread_create(&threads[t], NULL, mark_thread, (void *)t);
		for (int t = 0; t < THREADS; t++)
			pthread_join(threads[t], NULL);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

/* Writes until it is killed. Writes a byte to @out once there are 100 records. */
static void write_and_die(int out)
{
	for (uint64_t i = 0; i < 1 << 18; i++) {
		if (i == 100 && write(out, "", 1) != 1)
			_exit(2);
		put_at(JP_TRUTH_MARK, i + 1, jp_truth_text("some text of more than 24 bytes"), i, 0,
		       0);
	}
}

static void test_many_writers(void)
{
	size_t names = 0, tids = 0;

	check(!truth->torn && truth->nr_acts == PROCESSES * THREADS * MARKS,
	      "no record of 12 threads of 4 processes is lost");
	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		unsigned number;
		void *which;

		names += sscanf(act->mark.text, "thread %p, mark %u, more than", &which, &number) ==
				 2 &&
			 number == act->mark.value;
		tids += act->tid != act->pid;
	}
	check(names == truth->nr_acts && tids == names, "each record has its text and its tid");
}

TEST(killed_writer)
{
	bool good = true;

	for (unsigned i = 0; i < 20 && good; i++) {
		struct jp_truth *killed;
		int status = 0, ends[2];
		pid_t victim;
		char byte;

		unlink(scratch_path("killed"));
		fflush(stdout);
		if (pipe(ends))
			exit(99);
		victim = fork();
		if (!victim) {
			if (!jp_truth_open(scratch_path("killed"), 1 << 20, NULL))
				write_and_die(ends[1]);
			_exit(2);
		}
		close(ends[1]);
		good = victim > 0 && read(ends[0], &byte, 1) == 1;
		close(ends[0]);
		if (victim > 0)
			kill(victim, SIGKILL);
		waitpid(victim, &status, 0);
		killed = load_truth("killed");
		good = good && killed && WIFSIGNALED(status) && !killed->gaps &&
		       killed->nr_acts >= 100;
		for (size_t k = 0; good && k < killed->nr_acts; k++)
			good = killed->acts[k].mark.value == k;
		jp_truth_free(killed);
	}
	check(good, "after SIGKILL every record up to the last is read, 20 times");
}

TEST(refused_truth_files)
{
	struct jp_error err;

	write_truth("again", 16, write_family);
	check(jp_truth_open(scratch_path("again"), 16, &err) < 0 && strstr(err.text, "again"),
	      "another run's truth file is refused");
	check(jp_truth_open(scratch_path("absent"), 0, &err) < 0, "an exec does not create a file");
	check(!symlink("again", scratch_path("link")) &&
		      jp_truth_open(scratch_path("link"), 0, &err) < 0 &&
		      jp_truth_open("/dev/null", 0, &err) < 0,
	      "a symbolic link and a device are refused for writing");
	check(!jp_truth_load(scratch_folder(), &err) && !jp_truth_load("/dev/null", &err) &&
		      strstr(err.text, "/dev/null"),
	      "a folder and a device are refused for reading");
	scratch_write(scratch_path("short"), "JITPROOF", 8);
	check(!jp_truth_load(scratch_path("short"), &err) &&
		      strstr(err.text, "short: offset 8: ") &&
		      strstr(err.text, "the file ends here"),
	      "a file cut within its header is refused: %s", err.text);
}

/* Writes two incarnations of one pid: the first is killed inside a path, as the process that reaps
 * it records. */
static void write_incarnations(void)
{
	uint32_t first, second, path;
	uint64_t roots = add_roots();

	put_at(JP_TRUTH_PROCESS_START, 50, 1, JP_START_FORK, 0, 0);
	first = add_code(0x1000, "first", 100);
	path = jp_truth_path(&first, 1);
	put_at(JP_TRUTH_ENTER, 1000, path, SP, BP, roots);
	jp_truth_process_died(getpid(), 1900, 2000);
	put_at(JP_TRUTH_PROCESS_START, 3000, 1, JP_START_FORK, 0, 0);
	second = add_code(0x1000, "second", 3100);
	path = jp_truth_path(&second, 1);
	put_activation(4000, 5000, path, roots);
}

static void test_incarnations(void)
{
	const struct jp_truth_code *first, *second;
	uint32_t pid = truth->activations[0].pid;

	check(!truth->torn && !truth->gaps && truth->nr_activations == 2,
	      "a process killed inside a path leaves no gap");
	check(truth->activations[0].leave == 2000 && truth->activations[1].enter == 4000,
	      "its activation ends with it");
	first = find_code(pid, 0x1004, 1500);
	second = find_code(pid, 0x1004, 4500);
	check(first && !strcmp(first->name, "first") && !find_code(pid, 0x1004, 2001),
	      "its code ends with it");
	check(second && !strcmp(second->name, "second"), "the pid's next life has its own code");
}

/* Two pids share an address space until the child execs. */
static void write_sharing(void)
{
	uint32_t before = add_code(0x1000, "a", 100);
	pid_t own_pid = getpid(), child_pid = fork();

	if (!child_pid) {
		uint32_t own_code;

		put_at(JP_TRUTH_PROCESS_START, 200, own_pid, JP_START_SHARE, 0, 0);
		own_code = add_code(0x2000, "b", 300);
		put_at(JP_TRUTH_CODE_MOVE, 400, own_code, 0x3000, 0, 0);
		put_at(JP_TRUTH_CODE_UNLOAD, 500, before, 0, 0, 0);
		put_at(JP_TRUTH_PROCESS_START, 600, own_pid, JP_START_EXEC, 0, 0);
		add_code(0x4000, "c", 700);
		_exit(0);
	}
	waitpid(child_pid, NULL, 0);
}

static void test_shared_address_space(void)
{
	check(!truth->torn && !truth->gaps && truth->nr_acts == 2,
	      "two processes that share a space are read");
	check(find_code(child, 0x1004, 250) && find_code(parent, 0x2004, 350),
	      "code that either loads is in both");
	check(find_code(parent, 0x3004, 450) && !find_code(parent, 0x2004, 450) &&
		      find_code(child, 0x3004, 450),
	      "code that one moves is moved in both");
	check(find_code(parent, 0x3004, 450)->by_pid == child &&
		      find_code(parent, 0x3004, 450)->by_tid == child &&
		      find_code(child, 0x1004, 450)->by_pid == parent,
	      "code has the pid and tid of the thread that put it there");
	check(!find_code(parent, 0x1004, 550) && !find_code(child, 0x1004, 550),
	      "code that one unloads is gone from both");
	check(find_code(parent, 0x3004, 650) && !find_code(child, 0x3004, 650) &&
		      find_code(child, 0x4004, 750) && !find_code(parent, 0x4004, 750),
	      "an exec leaves the shared space and its code");
}

static void put_file(uint64_t time, uint64_t addr, uint64_t ino, const char *text)
{
	put_at(JP_TRUTH_FILE, time, addr, 0x1000, ino,
	       (uint64_t)(253 << 20 | 7) << 32 | jp_truth_text(text));
}

static void write_files(void)
{
	pid_t own_pid = getpid(), child_pid;
	uint32_t early;

	put_file(100, 0x1000, 11, "00ff /a program");
	early = add_code(0x5010, "recorded before its library", 105);
	put_file(110, 0x5000, 12, "- /library");
	add_code(0x7000, "between the files", 110);
	put_at(JP_TRUTH_MARK, 111, jp_truth_text("parent"), 0, 0, 0);
	child_pid = fork();
	if (!child_pid) {
		put_at(JP_TRUTH_PROCESS_START, 200, own_pid, JP_START_FORK, 0, 0);
		put_file(290, 0x8000, 16, "- /its own");
		put_at(JP_TRUTH_CODE_UNLOAD, 300, early, 0, 0, 0);
		put_at(JP_TRUTH_UNMAP, 300, 0x5000, 0x1000, 0, 0);
		add_code(0x5020, "where a library was", 310);
		put_at(JP_TRUTH_PROCESS_START, 400, own_pid, JP_START_EXEC, 0, 0);
		put_file(410, 0x1000, 13, "01 /another");
		_exit(0);
	}
	waitpid(child_pid, NULL, 0);
	put_at(JP_TRUTH_FILE, 500, 0x9000, 0x1000, 1, jp_truth_text("unsplit"));
	put_file(510, 0xa000, 14, "- /hidden");
	put_file(520, 0xa800, 15, "- /over it");
	put_at(JP_TRUTH_UNMAP, 530, 0xb000, 0x1000, 0, 0);
	jp_truth_process_died(child_pid, 600, 610);
}

static const struct jp_box ever = {0, UINT64_MAX, 0, UINT64_MAX};

static size_t count_files(uint32_t pid)
{
	struct jp_truth_files_at cursor = {0};
	struct jp_truth_file file;
	size_t count = 0;

	while (jp_truth_next_file(truth, pid, &ever, &cursor, &file))
		count += file.pid == pid;
	return count;
}

static const struct jp_truth_file *find_file(uint32_t pid, uint64_t ino)
{
	static struct jp_truth_file file;
	struct jp_truth_files_at cursor = {0};

	while (jp_truth_next_file(truth, pid, &ever, &cursor, &file))
		if (file.ino == ino)
			return &file;
	return NULL;
}

static void test_files(void)
{
	const struct jp_truth_file *file;

	parent = truth->acts[0].pid;
	child = truth->acts[1].pid;
	check(count_files(parent) == 4 && count_files(child) == 4 && truth->torn == 1,
	      "files are read, except a bad one");
	file = find_file(parent, 11);
	check(file && file->maj == 253 && file->min == 7 && file->until == UINT64_MAX &&
		      !strncmp(file->build_id, "00ff ", 5) && !strcmp(file->path, "/a program"),
	      "a file has device, build id and path");
	file = find_file(child, 11);
	check(file && file->from == 200 && file->until == 400, "a fork has files until it execs");
	file = find_file(child, 12);
	check(file && file->from == 200 && file->until == 300 &&
		      find_file(parent, 12)->until == UINT64_MAX,
	      "a file that the child unmaps stays in the parent");
	file = find_file(child, 16);
	check(file && file->from == 290 && file->until == 400 && !find_file(parent, 16),
	      "a file that the child maps is not in the parent");
	file = find_file(child, 13);
	check(file && file->from == 410 && file->until == 600, "a file ends with its process");
	check(find_file(parent, 14)->until == 520, "a file ends when another takes its place");
	check(find_file(parent, 15)->until == 530, "a file ends when a part of it is unmapped");
	for (size_t i = 0; i < truth->nr_codes; i++)
		check(truth->codes[i].in_file == (truth->codes[i].addr == 0x5010),
		      "code %s is in a file only if one is mapped there then",
		      truth->codes[i].name);
	check(truth->nr_codes == 5, "code of both processes is read");
}

static size_t many;
static bool at_once;

/* Writes code in each of many files. They are unmapped in the order in which they were mapped: all
 * after the last was mapped, or each before the next is mapped at the same place. */
static void write_many_files(void)
{
	for (size_t i = 0; i < many; i++) {
		const uint64_t addr = 0x10000 + (at_once ? i * 0x2000 : 0);

		put_file(10 * i, addr, i, "- /library");
		put_at(JP_TRUTH_CODE_UNLOAD, at_once ? 20 * many + i : 10 * i + 2,
		       add_code(addr, "f", 10 * i + 1), 0, 0, 0);
		put_at(JP_TRUTH_UNMAP, at_once ? 30 * many + i : 10 * i + 3, addr, 0x1000, 0, 0);
	}
}

static void read_many_files(size_t count)
{
	bool all_in_files = true;

	many = count;
	check(!write_truth("many", 8 * count, write_many_files), "a large truth is written");
	start_cost();
	truth = load_truth("many");
	end_cost();
	if (!check(truth && truth->nr_files == count && truth->nr_codes == count,
		   "all files and functions are read"))
		return;
	for (size_t i = 0; i < count; i++)
		all_in_files &= truth->codes[i].in_file && truth->files[i].until != UINT64_MAX;
	check(all_in_files, "each function is in a file, and each file ends");
	jp_truth_free(truth);
}

#ifndef __SANITIZE_ADDRESS__ /* no ASan: its own memory would count */
enum { ITEMS = 2000, FORKS = 400 };

/* whether forked processes inherit mapped files instead of emitted code */
static bool of_files;

static void write_forks(void)
{
	const pid_t own_pid = getpid();

	for (int i = 0; i < ITEMS; i++) {
		if (of_files)
			put_file(10 + i, 0x10000 + i * 0x1000, i, "- /library");
		else
			add_code(0x10000 + i * 0x1000, "f", 10 + i);
	}
	for (size_t i = 0; i < many; i++) {
		const pid_t pid = fork();

		if (!pid) {
			put_at(JP_TRUTH_PROCESS_START, 10000 + i, own_pid, JP_START_FORK, 0, 0);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static size_t count_items(void)
{
	size_t files = 0;

	if (!of_files)
		return truth->nr_codes;
	for (size_t i = 0; i < truth->nr_acts; i++)
		files += count_files(truth->acts[i].pid);
	return files + count_files(truth->acts[0].task.ppid);
}

/* Returns the peak memory, in bytes, of a process that reads the truth of @forks processes. */
static double measure_peak(size_t forks)
{
	struct rusage used = {0};
	int status = -1;
	pid_t pid;

	many = forks;
	check(!write_truth("forks", 4 * ITEMS, write_forks), "a large truth is written");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		truth = load_truth("forks");
		_exit(!truth || count_items() != (forks + 1) * ITEMS);
	}
	check(wait4(pid, &status, 0, &used) == pid && !status, "each fork inherits all");
	return 1024.0 * (double)used.ru_maxrss;
}

static void test_memory(void)
{
	double each = (measure_peak(FORKS) - measure_peak(1)) / ((FORKS - 1) * ITEMS);

	/* The function itself, and up to 3 slots of 16 bytes in the map of live code. */
	check(each < 200, "an inherited function takes %.0f bytes", each);
	of_files = true;
	each = (measure_peak(FORKS) - measure_peak(1)) / ((FORKS - 1) * ITEMS);
	/* Files are not copied: only the process itself takes memory. */
	check(each < 5, "an inherited file takes %.0f bytes", each);
}
#endif

/* Writes impossible records, one of each kind: code left where memory was moved away, code moved
 * to its own place, a file's code outside of any file, code inside other code, a text written
 * twice. */
static void write_places(void)
{
	add_code(0x1000, "left behind", 100);
	put_at(JP_TRUTH_REMAP, 200, 0x1000, 0x1000, 0x2000, 0x1000);
	put_at(JP_TRUTH_CODE_MOVE, 300, add_code(0x3000, "moves nowhere", 250), 0x3000, 0, 0);
	put_at(JP_TRUTH_CODE_MOVE, 400, add_code(0x4000, "moves along", 350), 0x5000, 0, 0);
	put_at(JP_TRUTH_REMAP, 400, 0x4000, 0x1000, 0x5000, 0x1000);
	add_code(0x6000, "stays", 450);
	put_at(JP_TRUTH_REMAP, 500, 0x6000, 0x1000, 0x6000, 0x2000);
	put_at(JP_TRUTH_CODE_LOAD, 600, 0x9000, 32,
	       jp_truth_layout(usual_insns, 6) | (uint64_t)jp_truth_text("in no file") << 32,
	       jp_truth_id() | (uint64_t)jp_truth_frames(JP_CFI_ABSENT, 0, 0, 0) << 32);
	put_at(JP_TRUTH_CODE_UNLOAD, 640, add_code(0x7000, "was there", 620), 0, 0, 0);
	add_code(0x7008, "is there", 660);
	add_code(0x7010, "in it", 680);
	add_code(0x7018, "in both", 690);
	for (int i = 0, id = jp_truth_id(); i < 2; i++)
		put_at(JP_TRUTH_TEXT, 700 + i, id, 0, 0, 0);
}

static void test_impossible_records(void)
{
	check(truth->torn == 6 && truth->gaps == 6, "impossible records count as torn: %llu",
	      (unsigned long long)truth->torn);
}

TEST(truth)
{
	static const struct truth_test tests[] = {
		{64, write_family, test_forked_processes},
		{1 << 17, write_crowd, test_many_writers},
		{64, write_incarnations, test_incarnations},
		{64, write_sharing, test_shared_address_space},
		{64, write_files, test_files},
		{64, write_places, test_impossible_records},
	};

	run_truth_tests(tests, sizeof(tests) / sizeof(*tests));
	check_growth("files after each other", read_many_files);
	at_once = true;
	check_growth("files side by side", read_many_files);
#ifndef __SANITIZE_ADDRESS__
	test_memory();
#endif
}
