/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/format/event.h"

/* The truth file (docs/truth-format.md): a header of one page, then records of 64 bytes, all in
 * host byte order. Many processes map it shared and append without locks: a writer reserves slots
 * by an atomic add to @next_slot, fills them, and commits each slot by storing its seal last. A
 * slot whose seal does not match its bytes is torn, and the reader ignores it. */
#define JP_TRUTH_MAGIC   "JPTRUTH1"
#define JP_TRUTH_VERSION 3
/* First version in which LEAVE has the CPU time, and first version in which every process records
 * its maps and names. */
#define JP_TRUTH_VERSION_CPU  3
#define JP_TRUTH_VERSION_MAPS 3
#define JP_TRUTH_PAGE         4096

struct jp_truth_header {
	char magic[8];
	uint32_t version;
	uint32_t record_size; /* 64 */
	uint64_t capacity;    /* number of slots in the file */
	uint32_t e_machine;   /* EM_X86_64 ... */
	uint32_t clockid;     /* CLOCK_MONOTONIC */
	/* Added to atomically. Above @capacity: records were lost, and the case is an ERROR. */
	_Alignas(8) uint64_t next_slot;
	/* Added to atomically. One sequence for the ids of texts, layouts, functions, paths and
	 * roots. */
	_Alignas(8) uint64_t next_id;
};

/* Types of records. A comment names the member of the union in struct jp_truth_record that the
 * type uses. */
enum jp_truth_type {
	JP_TRUTH_PROCESS_START = 1, /* uses @start */
	JP_TRUTH_PROCESS_EXIT,      /* uses no member */
	JP_TRUTH_THREAD_START,      /* uses @start.parent_tid */
	JP_TRUTH_THREAD_EXIT,       /* uses no member */
	JP_TRUTH_MAP,               /* uses @map */
	JP_TRUTH_PROTECT,           /* uses @protect */
	JP_TRUTH_REMAP,             /* uses @remap */
	JP_TRUTH_UNMAP,             /* uses @unmap */
	JP_TRUTH_TEXT,              /* uses @item, each part with 24 bytes */
	JP_TRUTH_LAYOUT,            /* uses @item, each part with two struct jp_truth_insn */
	JP_TRUTH_CODE_LOAD,         /* uses @load */
	JP_TRUTH_CODE_MOVE,         /* uses @move */
	JP_TRUTH_CODE_UNLOAD,       /* uses @move */
	JP_TRUTH_PATH,   /* uses @item, each part with six u32 function ids, outermost first */
	JP_TRUTH_ROOT,   /* uses @item, each part with three addresses; @total holds method and
			    number of frames: method | frames << 8 */
	JP_TRUTH_ENTER,  /* uses @enter */
	JP_TRUTH_LEAVE,  /* uses @leave */
	JP_TRUTH_MARK,   /* uses @mark */
	JP_TRUTH_WAIT,   /* uses @wait */
	JP_TRUTH_FILE,   /* uses @file */
	JP_TRUTH_FRAMES, /* uses @frames */
	JP_TRUTH_MAPS,   /* uses @text */
	JP_TRUTH_COMM,   /* uses @text */
	JP_TRUTH_GONE,   /* uses no member */
	JP_TRUTH_TYPES
};

/* One record. Comments in enum jp_truth_type name the member of the union that each type uses. Ids
 * come from next_id and are never reused; id 0 of a text is the empty text. */
struct jp_truth_record {
	uint32_t seal; /* jp_truth_seal() of the other 60 bytes, never 0 */
	uint16_t type; /* enum jp_truth_type */
	uint16_t part; /* number of the record in a fact that consists of several records */
	uint32_t pid;  /* pid in the outer pid namespace */
	uint32_t tid;
	uint64_t before; /* CLOCK_MONOTONIC ns: the act happened in [before, after] */
	uint64_t after;
	union {
		uint64_t a[4];
		struct {
			/* Pid and tid of the thread that forked; 0: unknown. */
			uint32_t parent, parent_tid;
			uint64_t start_kind; /* enum jp_start_kind */
			uint64_t exec_tid;   /* tid of the thread that called exec; 0: the first
						thread */
		} start;                     /* a THREAD_START uses only parent_tid */
		struct jp_truth_mapping {
			uint64_t addr, len;
			uint8_t prot, backing; /* enum jp_prot, enum jp_backing */
			uint16_t unused;
			uint32_t name;   /* text id of the name of a memfd or file */
			uint64_t offset; /* offset in the file */
		} map;
		struct {
			uint64_t addr, len, prot;
		} protect;
		struct {
			uint64_t addr, len, new_addr, new_len;
		} remap;
		struct {
			uint64_t addr, len;
		} unmap;
		struct {
			uint32_t id, total; /* @total: number of elements of @data in all parts
					       together */
			uint64_t data[3];
		} item;
		struct jp_truth_load {
			uint64_t addr, size;
			uint32_t layout, name; /* ids of the layout and of the name */
			uint32_t function, frames;
		} load;
		struct {
			uint64_t function, addr;
		} move;
		struct jp_truth_entry {
			uint32_t path, flags; /* @path: id; @flags: JP_ENTER_* */
			uint64_t sp, bp;      /* registers at the first instruction of the path */
			uint32_t chain, dump; /* ids of the roots (native frames) that JP_CHAIN and
						 JP_DUMP find */
		} enter;
		struct jp_truth_leave leave;
		struct {
			uint64_t text, value;
		} mark;
		struct {
			uint64_t id;
		} text;
		struct {
			uint64_t addr;    /* address that was not executable when the thread jumped
					     there */
			uint64_t handled; /* time at which the thread's signal handler started */
		} wait;
		struct {
			uint64_t addr, len, ino;
			uint32_t text;   /* id of "BUILDID PATH" */
			uint32_t device; /* major << 20 | minor */
		} file;
		struct {
			uint32_t id, cfi_status; /* enum jp_cfi_status */
			uint64_t word;
			uint64_t detour, flags; /* @detour: id of a root; @flags: JP_FRAMES_* */
		} frames;
	};
};

enum jp_prot { JP_PROT_READ = 1, JP_PROT_WRITE = 2, JP_PROT_EXEC = 4 };
enum jp_backing {
	JP_BACKING_ANON,
	JP_BACKING_MEMFD,
	JP_BACKING_ZERO,
	JP_BACKING_SHM,
	JP_BACKING_SYSV,
	JP_BACKING_HUGETLB,
	JP_BACKING_HEAP,
	JP_BACKING_FILE,
};
/* Methods to unwind a stack (harness/model/unwind/methods.h). The truth contains native stacks as
 * JP_CHAIN finds them, by frame pointers, and as JP_DUMP finds them, by call frame information.
 * Each other method finds one of these two. */
enum jp_method {
	JP_CHAIN, /* the kernel's callchain */
	JP_DUMP,  /* the dumped stack by call frame information, or by frame pointers if there is
		     none */
	JP_ROOTS,
	JP_DUMP_FP = JP_ROOTS, /* the dumped stack by frame pointers alone */
	JP_DUMP_CFI,           /* the dumped stack by call frame information alone */
	JP_METHODS
};

/*
 * The frame of a function when its instruction at @offset is about to execute. S is the stack
 * pointer at the function's first instruction; C, the canonical frame address, is S plus the bytes
 * that a call pushes. sp = ((S - pre) & -(1 << align)) - post. @bp, the frame pointer register:
 * JP_BP_CALLER: the caller's value. JP_BP_OWN: C - 16 (on riscv64 C). JP_BP_OTHER: a general
 * register. With the latter two, C - 16 has the caller's value, below the return address.
 */
struct jp_truth_insn {
	uint16_t offset;
	uint8_t bp;
	uint8_t align;
	uint32_t pre;
	uint32_t post;
};
enum jp_bp { JP_BP_CALLER, JP_BP_OWN, JP_BP_OTHER, JP_BPS };
/* Flag in @bp: the call of the next function of a path returns to this instruction. */
#define JP_INSN_RETURN 0x80
/* Flag in @bp: this instruction jumps to the next function of the path. The stack pointer here is
 * that function's S, and no frame of this function remains on the stack. */
#define JP_INSN_TAIL 0x40
/* Flag in @bp: the call frame information is wrong for this instruction. According to it, the
 * function's `word` is the return address, bp is unchanged, and the stack pointer is somewhere
 * above. */
#define JP_INSN_MISLED 0x20
/* Flag in @bp: the return address is signed, if the processor signs addresses (arm64). */
#define JP_INSN_SIGNED 0x10
#define JP_INSN_FLAGS  0xf0
enum {
	JP_LEAVE_CHANGED = 1,     /* the native callers changed during the activation */
	JP_LEAVE_INTERRUPTED = 2, /* a signal handler interrupted the activation */
};
enum {
	JP_ENTER_OTHER_STACK = 1, /* the caller is on another stack */
	/* A signal handler entered the path while it interrupted the thread's last activation: the
	 * root of JP_DUMP ends there. */
	JP_ENTER_INTERRUPTED = 2,
};
/* Flag of a FRAMES record: the function is code of the vDSO. Its layout was measured and may lack
 * instructions, and it also runs outside of paths. */
#define JP_FRAMES_VDSO 1
/* The call frame information that the file of a function contains. */
enum jp_cfi_status {
	JP_CFI_NO_FILE, /* the function has no file */
	JP_CFI_RIGHT,   /* correct call frame information, except at JP_INSN_MISLED */
	JP_CFI_ABSENT,  /* the file has no call frame information for the function */
	JP_CFI_STATUSES
};

_Static_assert(sizeof(struct jp_truth_record) == 64, "one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "halves of words are in this order");
_Static_assert(sizeof(struct jp_truth_insn) == 12, "two a record");

/* Returns a hash of the bytes after the seal, never 0. */
uint32_t jp_truth_seal(const struct jp_truth_record *record);
