// SPDX-License-Identifier: GPL-2.0-only
/* The truth file: what is written is read; what is torn, cut, forged or missing is never believed.
 */
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness/format/truth/write.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/oracle/truth.h"
#include "harness/selftest/check.h"
#include "harness/selftest/scratch.h"

/* Runs @write in a child that has a fresh truth of @slots called @name. Returns its wait status. */
static int written(const char *name, uint64_t slots, void (*write)(void))
{
	int status = -1;
	pid_t pid;

	unlink(scratch_path(name));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct jp_error err;

		if (jp_truth_open(scratch_path(name), slots, &err)) {
			fprintf(stderr, "%s\n", err.text);
			_exit(2);
		}
		write();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static struct jp_truth *load(const char *name)
{
	struct jp_error err;
	struct jp_truth *truth = jp_truth_load(scratch_path(name), &err);

	if (!truth)
		printf("# %s\n", err.text);
	return truth;
}

static struct jp_truth *told(uint64_t slots, void (*write)(void))
{
	return written("told", slots, write) ? NULL : load("told");
}

/* Maps all of a file. */
static char *open_bytes(const char *name, size_t *size)
{
	jp_cleanup_close int fd = open(scratch_path(name), O_RDWR | O_CLOEXEC);
	struct stat st;
	char *bytes = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st))
		bytes = mmap(NULL, *size = st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		exit(99);
	return bytes;
}

static struct jp_truth_record *slot(char *bytes, size_t index)
{
	return (struct jp_truth_record *)(bytes + JP_TRUTH_PAGE) + index;
}

static void put_at(enum jp_truth_type type, uint64_t time, uint64_t a0, uint64_t a1, uint64_t a2,
		   uint64_t a3)
{
	jp_truth_append(&(struct jp_truth_record){
		.type = type, .before = time, .after = time, .a = {a0, a1, a2, a3}});
}

/* A frame of 32 bytes below the frame record; its call returns to offset 12. */
static const struct jp_truth_insn insns[] = {
	{.offset = 0},
	{.offset = 1, .pre = 8},
	{.offset = 4, .pre = 8, .bp = JP_BP_OWN},
	{.offset = 8, .pre = 40, .bp = JP_BP_OWN},
	{.offset = 12, .pre = 40, .bp = JP_BP_OWN | JP_INSN_RETURN},
	{.offset = 16},
};
enum { INSNS = sizeof(insns) / sizeof(insns[0]), SP = 0x7ff000, BP = 0x7ff010 };

static void put_activation(uint64_t from, uint64_t to, uint32_t path, uint64_t roots)
{
	put_at(JP_TRUTH_ENTER, from, path, SP, BP, roots);
	put_at(JP_TRUTH_LEAVE, to, path, 0, 0, 0);
}

static uint32_t add_code(uint64_t addr, uint32_t layout, const char *name, uint64_t time)
{
	uint32_t id = jp_truth_id();

	put_at(JP_TRUTH_CODE_LOAD, time, addr, 32, layout | (uint64_t)jp_truth_text(name) << 32,
	       id);
	return id;
}

static uint64_t add_roots(void)
{
	static const uint64_t chain[] = {0x500, 0x501, 0x502, 0x503}, dump[] = {0x500, 0x601};

	return jp_truth_root(JP_CHAIN, chain, 4) | (uint64_t)jp_truth_root(JP_DUMP, dump, 2) << 32;
}

/* Two functions, two paths, four activations; the code moves between the third and the fourth. */
static void write_story(void)
{
	uint32_t layout = jp_truth_layout(insns, INSNS);
	uint32_t outer =
		add_code(0x1000, layout, "outer, whose name takes three parts of the file", 100);
	uint32_t inner = add_code(0x2000, layout, "inner", 110);
	uint32_t one = jp_truth_path((uint32_t[]){outer, inner}, 2);
	uint32_t other = jp_truth_path((uint32_t[]){outer, outer, inner}, 3);
	uint64_t roots = add_roots();

	put_at(JP_TRUTH_PROCESS_START, 50, 1, JP_HOW_LAUNCH, 0, 0);
	put_at(JP_TRUTH_MAP, 60, 0x1000, 0x2000,
	       JP_PROT_EXEC | JP_BACKING_MEMFD << 8 | (uint64_t)jp_truth_text("memfd") << 32,
	       0x3000);
	put_activation(1000, 2000, one, roots);
	put_activation(2010, 3000, other, roots);
	put_at(JP_TRUTH_ENTER, 3010, one, SP, BP, roots);
	put_at(JP_TRUTH_LEAVE, 4000, one | UINT64_C(40) << 32, 1 | 700 << 8, 0, 0);
	put_at(JP_TRUTH_CODE_MOVE, 4100, outer, 0x9000, 0, 0);
	put_at(JP_TRUTH_ENTER, 5000, one, SP, BP, roots);
	put_at(JP_TRUTH_MARK, 5500, jp_truth_text("mark"), 7, 0, 0);
	put_at(JP_TRUTH_MAPS, 5600, jp_truth_text("1000-2000 r-xp"), 0, 0, 0);
	put_at(JP_TRUTH_COMM, 5700, jp_truth_text("name"), 0, 0, 0);
}

static bool is_stack(const struct jp_truth_stack *stack, uint32_t depth, const uint64_t *whole,
		     const uint64_t *seen)
{
	uint32_t nr_whole = 0, nr_seen = 0;

	while (whole[nr_whole])
		nr_whole++;
	while (seen[nr_seen])
		nr_seen++;
	return stack->depth == depth && stack->nr_whole == nr_whole && stack->nr_seen == nr_seen &&
	       !memcmp(stack->whole, whole, nr_whole * 8) &&
	       !memcmp(stack->seen, seen, nr_seen * 8);
}

/* What is known of a sample without a stack pointer, and when a thread was surely within a path. */
static void guesses(struct jp_truth *truth, uint32_t pid)
{
	static const struct {
		const char *what;
		uint64_t ip, time, slack;
		uint32_t apart; /* of another process than the thread's */
		enum jp_method method;
		enum jp_stack_answer answer;
	} table[] = {
		{"in a path", 0x2008, 1500, 0, 0, JP_CHAIN, JP_STACK_FOUND},
		{"of any time", 0x2008, 1500, UINT64_MAX, 0, JP_DUMP, JP_STACK_FOUND},
		{"in none of its functions", 0x3000, 1500, 0, 0, JP_CHAIN, JP_STACK_NO_DEPTH},
		{"before the first", 0x2008, 500, 0, 0, JP_CHAIN, JP_STACK_NO_ACTIVATION},
		{"of another process", 0x2008, 1500, 0, 1, JP_CHAIN, JP_STACK_NO_ACTIVATION},
		{"whose root changed", 0x2008, 3500, 0, 0, JP_CHAIN, JP_STACK_UNJUDGED},
		{"whose root changed for another method", 0x2008, 3500, 0, 0, JP_DUMP,
		 JP_STACK_FOUND},
	};
	struct jp_truth_stack stack = {0};
	uint16_t machine = truth->e_machine;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_truth_guess guess = {.ip = table[i].ip};
		enum jp_stack_answer answer =
			jp_truth_stack_guess(truth, pid + table[i].apart, pid, table[i].time,
					     table[i].slack, table[i].method, &guess, &stack);

		check(answer == table[i].answer, "a guess %s: %d", table[i].what, answer);
	}
	jp_truth_stack_free(&stack);
	truth->e_machine = EM_386;
	check(jp_truth_stack_at(truth, pid, pid, 1500, 0, 0x2008, SP - 88, JP_CHAIN, &stack) ==
			      JP_STACK_UNJUDGED &&
		      jp_truth_stack_guess(truth, pid, pid, 1500, 0, JP_CHAIN,
					   &(struct jp_truth_guess){.ip = 0x2008},
					   &stack) == JP_STACK_UNJUDGED,
	      "a machine that is not built in judges nothing");
	truth->e_machine = machine;
	check(jp_truth_stack_at(truth, pid + 1, pid, 1500, 0, 0x2008, SP - 88, JP_CHAIN, &stack) ==
		      JP_STACK_NO_ACTIVATION,
	      "a thread of another process is in none");
	jp_truth_stack_free(&stack);
	check(jp_truth_is_inside(truth, pid, 1500, 100) &&
		      jp_truth_is_inside(truth, pid, 1110, 100) &&
		      jp_truth_is_inside(truth, pid, 1890, 100),
	      "surely within a path");
	check(!jp_truth_is_inside(truth, pid, 1090, 100) &&
		      !jp_truth_is_inside(truth, pid, 1900, 100) &&
		      !jp_truth_is_inside(truth, pid, 2000, 0) &&
		      !jp_truth_is_inside(truth, pid, 50, 100) &&
		      !jp_truth_is_inside(truth, pid + 1, 1500, 100),
	      "not about its ends, nor before all, nor of another thread");
	check(jp_truth_is_inside(truth, pid, 3060, 0) && !jp_truth_is_inside(truth, pid, 3049, 0),
	      "once it is entered");
}

static void test_story(void)
{
	struct jp_truth_stack stack = {0};
	struct jp_truth *truth = told(256, write_story);
	uint32_t pid;

	check(truth, "a truth is written and read");
	pid = truth->codes[0].pid;
	check(!truth->torn && !truth->gaps && !truth->overflow, "nothing of it is torn");
	check(truth->nr_acts == 5 && !strcmp(truth->acts[1].map.name, "/memfd:memfd (deleted)") &&
		      truth->acts[1].map.pgoff == 0x3000 && truth->acts[2].mark.value == 7 &&
		      !strcmp(truth->acts[2].mark.text, "mark"),
	      "acts come in time order with their names");
	check(truth->acts[3].type == JP_EVENT_MAPS &&
		      !strcmp(truth->acts[3].maps.text, "1000-2000 r-xp") &&
		      truth->acts[4].type == JP_EVENT_COMM &&
		      !strcmp(truth->acts[4].comm.name, "name"),
	      "maps and names are told");
	check(truth->activations[2].cpu == 700 && truth->activations[2].roots_changed &&
		      truth->activations[0].cpu == 0 && truth->activations[3].cpu == UINT64_MAX,
	      "CPU time goes from an enter to its leave");
	check(truth->activations[2].enter == 3010 && truth->activations[2].inside == 3050,
	      "a leave tells how long it took to enter");
	check(truth->nr_codes == 3 && truth->nr_activations == 4 && truth->nr_paths == 3 &&
		      !strcmp(truth->codes[0].name,
			      "outer, whose name takes three parts of the file"),
	      "codes, stays and paths are all there");
	check(jp_truth_code_at(truth, pid, 0x1004, 4050) == &truth->codes[0] &&
		      !jp_truth_code_at(truth, pid, 0x1004, 4101) &&
		      !jp_truth_code_at(truth, pid, 0x1020, 4050) &&
		      !jp_truth_code_at(truth, pid, 0x9004, 4050) &&
		      !jp_truth_code_at(truth, pid + 1, 0x1004, 4050) &&
		      jp_truth_code_at(truth, pid, 0x9004, 4101) == &truth->codes[2],
	      "code is found where and while it lives");

#define AT(time, slack, ip, sp, method)                                                            \
	jp_truth_stack_at(truth, pid, pid, time, slack, ip, sp, method, &stack)
	/* inner starts 40 + 8 below outer's start; in its body both frames are linked. */
	check(AT(1500, 0, 0x2008, SP - 48 - 40, JP_CHAIN) == JP_STACK_FOUND &&
		      is_stack(&stack, 1,
			       (uint64_t[]){0x2008, 0x100c, 0x500, 0x501, 0x502, 0x503, 0},
			       (uint64_t[]){0x2008, 0x100c, 0x500, 0x501, 0x502, 0x503, 0}),
	      "in a body the rule sees every caller");
	check(AT(1500, 0, 0x2001, SP - 48 - 8, JP_DUMP) == JP_STACK_FOUND &&
		      is_stack(&stack, 1, (uint64_t[]){0x2001, 0x100c, 0x500, 0x601, 0},
			       (uint64_t[]){0x2001, 0x500, 0x601, 0}),
	      "in a prologue it misses one");
	check(AT(1500, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_FOUND &&
		      is_stack(&stack, 0, (uint64_t[]){0x1000, 0x500, 0x501, 0x502, 0x503, 0},
			       (uint64_t[]){0x1000, 0x501, 0x502, 0x503, 0}),
	      "at the outermost start it misses the native entry");
	check(AT(2500, 0, 0x1008, SP - 40, JP_CHAIN) == JP_STACK_FOUND && stack.depth == 0 &&
		      AT(2500, 0, 0x1008, SP - 48 - 40, JP_CHAIN) == JP_STACK_FOUND &&
		      stack.depth == 1,
	      "in recursion sp tells the depth");
	check(AT(1500, 0, 0x2008, SP - 40, JP_CHAIN) == JP_STACK_NO_DEPTH &&
		      AT(1500, 0, 0x2009, SP - 88, JP_CHAIN) == JP_STACK_NO_DEPTH &&
		      AT(1500, 0, 0x3000, SP, JP_CHAIN) == JP_STACK_NO_DEPTH,
	      "no depth for another sp, between two instructions, or outside");
	check(AT(500, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_NO_ACTIVATION &&
		      AT(2005, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_NO_ACTIVATION &&
		      jp_truth_stack_at(truth, pid, pid + 1, 1500, 0, 0x1000, SP, JP_CHAIN,
					&stack) == JP_STACK_NO_ACTIVATION,
	      "no stay before, between, and of another thread");
	check(AT(2005, 20, 0x1008, SP - 40, JP_CHAIN) == JP_STACK_UNJUDGED &&
		      AT(2005, 20, 0x2008, SP - 88, JP_CHAIN) == JP_STACK_FOUND &&
		      stack.activation->enter == 1000 &&
		      AT(2005, 20, 0x2008, SP - 136, JP_CHAIN) == JP_STACK_FOUND &&
		      stack.activation->enter == 2010,
	      "between two stays only what both allow is unjudged");
	check(AT(3500, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_UNJUDGED &&
		      AT(3500, 0, 0x1000, SP, JP_DUMP) == JP_STACK_FOUND,
	      "a root that changed during the stay judges nothing");
	check(AT(9999, 0, 0x9008, SP - 40, JP_DUMP) == JP_STACK_FOUND &&
		      AT(9999, 0, 0x1008, SP - 40, JP_DUMP) == JP_STACK_NO_DEPTH,
	      "a path follows its functions when they move");
#undef AT
	guesses(truth, pid);
	jp_truth_stack_free(&stack);
	jp_truth_free(truth);
}

/* Tears one slot of the story; returns (torn, gaps) and whether any activation is left of @path. */
static struct jp_truth *torn_story(size_t index)
{
	size_t size;
	char *bytes;

	written("torn", 256, write_story);
	bytes = open_bytes("torn", &size);
	slot(bytes, index)->a[1] ^= 4;
	munmap(bytes, size);
	return load("torn");
}

static void test_torn(void)
{
	struct jp_truth *truth;
	size_t size, used;
	char *bytes;

	written("cut", 256, write_story);
	bytes = open_bytes("cut", &size);
	used = ((struct jp_truth_header *)bytes)->next_slot;
	memset(slot(bytes, used - 1), 0, sizeof(struct jp_truth_record));
	munmap(bytes, size);
	truth = torn_story(used - 1);
	check(truth && truth->torn == 1 && !truth->gaps && truth->nr_acts == 4,
	      "a torn last record is skipped and is no gap");
	jp_truth_free(truth);
	truth = torn_story(0); /* the layout's first part: no code can be believed */
	check(truth && truth->torn > 1 && truth->gaps > 1 && !truth->nr_codes &&
		      !truth->nr_activations,
	      "what hangs on a torn part is not believed either");
	jp_truth_free(truth);
	for (size_t i = 0, lost = 0; i < used; i++) {
		truth = torn_story(i);
		lost += truth && truth->torn && (truth->gaps || i + 1 == used);
		jp_truth_free(truth);
		if (i + 1 == used)
			check(lost == used, "every slot, when torn, is noticed");
	}

	check(!truncate(scratch_path("cut"),
			JP_TRUTH_PAGE + used * sizeof(struct jp_truth_record)) &&
		      (truth = load("cut")) && truth->torn == 1 && !truth->gaps,
	      "a slot that was taken and never written is torn; the tail may be cut off");
	jp_truth_free(truth);
	check(!truncate(scratch_path("cut"),
			JP_TRUTH_PAGE + used * sizeof(struct jp_truth_record) - 1) &&
		      !load("cut"),
	      "a file that ends before its records is refused");
	written("full", 20, write_story);
	truth = load("full");
	check(truth && truth->overflow == used - 20, "a full file tells how much it lost");
	jp_truth_free(truth);
}

static void write_family(void)
{
	uint32_t layout = jp_truth_layout(insns, INSNS), outer = add_code(0x1000, layout, "f", 100);
	uint32_t path = jp_truth_path(&outer, 1);
	uint64_t roots = add_roots();
	pid_t parent = getpid(), pid;

	put_activation(150, 160, path, roots);
	pid = fork();
	if (!pid) {
		put_at(JP_TRUTH_PROCESS_START, 200, parent, JP_HOW_FORK, 0, 0);
		put_at(JP_TRUTH_ENTER, 250, path, SP, BP, roots);
		/* Never left: the exec ends it. */
		put_at(JP_TRUTH_PROCESS_START, 400, parent, JP_HOW_EXEC, 0, 0);
		put_at(JP_TRUTH_MARK, 410, 0, 1, 0, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	put_at(JP_TRUTH_CODE_UNLOAD, 300, outer, 0, 0, 0);
	put_at(JP_TRUTH_MARK, 420, 0, 2, 0, 0);
}

static void test_family(void)
{
	struct jp_truth_stack stack = {0};
	struct jp_truth *truth = told(64, write_family);
	uint32_t parent, child;

	check(truth && !truth->torn && truth->nr_acts == 4 && truth->nr_codes == 2,
	      "parent and child write one truth");
	child = truth->acts[0].pid;
	parent = truth->acts[0].task.ppid;
	check(jp_truth_code_at(truth, parent, 0x1004, 299) &&
		      !jp_truth_code_at(truth, parent, 0x1004, 301) &&
		      !jp_truth_code_at(truth, child, 0x1004, 199) &&
		      jp_truth_code_at(truth, child, 0x1004, 350) &&
		      !jp_truth_code_at(truth, child, 0x1004, 401),
	      "a fork inherits code, an unload elsewhere does not touch it, an exec drops it");
	check(jp_truth_stack_at(truth, child, child, 399, 0, 0x1000, SP, JP_DUMP, &stack) ==
			      JP_STACK_FOUND &&
		      stack.activation->path->functions[0]->pid == child &&
		      jp_truth_stack_at(truth, child, child, 401, 0, 0x1000, SP, JP_DUMP, &stack) ==
			      JP_STACK_NO_ACTIVATION,
	      "a stay ends with the exec");
	jp_truth_stack_free(&stack);
	jp_truth_free(truth);
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

/* Until it is killed; says on @out when there is something to lose. */
static void write_and_die(int out)
{
	for (uint64_t i = 0; i < 1 << 18; i++) {
		if (i == 100 && write(out, "", 1) != 1)
			_exit(2);
		put_at(JP_TRUTH_MARK, i + 1, jp_truth_text("some text of more than 24 bytes"), i, 0,
		       0);
	}
}

static void test_crowd(void)
{
	struct jp_truth *truth = told(1 << 17, write_crowd);
	size_t names = 0, tids = 0;

	check(truth && !truth->torn && truth->nr_acts == PROCESSES * THREADS * MARKS,
	      "12 threads of 4 processes lose nothing");
	for (size_t i = 0; truth && i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		unsigned number;
		void *which;

		names += sscanf(act->mark.text, "thread %p, mark %u, more than", &which, &number) ==
				 2 &&
			 number == act->mark.value;
		tids += act->tid != act->pid;
	}
	check(truth && names == truth->nr_acts && tids == names,
	      "every text is its own, every record its thread's");
	jp_truth_free(truth);

	bool good = true;

	for (unsigned i = 0; i < 20 && good; i++) {
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
		truth = load("killed");
		good = good && truth && WIFSIGNALED(status) && !truth->gaps &&
		       truth->nr_acts >= 100;
		for (size_t k = 0; good && k < truth->nr_acts; k++)
			good = truth->acts[k].mark.value == k;
		jp_truth_free(truth);
	}
	check(good, "after SIGKILL every record up to the last is there, 20 times");
}

static void test_open(void)
{
	struct jp_error err;

	written("again", 16, write_family);
	check(jp_truth_open(scratch_path("again"), 16, &err) < 0 && strstr(err.text, "again"),
	      "another run's truth is not added to");
	check(jp_truth_open(scratch_path("absent"), 0, &err) < 0,
	      "an exec does not make a new file");
	check(!symlink("again", scratch_path("link")) &&
		      jp_truth_open(scratch_path("link"), 0, &err) < 0 &&
		      jp_truth_open("/dev/null", 0, &err) < 0,
	      "a symbolic link and a device are not written to");
	check(!jp_truth_load(scratch, &err) && !jp_truth_load("/dev/null", &err) &&
		      strstr(err.text, "/dev/null"),
	      "a folder and a device are refused");
	scratch_write(scratch_path("short"), "JITPROOF", 8);
	check(!jp_truth_load(scratch_path("short"), &err) &&
		      strstr(err.text, "short: offset 8: ") &&
		      strstr(err.text, "the file ends here"),
	      "and what ends within its header: %s", err.text);
}

/* Figures for whoever changes the tables; the machine decides them, so they judge nothing. */
static void write_long(void)
{
	uint32_t layout = jp_truth_layout(insns, INSNS), functions[300], shallow, deep;
	uint64_t roots = add_roots();

	for (unsigned i = 0; i < 300; i++)
		functions[i] = add_code(0x10000 + i * 64, layout, "f", 1);
	shallow = jp_truth_path(functions, 16);
	deep = jp_truth_path(functions, 300);
	for (uint64_t i = 0; i < 100000; i++) {
		put_activation(1000 + i * 100, 1090 + i * 100, i % 2 ? shallow : deep, roots);
	}
}

static void test_long(void)
{
	struct jp_truth *truth = told(1 << 18, write_long);
	struct jp_truth_stack stack = {0};
	uint64_t found = 0, spent[3] = {0}, random = 1, start;
	uint32_t pid = truth ? truth->codes[0].pid : 0;

	check(truth && truth->nr_activations == 100000 && !truth->torn, "100,000 stays are read");
	for (unsigned kind = 0; truth && kind < 3; kind++) {
		uint32_t depth = kind == 1 ? 300 : 16;

		start = jp_clock_now();
		for (uint64_t i = 0; i < 20000; i++) {
			/* Kind 2: in random order, so that no hint helps. */
			uint64_t n =
				(kind == 2 ? check_random(&random) % 50000 : i) * 2 + (kind != 1);

			found +=
				jp_truth_stack_at(truth, pid, pid, 1050 + n * 100, 10,
						  0x10000 + (depth - 1) * 64, SP - (depth - 1) * 48,
						  JP_CHAIN, &stack) == JP_STACK_FOUND &&
				stack.nr_whole == depth + 4;
		}
		spent[kind] = (jp_clock_now() - start) / 20000;
	}
	start = jp_clock_now();
	for (unsigned i = 0; truth && i < 100000; i++)
		found += jp_truth_code_at(truth, pid, 0x10000 + i % 300 * 64 + 5, 5000) != NULL;
	check(found == 160000, "every stack and every function is found");
	printf("# ns: stack of depth 16: %llu, 300: %llu, 16 at random: %llu; code: %llu\n",
	       (unsigned long long)spent[0], (unsigned long long)spent[1],
	       (unsigned long long)spent[2], (unsigned long long)(jp_clock_now() - start) / 100000);
	jp_truth_stack_free(&stack);
	jp_truth_free(truth);
}

/* One pid, two lives: the first is killed within a path, and who reaped it says so. */
static void write_incarnations(void)
{
	uint32_t layout = jp_truth_layout(insns, INSNS), first, second, path;
	uint64_t roots = add_roots();

	put_at(JP_TRUTH_PROCESS_START, 50, 1, JP_HOW_FORK, 0, 0);
	first = add_code(0x1000, layout, "first", 100);
	path = jp_truth_path(&first, 1);
	put_at(JP_TRUTH_ENTER, 1000, path, SP, BP, roots);
	jp_truth_process_died(getpid(), 1900, 2000);
	put_at(JP_TRUTH_PROCESS_START, 3000, 1, JP_HOW_FORK, 0, 0);
	second = add_code(0x1000, layout, "second", 3100);
	path = jp_truth_path(&second, 1);
	put_activation(4000, 5000, path, roots);
}

static void test_incarnations(void)
{
	struct jp_truth *truth = told(64, write_incarnations);
	const struct jp_truth_code *code;
	uint32_t pid;

	check(truth && !truth->torn && !truth->gaps && truth->nr_activations == 2,
	      "a process that was killed within a path leaves no gap");
	pid = truth->activations[0].pid;
	check(truth->activations[0].leave == 2000 && truth->activations[1].enter == 4000,
	      "its stay ends with it");
	code = jp_truth_code_at(truth, pid, 0x1004, 1500);
	check(code && !strcmp(code->name, "first") && !jp_truth_code_at(truth, pid, 0x1004, 2001),
	      "so does its code");
	code = jp_truth_code_at(truth, pid, 0x1004, 4500);
	check(code && !strcmp(code->name, "second"), "the next life of the pid has its own");
	jp_truth_free(truth);
}

/* Two pids in one address space, until the child execs. */
static void write_sharing(void)
{
	uint32_t layout = jp_truth_layout(insns, INSNS),
		 before = add_code(0x1000, layout, "a", 100);
	pid_t parent = getpid(), child;

	child = fork();
	if (!child) {
		uint32_t own;

		put_at(JP_TRUTH_PROCESS_START, 200, parent, JP_HOW_SHARE, 0, 0);
		own = add_code(0x2000, layout, "b", 300);
		put_at(JP_TRUTH_CODE_MOVE, 400, own, 0x3000, 0, 0);
		put_at(JP_TRUTH_CODE_UNLOAD, 500, before, 0, 0, 0);
		put_at(JP_TRUTH_PROCESS_START, 600, parent, JP_HOW_EXEC, 0, 0);
		add_code(0x4000, layout, "c", 700);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void test_sharing(void)
{
	struct jp_truth *truth = told(64, write_sharing);
	uint32_t parent, child;

	check(truth && !truth->torn && !truth->gaps && truth->nr_acts == 2, "two share a space");
	child = truth->acts[0].pid;
	parent = truth->acts[0].task.ppid;
	check(jp_truth_code_at(truth, child, 0x1004, 250) &&
		      jp_truth_code_at(truth, parent, 0x2004, 350),
	      "what either loads both have");
	check(jp_truth_code_at(truth, parent, 0x3004, 450) &&
		      !jp_truth_code_at(truth, parent, 0x2004, 450) &&
		      jp_truth_code_at(truth, child, 0x3004, 450),
	      "what one moves is elsewhere for both");
	check(!jp_truth_code_at(truth, parent, 0x1004, 550) &&
		      !jp_truth_code_at(truth, child, 0x1004, 550),
	      "what one unloads is gone for both");
	check(jp_truth_code_at(truth, parent, 0x3004, 650) &&
		      !jp_truth_code_at(truth, child, 0x3004, 650) &&
		      jp_truth_code_at(truth, child, 0x4004, 750) &&
		      !jp_truth_code_at(truth, parent, 0x4004, 750),
	      "an exec leaves, and takes nothing along");
	jp_truth_free(truth);
}

/* What leaves by a jump, what has something else in bp, what is misled by what is said of it. */
static const struct jp_truth_insn tail_insns[] = {
	{.offset = 0}, {.offset = 4, .pre = 8, .bp = JP_BP_OWN}, {.offset = 8, .bp = JP_INSN_TAIL}};
static const struct jp_truth_insn other_insns[] = {
	{.offset = 0},
	{.offset = 4, .pre = 40, .bp = JP_BP_OTHER},
	{.offset = 8, .pre = 40, .bp = JP_BP_OTHER | JP_INSN_RETURN}};
static const struct jp_truth_insn misled_insns[] = {
	{.offset = 0},
	{.offset = 4, .pre = 56, .bp = JP_INSN_MISLED},
	{.offset = 8, .pre = 56, .bp = JP_INSN_MISLED | JP_INSN_RETURN}};

static uint32_t add_framed(uint64_t addr, const struct jp_truth_insn *layout, uint32_t frames)
{
	uint32_t id = jp_truth_id();

	put_at(JP_TRUTH_CODE_LOAD, 100, addr, 32,
	       jp_truth_layout(layout, 3) | (uint64_t)jp_truth_text("framed") << 32,
	       id | (uint64_t)frames << 32);
	return id;
}

static void write_misleading(void)
{
	static const uint64_t detour[] = {0x700, 0x701}, between[] = {0x500, 0x800};
	uint32_t usual = jp_truth_layout(insns, INSNS), inner = add_code(0x1000, usual, "in", 100);
	uint32_t outer = add_code(0x2000, usual, "out", 100);
	uint32_t tail = add_framed(0x3000, tail_insns, 0);
	uint32_t other = add_framed(
		0x4000, other_insns,
		jp_truth_frames(JP_CFI_NO_FILE, 1, jp_truth_root(JP_CHAIN, detour, 2), 0));
	uint32_t stale =
		add_framed(0x5000, misled_insns, jp_truth_frames(JP_CFI_RIGHT, 0x2020, 0, 0));
	uint32_t zero = add_framed(0x6000, misled_insns, jp_truth_frames(JP_CFI_RIGHT, 0, 0, 0));
	uint32_t none = add_framed(0x7000, other_insns, jp_truth_frames(JP_CFI_ABSENT, 0, 0, 0));
	uint32_t paths[] = {jp_truth_path((uint32_t[]){outer, tail, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, other, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, stale, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, zero, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, none, inner}, 3)};
	uint32_t own = jp_truth_path(&inner, 1);
	uint64_t roots = add_roots(), handler = roots & UINT32_MAX;

	put_at(JP_TRUTH_PROCESS_START, 50, 1, JP_HOW_LAUNCH, 0, 0);
	for (int i = 0; i < 5; i++)
		put_activation(1000 + i * 100, 1090 + i * 100, paths[i], roots);
	/* A handler over out+8 of the first path; once on the same stack, once on another. */
	handler |= (uint64_t)jp_truth_root(JP_DUMP, between, 2) << 32;
	for (uint64_t flags = 0; flags < 2; flags++) {
		uint64_t time = 2000 + flags * 1000;

		put_at(JP_TRUTH_ENTER, time, paths[0], SP, BP, roots);
		put_at(JP_TRUTH_LEAVE, time + 100, paths[0], JP_LEAVE_INTERRUPTED, 0x2008, SP - 40);
		put_at(JP_TRUTH_ENTER, time + 200, own | (JP_ENTER_INTERRUPTED | flags) << 32,
		       SP - 999, 0, handler);
		put_at(JP_TRUTH_LEAVE, time + 300, own, 0, 0, 0);
		put_activation(time + 400, time + 500, paths[0], roots);
	}
	put_at(JP_TRUTH_ENTER, 5000, own | (uint64_t)JP_ENTER_OTHER_STACK << 32, SP, BP, roots);
	put_at(JP_TRUTH_LEAVE, 5100, own, 0, 0, 0);
}

static void test_misleading(void)
{
	struct jp_truth_stack stack = {0};
	struct jp_truth *truth = told(256, write_misleading);
	uint32_t pid;
	/* out's call lies 48 below its start, and the next one's another 48 or 64. */
	const uint64_t second = SP - 48, third = second - 48, deep = second - 64;

	check(truth && !truth->torn && !truth->gaps && truth->nr_activations == 12,
	      "frames, jumps and interrupted stays are read");
	pid = truth->codes[0].pid;
#define IS(time, ip, sp, method, at, why, whole, ...)                                              \
	(jp_truth_stack_at(truth, pid, pid, time, 0, ip, sp, method, &stack) == JP_STACK_FOUND &&  \
	 stack.end == (why) && stack.faithful == ((why) == JP_END_ROOT) &&                         \
	 is_stack(&stack, at, whole, (uint64_t[]){__VA_ARGS__, 0}))
	uint64_t *jumped = (uint64_t[]){0x1008, 0x200c, 0x500, 0x601, 0};
	check(IS(1050, 0x1008, second - 40, JP_DUMP, 2, JP_END_ROOT, jumped, 0x1008, 0x200c, 0x500,
		 0x601),
	      "nothing is left of what left by a jump");
	uint64_t *called = (uint64_t[]){0x1008, 0x4008, 0x200c, 0x500, 0x501, 0x502, 0x503, 0};
	check(IS(1150, 0x1008, third - 40, JP_CHAIN, 2, JP_END_BP, called, 0x1008, 0x4008, 0x700,
		 0x701),
	      "the rule goes where bp leads that is none");
	called = (uint64_t[]){0x1008, 0x4008, 0x200c, 0x500, 0x601, 0};
	check(IS(1150, 0x1008, third - 40, JP_DUMP, 2, JP_END_BP, called, 0x1008, 0x4008),
	      "but not within a dump");
	called = (uint64_t[]){0x1008, 0x5008, 0x200c, 0x500, 0x601, 0};
	check(jp_truth_stack_at(truth, pid, pid, 1250, 0, 0x1008, deep - 40, JP_DUMP, &stack) ==
			      JP_STACK_FOUND &&
		      !stack.faithful && stack.end == JP_END_ROOT &&
		      is_stack(&stack, 2, called,
			       (uint64_t[]){0x1008, 0x5008, 0x2020, 0x500, 0x601, 0}),
	      "a stale word is a caller, also behind its last byte, then the truth goes on");
	called = (uint64_t[]){0x1008, 0x6008, 0x200c, 0x500, 0x601, 0};
	check(IS(1350, 0x1008, deep - 40, JP_DUMP, 2, JP_END_ZERO, called, 0x1008, 0x6008),
	      "a word of 0 is taken for the end");
	called = (uint64_t[]){0x1008, 0x7008, 0x200c, 0x500, 0x601, 0};
	check(IS(1450, 0x1008, third - 40, JP_DUMP, 2, JP_END_NO_CFI, called, 0x1008, 0x7008),
	      "where nothing is said it stops");
	called = (uint64_t[]){0x1008, 0x500, 0x800, 0x2008, 0x500, 0x601, 0};
	check(IS(2250, 0x1008, SP - 999 - 40, JP_DUMP, 0, JP_END_ROOT, called, 0x1008, 0x500, 0x800,
		 0x2008, 0x500, 0x601),
	      "a handler's stack goes on in the interrupted one");
	check(IS(3250, 0x1008, SP - 999 - 40, JP_DUMP, 0, JP_END_STACK, called, 0x1008, 0x500,
		 0x800, 0x2008),
	      "or ends there, where that is another stack");
	called = (uint64_t[]){0x1008, 0x500, 0x601, 0};
	check(IS(5050, 0x1008, SP - 40, JP_DUMP, 0, JP_END_STACK, called, 0x1008, 0x500),
	      "as it does where the caller is on another");
#undef IS
	for (uint64_t slack = 3; slack < 10; slack += 6) {
		struct jp_truth_guess guess = {.ip = 0x1008};
		enum jp_stack_answer answer =
			jp_truth_stack_guess(truth, pid, pid, 1095, slack, JP_DUMP, &guess, &stack);

		check(answer == (slack < 5 ? JP_STACK_NO_ACTIVATION : JP_STACK_FOUND),
		      "5 from each of two activations, the clocks differ by %d", (int)slack);
	}
	jp_truth_stack_free(&stack);
	jp_truth_free(truth);
}

static void put_file(uint64_t time, uint64_t addr, uint64_t ino, const char *text)
{
	put_at(JP_TRUTH_FILE, time, addr, 0x1000, ino,
	       (uint64_t)(253 << 20 | 7) << 32 | jp_truth_text(text));
}

static void write_files(void)
{
	uint32_t layout = jp_truth_layout(insns, INSNS);
	pid_t parent = getpid(), child;

	put_file(100, 0x1000, 11, "00ff /a program");
	add_code(0x5010, layout, "told of before its library", 105);
	put_file(110, 0x5000, 12, "- /library");
	add_code(0x7000, layout, "between the files", 110);
	put_at(JP_TRUTH_MARK, 111, jp_truth_text("parent"), 0, 0, 0);
	child = fork();
	if (!child) {
		put_at(JP_TRUTH_PROCESS_START, 200, parent, JP_HOW_FORK, 0, 0);
		put_at(JP_TRUTH_UNMAP, 300, 0x5000, 0x1000, 0, 0);
		add_code(0x5020, layout, "where a library was", 310);
		put_at(JP_TRUTH_PROCESS_START, 400, parent, JP_HOW_EXEC, 0, 0);
		put_file(410, 0x1000, 13, "01 /another");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	put_at(JP_TRUTH_FILE, 500, 0x9000, 0x1000, 1, jp_truth_text("unsplit"));
	jp_truth_process_died(child, 600, 610);
}

static const struct jp_truth_file *file_of(const struct jp_truth *truth, uint32_t pid, uint64_t ino)
{
	for (size_t i = 0; i < truth->nr_files; i++)
		if (truth->files[i].pid == pid && truth->files[i].ino == ino)
			return &truth->files[i];
	return NULL;
}

static void test_files(void)
{
	struct jp_truth *truth = told(64, write_files);
	const struct jp_truth_file *file;
	uint32_t parent, child;

	check(truth && truth->nr_files == 5 && truth->torn == 1,
	      "files are read, but not a bad one");
	parent = truth->acts[0].pid;
	child = truth->acts[1].pid;
	file = file_of(truth, parent, 11);
	check(file && file->maj == 253 && file->min == 7 && file->until == UINT64_MAX &&
		      !strncmp(file->build_id, "00ff ", 5) && !strcmp(file->path, "/a program"),
	      "with device, build id and path");
	file = file_of(truth, child, 11);
	check(file && file->from == 200 && file->until == 400, "a fork has them, until it execs");
	file = file_of(truth, child, 12);
	check(file && file->until == 300 && file_of(truth, parent, 12)->until == UINT64_MAX,
	      "what one unmaps the other keeps");
	file = file_of(truth, child, 13);
	check(file && file->from == 410 && file->until == 600, "the last ends with the process");
	for (size_t i = 0; i < truth->nr_codes; i++)
		check(truth->codes[i].in_file == (truth->codes[i].addr == 0x5010),
		      "code %s is in a file where one is mapped then", truth->codes[i].name);
	check(truth->nr_codes == 5, "in two processes");
	jp_truth_free(truth);
}

int main(void)
{
	scratch_make("");
	test_story();
	test_torn();
	test_family();
	test_crowd();
	test_open();
	test_long();
	test_incarnations();
	test_sharing();
	test_misleading();
	test_files();
	check(!jp_run_dir_remove(scratch) && !mkdir(scratch, 0700), "the folder is removed");
	return check_done();
}
