/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_EVENT_H
#define JP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One thing that a capture saw, decoded: the common tongue of the perf.data reader, replay,
 * unwinding and validators. Pointers lead into the reader's buffers and die with the visit.
 * Knows nothing of linux/perf_event.h, so that validators need not either.
 */
enum jp_event_type {
	JP_EVENT_SAMPLE,
	JP_EVENT_MAP, /* MMAP or MMAP2 */
	JP_EVENT_COMM,
	JP_EVENT_FORK,
	JP_EVENT_EXIT,
	JP_EVENT_LOST,         /* PERF_RECORD_LOST: @lost events of any kind */
	JP_EVENT_LOST_SAMPLES, /* PERF_RECORD_LOST_SAMPLES */
	JP_EVENT_THROTTLE,
	JP_EVENT_DEFERRED, /* PERF_RECORD_CALLCHAIN_DEFERRED: what samples before it were promised
			    */
	JP_EVENT_OTHER,    /* known to perf, of no use here; @record_type tells */
};

/* User registers in DWARF's numbering for the machine (x86-64: 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi
 * 6 rbp 7 rsp 8..15 r8..r15 16 rip), whatever order the capture holds them in. */
enum { JP_REGS = 32 };
struct jp_regs {
	uint32_t known; /* bit i: r[i] is known */
	uint64_t r[JP_REGS];
};

struct jp_event {
	enum jp_event_type type;
	uint32_t record_type; /* as in the file */
	uint16_t misc;        /* as in the file: perf's bits, some of which speak below */
	const void *record;   /* the whole record; NULL: there is none */
	uint64_t time;        /* ns; 0 where the file gives none */
	uint64_t at; /* the record's offset in the file; its block's where it was compressed */
	uint32_t pid, tid, cpu;
	uint64_t id;     /* event id, 0 where the file gives none */
	uint32_t attr;   /* which attr of the file, by index */
	bool kernel_map; /* MAP of the kernel or a module (pid -1 or kernel cpumode) */
	union {
		struct {
			uint64_t ip;           /* PERF_SAMPLE_IP; may be the kernel's */
			bool user;             /* cpumode says that @ip is a user address */
			const uint64_t *chain; /* with PERF_CONTEXT_*, as in the file */
			uint64_t nr_chain;
			bool kernel_chain;   /* nobody asked for the user's part of @chain */
			bool chain_deferred; /* @chain ends with a cookie: the user's part comes
						later */
			const uint64_t *deferred; /* that part; NULL: it never came, or the reader
						   * cannot look ahead (a stream) */
			uint64_t nr_deferred;
			const struct jp_regs *regs; /* user registers, NULL: none */
			uint64_t regs_abi;          /* 0: none were taken, 1: 32, 2: 64 bits */
			const unsigned char *stack; /* from the user sp up, NULL: none */
			uint64_t stack_size;        /* bytes really copied (dyn_size) */
			uint64_t stack_asked;       /* what the sample had room for; equal to
						     * stack_size: it may cut the stack */
			uint64_t period;
		} sample;
		struct {
			uint64_t addr, len, pgoff;
			uint32_t maj, min;
			uint64_t ino, gen;
			const unsigned char *build_id; /* NULL: the record has none */
			uint32_t build_id_size;
			uint32_t prot; /* MMAP (not 2): PROT_EXEC or, with data, 0 */
			uint32_t flags;
			bool has_identity; /* maj, min, ino, gen are valid */
			const char *name;  /* NUL-terminated */
		} map;
		struct {
			const char *name;
			bool exec;
		} comm;
		struct {
			uint32_t ppid, ptid;
			uint64_t time; /* that the record states; @time above is its sample id's */
		} task;                /* FORK, EXIT */
		struct {
			uint64_t lost;
		} lost;
		struct {
			uint64_t cookie, count;
			const uint64_t *ips;
		} deferred;
	};
};

/* 0 to go on; anything else stops the reader, which returns it. */
typedef int (*jp_event_visit)(void *context, const struct jp_event *event);

/* PERF_CONTEXT_* as the file holds them. */
#define JP_CONTEXT_KERNEL        ((uint64_t)-128)
#define JP_CONTEXT_USER          ((uint64_t)-512)
#define JP_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define JP_CONTEXT_MAX           ((uint64_t)-4095)

/*
 * The user part of a callchain: what follows PERF_CONTEXT_USER, or came deferred. Returns the
 * number of addresses and their start in @user. A value >= JP_CONTEXT_MAX there is garbage that
 * looks like a marker: it is no address and ends nothing, so the caller skips it when counting
 * (DESIGN 6).
 */
uint64_t jp_event_user_chain(const struct jp_event *event, const uint64_t **user);

#endif
