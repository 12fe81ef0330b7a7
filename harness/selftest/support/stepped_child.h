/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#if defined(__riscv)
#include <asm/ptrace.h>
#endif

/* Registers, traps and calls of a child that is traced by single steps, for each machine. */
struct registers {
	uint64_t ip, sp, bp;
	uint64_t link; /* register with the return address of the last call; 0: the machine has none
			*/
};

static inline bool read_words(pid_t pid, uint64_t at, uint64_t *words, size_t count)
{
	struct iovec to = {words, count * 8}, from = {(void *)(uintptr_t)at, count * 8};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)(count * 8);
}

static inline bool exchange_registers(pid_t pid, int request, struct user_regs_struct *regs)
{
	struct iovec to = {regs, sizeof(*regs)};

	return !ptrace(request, pid, NT_PRSTATUS, &to);
}

#if defined(__x86_64__)
static inline bool read_registers(pid_t pid, struct registers *regs)
{
	struct user_regs_struct from;

	if (!exchange_registers(pid, PTRACE_GETREGSET, &from))
		return false;
	*regs = (struct registers){from.rip, from.rsp, from.rbp, 0};
	return true;
}

/* Returns @word of code with a trap (int3) as its first instruction. */
static inline uint64_t make_trap(uint64_t word)
{
	return (word & ~UINT64_C(0xff)) | 0xcc;
}

/* Steps back to a trap that the child ran into. */
static inline bool leave_trap(pid_t pid, struct registers *regs)
{
	struct user_regs_struct all;

	regs->ip--;
	if (!exchange_registers(pid, PTRACE_GETREGSET, &all))
		return false;
	all.rip = regs->ip;
	return exchange_registers(pid, PTRACE_SETREGSET, &all);
}

/* Stores the return address of the function whose first instruction is next. */
static inline bool read_return(pid_t pid, const struct registers *regs, uint64_t *address)
{
	return read_words(pid, regs->sp, address, 1);
}

/* Returns whether the step from @old was a call: it leaves the address behind it on the stack. */
static inline bool is_call(pid_t pid, const struct registers *old, const struct registers *regs)
{
	uint64_t word;

	return regs->sp == old->sp - 8 && regs->ip - old->ip > 15 &&
	       read_words(pid, regs->sp, &word, 1) && word - old->ip <= 7;
}

/* Returns whether the step from @old to @regs may be a return. */
static inline bool is_return(pid_t pid, const struct registers *old, const struct registers *regs)
{
	return regs->sp == old->sp + 8;
}
#elif defined(__aarch64__)
static inline bool read_registers(pid_t pid, struct registers *regs)
{
	struct user_regs_struct from;

	if (!exchange_registers(pid, PTRACE_GETREGSET, &from))
		return false;
	*regs = (struct registers){from.pc, from.sp, from.regs[29], from.regs[30]};
	return true;
}

/* Returns @word of code with a trap (brk) as its first instruction. */
static inline uint64_t make_trap(uint64_t word)
{
	return (word & ~UINT64_C(0xffffffff)) | 0xd4200000;
}

/* Returns whether the step from @old to @regs was a return. */
static inline bool is_return(pid_t pid, const struct registers *old, const struct registers *regs)
{
	uint64_t word;

	return read_words(pid, old->ip, &word, 1) && (word & 0xfffffc1f) == 0xd65f0000;
}
#elif defined(__riscv)
static inline bool read_registers(pid_t pid, struct registers *regs)
{
	struct user_regs_struct from;

	if (!exchange_registers(pid, PTRACE_GETREGSET, &from))
		return false;
	*regs = (struct registers){from.pc, from.sp, from.s0, from.ra};
	return true;
}

/* Returns @word of code with a trap (ebreak) as its first instruction. */
static inline uint64_t make_trap(uint64_t word)
{
	return (word & ~UINT64_C(0xffffffff)) | 0x100073;
}

/* Returns whether the step from @old to @regs was a return. */
static inline bool is_return(pid_t pid, const struct registers *old, const struct registers *regs)
{
	uint64_t word;

	return read_words(pid, old->ip, &word, 1) && (uint32_t)word == 0x8067;
}
#endif

#ifndef __x86_64__
/* The child stands at the trap. */
static inline bool leave_trap(pid_t pid, struct registers *regs)
{
	return true;
}

/* Stores the return address of the function whose first instruction is next. */
static inline bool read_return(pid_t pid, const struct registers *regs, uint64_t *address)
{
	*address = regs->link;
	return true;
}

/* Returns whether the step from @old was a call: it leaves the address behind it in the link
 * register. */
static inline bool is_call(pid_t pid, const struct registers *old, const struct registers *regs)
{
	return regs->link == old->ip + 4 && regs->ip != old->ip + 4;
}
#endif
