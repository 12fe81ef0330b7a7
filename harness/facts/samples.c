// SPDX-License-Identifier: GPL-2.0-only
/* Facts about other contents of samples (stack dumps, registers), and about execution
 * breakpoints. */
#include "harness/facts/read_chain.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/facts/probe_fact.h"
#include "harness/facts/test_region.h"

static void open_breakpoint(struct jp_answer *answer, uint64_t length)
{
	struct perf_event_attr attr = jp_watch_breakpoint(jp_code_leaf_body);
	int fd;

	attr.bp_len = length;
	fd = jp_perf_open(&attr, 0, sched_getcpu());
	jp_answer_text(answer, "%llu %s", (unsigned long long)length,
		       jp_answer_errno(fd < 0 ? -fd : 0));
	if (fd >= 0)
		close(fd);
}

static void try_breakpoint_lengths(struct jp_answer *answer)
{
	jp_answer_list(answer);
	for (uint64_t length = 1; length <= 8; length *= 2)
		open_breakpoint(answer, length);
}

static void count_breakpoint_slots(struct jp_answer *answer)
{
	unsigned int slots = 0;
	int fd;

	do {
		struct perf_event_attr attr = jp_watch_breakpoint(jp_code_leaf_body + slots);

		fd = jp_perf_open(&attr, 0, sched_getcpu());
		slots += fd >= 0;
	} while (fd >= 0 && slots < 64);
	jp_answer_list(answer);
	jp_answer_number(answer, slots);
	jp_answer_text(answer, "%s", jp_answer_errno(fd < 0 ? -fd : 0));
}

static void open_kernel_breakpoint(struct jp_answer *answer)
{
	struct perf_event_attr attr =
		jp_watch_breakpoint((const void *)(uintptr_t)UINT64_C(0xffffffff81000000));
	int fd = jp_perf_open(&attr, 0, sched_getcpu());

	jp_answer_text(answer, "%s", jp_answer_errno(fd < 0 ? -fd : 0));
	if (fd >= 0)
		close(fd);
}

static void hit_inherited_breakpoint(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(jp_code_leaf_body);
	struct jp_event event;
	unsigned int hits = 0;
	struct jp_watch watch;
	pid_t pid;

	attr.inherit = 1;
	if (!jp_watch_open(&watch, &attr, 16, answer))
		return;
	pid = jp_fact_fork(answer);
	if (pid == 0) {
		jp_code_outer(jp_code_middle, jp_code_leaf);
		_exit(0);
	}
	jp_fact_wait(answer, pid);
	while (jp_watch_next(&watch, &event))
		hits += event.type == JP_EVENT_SAMPLE;
	jp_answer_number(answer, hits);
}

static struct {
	volatile sig_atomic_t has_come;
	int code;
	uint64_t data, ip;
} trap;

static void store_trap_address(int number, siginfo_t *info, void *context)
{
	/* Offset of si_perf_data in a siginfo_t whose si_code is TRAP_PERF. */
	enum { PERF_DATA = 24 };

	trap.code = info->si_code;
	memcpy(&trap.data, (const char *)info + PERF_DATA, sizeof(trap.data));
	trap.ip = jp_code_interrupted(context);
	trap.has_come = trap.has_come + 1;
}

static void raise_sigtrap(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(jp_code_leaf_body);
	struct sigaction act = {.sa_sigaction = store_trap_address, .sa_flags = SA_SIGINFO};
	const uint64_t data = 0x1122334455667788;
	struct jp_watch watch;

	jp_attr_set_bit(&attr, JP_ATTR_REMOVE_ON_EXEC);
	jp_attr_set_bit(&attr, JP_ATTR_SIGTRAP);
	attr.size = PERF_ATTR_SIZE_VER7;
	attr.sig_data = data;
	sigaction(SIGTRAP, &act, NULL);
	if (!jp_watch_open(&watch, &attr, 1, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_leaf);
	ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	jp_answer_list(answer);
	jp_answer_text(answer, "%d signals", (int)trap.has_come);
	if (!trap.has_come)
		return;
	jp_answer_text(answer, "si_code %d", trap.code);
	jp_answer_text(answer, "%s", trap.data == data ? "with sig_data" : "without sig_data");
	jp_answer_text(answer, "%s",
		       trap.ip == (uint64_t)(uintptr_t)jp_code_leaf_body ? "before the instruction"
									 : "elsewhere");
}

static void compare_registers(struct jp_answer *answer)
{
	const struct jp_regs *regs;
	struct jp_event event;
	struct jp_watch watch;
	const struct jp_machine_register *registers;

	if (!jp_chain_open(&watch, jp_code_leaf_body, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_leaf);
	if (!jp_chain_next(&watch, &event, answer))
		return;
	jp_answer_list(answer);
	jp_answer_text(answer, "abi %llu", (unsigned long long)event.sample.regs_abi);
	regs = event.sample.regs;
	if (!regs)
		return;
	registers = regs->machine->registers;
	jp_answer_text(answer, "%s %s", jp_code_registers.name,
		       regs->r[registers[jp_code_registers.middle].number] ==
				       (uint64_t)(uintptr_t)jp_code_middle
			       ? "as it was"
			       : "other");
	jp_answer_text(answer, "ip %s",
		       regs->r[registers[jp_code_registers.ip].number] == event.sample.ip
			       ? "as sampled"
			       : "other");
}

enum { SHORT_STACK = 0 };

/* States the size of the stack dump if attr.sample_stack_user is @answer->parameter; SHORT_STACK:
 * if it is 8192 but the stack ends earlier. */
static void dump_stack(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(jp_code_leaf_body);
	struct jp_event event;
	struct jp_watch watch;

	/* Request no callchain, whose length depends on the C library. */
	attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	attr.sample_type |= PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user =
		answer->parameter == SHORT_STACK ? 8192 : (uint32_t)answer->parameter;
	if (!jp_watch_open(&watch, &attr, 32, answer))
		return;
	if (answer->parameter == SHORT_STACK) {
		jp_test_region_map(answer, 0, 4, JP_RW);
		jp_test_region_write(0, 4);
		jp_code_on_stack(jp_test_region_at(4), jp_code_leaf);
	} else {
		char capacity[80000]; /* larger than any dump */

		__asm__ volatile("" : : "r"(capacity) : "memory");
		memset(capacity, 1, sizeof(capacity));
		jp_code_outer(jp_code_middle, jp_code_leaf);
		__asm__ volatile("" : : "r"(capacity) : "memory");
	}
	if (!jp_chain_next(&watch, &event, answer))
		return;
	jp_answer_list(answer);
	jp_answer_text(answer, "record %u", ((const struct jp_perf_record *)event.record)->size);
	jp_answer_text(answer, "size %llu", (unsigned long long)event.sample.stack_asked);
	jp_answer_text(answer, "dyn_size %llu", (unsigned long long)event.sample.stack_size);
}

static const struct jp_fact facts[] = {
	{"breakpoint.length",
	 "Opens execution breakpoints with a bp_len of 1 to 8; ok or the error.",
	 .probe = try_breakpoint_lengths},
	{"breakpoint.number",
	 "Opens execution breakpoints of one thread until an error; their number, and the "
	 "error.",
	 .probe = count_breakpoint_slots},
	{"breakpoint.kernel_address",
	 "Opens an execution breakpoint with exclude_kernel at an address in the kernel; ok or "
	 "the error.",
	 .probe = open_kernel_breakpoint},
	{"breakpoint.inherit",
	 "Forks a child that runs into its parent's breakpoint with attr.inherit; number of "
	 "hits.",
	 .probe = hit_inherited_breakpoint},
	{"breakpoint.sigtrap",
	 "Runs into a breakpoint with attr.sigtrap; number of signals, their si_code (6: "
	 "TRAP_PERF), whether sig_data arrives, where the thread stops.",
	 .probe = raise_sigtrap},
	{"sample.registers",
	 "Samples the user registers at a breakpoint; the ABI (2: 64 bits), and whether two of "
	 "them hold the expected values.",
	 .probe = compare_registers},
	{"sample.stack.8192",
	 "Requests a stack dump of 8192 bytes, all present; sizes in the record.",
	 .probe = dump_stack, .parameter = 8192},
	{"sample.stack.65528",
	 "Requests a stack dump of 65528 bytes, for which a record (64 KiB) has no room; sizes "
	 "in the record.",
	 .probe = dump_stack, .parameter = 65528},
	{"sample.stack.at_top",
	 "Requests a stack dump of 8192 bytes where the stack's mapping ends after 16; sizes in "
	 "the record.",
	 .probe = dump_stack, .parameter = SHORT_STACK},
};
JP_REGISTER_ROWS(fact, facts);
