/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/format/event.h"

/*
 * The truth file (docs/truth-format.md): one page of header, then records of 64 bytes, all in host
 * byte order. Many processes map it shared and append without locks: a writer takes slots with one
 * atomic add on @next_slot, fills them, and commits each with its seal, stored last. A slot whose
 * seal does not match its bytes is torn, and is never believed.
 */
#define JP_TRUTH_MAGIC   "JPTRUTH1"
#define JP_TRUTH_VERSION 3
/* From this version on LEAVE has the CPU time; every process tells its maps and names. */
#define JP_TRUTH_VERSION_CPU  3
#define JP_TRUTH_VERSION_MAPS 3
#define JP_TRUTH_PAGE         4096

struct jp_truth_header {
	char magic[8];
	uint32_t version;
	uint32_t record_size; /* 64 */
	uint64_t capacity;    /* slots */
	uint32_t e_machine;   /* EM_X86_64 ... */
	uint32_t clockid;     /* CLOCK_MONOTONIC */
	uint64_t next_slot;   /* atomic; past capacity: records were lost, the case is an ERROR */
	uint64_t next_id;     /* atomic: of texts, layouts, functions, paths and roots alike */
};

enum jp_truth_type {
	JP_TRUTH_PROCESS_START = 1, /* start */
	JP_TRUTH_PROCESS_EXIT,      /* - */
	JP_TRUTH_THREAD_START,      /* - */
	JP_TRUTH_THREAD_EXIT,       /* - */
	JP_TRUTH_MAP,               /* map */
	JP_TRUTH_PROTECT,           /* protect */
	JP_TRUTH_REMAP,             /* remap */
	JP_TRUTH_UNMAP,             /* unmap */
	JP_TRUTH_TEXT,              /* item of 24 bytes a part */
	JP_TRUTH_LAYOUT,            /* item of two struct jp_truth_insn a part */
	JP_TRUTH_CODE_LOAD,         /* load */
	JP_TRUTH_CODE_MOVE,         /* move */
	JP_TRUTH_CODE_UNLOAD,       /* move */
	JP_TRUTH_PATH,              /* item of six u32 function ids a part, outermost first */
	JP_TRUTH_ROOT,   /* item of three addresses a part; total: method | frames << 8 */
	JP_TRUTH_ENTER,  /* enter */
	JP_TRUTH_LEAVE,  /* leave */
	JP_TRUTH_MARK,   /* mark */
	JP_TRUTH_WAIT,   /* wait */
	JP_TRUTH_FILE,   /* file */
	JP_TRUTH_FRAMES, /* frames */
	JP_TRUTH_MAPS,   /* text */
	JP_TRUTH_COMM,   /* text */
	JP_TRUTH_GONE,   /* - */
	JP_TRUTH_TYPES
};

/* "id" is from next_id; ids are never reused; a text's id may be 0, the empty text. */
struct jp_truth_record {
	uint32_t seal; /* jp_truth_seal() of the other 60 bytes, never 0 */
	uint16_t type; /* enum jp_truth_type */
	uint16_t part; /* 0, 1, ... where one fact takes several records */
	uint32_t pid;  /* as the outside sees them */
	uint32_t tid;
	uint64_t before; /* CLOCK_MONOTONIC ns: the act lies in [before, after] */
	uint64_t after;
	union {
		uint64_t a[4];
		struct {
			uint32_t parent, parent_tid; /* whose fork it is; 0: not known */
			uint64_t how;                /* enum jp_truth_how */
			uint64_t by; /* the thread that called exec; 0: the first one */
		} start;             /* THREAD_START: parent_tid alone */
		struct jp_truth_mapping {
			uint64_t addr, len;
			uint8_t prot, backing; /* enum jp_prot, enum jp_backing */
			uint16_t unused;
			uint32_t name;   /* text id: a memfd's or a file's name */
			uint64_t offset; /* in the file */
		} map;
		struct {
			uint64_t addr, len, prot;
		} protect;
		struct {
			uint64_t addr, len, to, to_len;
		} remap;
		struct {
			uint64_t addr, len;
		} unmap;
		struct {
			uint32_t id, total; /* total: of what @data holds in all parts */
			uint64_t data[3];
		} item;
		struct jp_truth_load {
			uint64_t addr, size;
			uint32_t layout, name; /* ids */
			uint32_t function, frames;
		} load;
		struct {
			uint64_t function, addr;
		} move;
		struct jp_truth_entry {
			uint32_t path, flags; /* id, JP_ENTER_* */
			uint64_t sp, bp;      /* at the first instruction of the path */
			uint32_t chain, dump; /* ids of roots */
		} enter;
		struct jp_truth_leave leave;
		struct {
			uint64_t text, value;
		} mark;
		struct {
			uint64_t id;
		} text;
		struct {
			uint64_t addr;    /* there the thread stood while it was not executable */
			uint64_t handled; /* when its handler began to run */
		} wait;
		struct {
			uint64_t addr, len, ino;
			uint32_t text;   /* id of "BUILDID PATH" */
			uint32_t device; /* major << 20 | minor */
		} file;
		struct {
			uint32_t id, cfi_status; /* enum jp_cfi_status */
			uint64_t word;
			uint64_t detour, flags; /* id of a root, JP_FRAMES_* */
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
/* The ways in which a stack is walked, everywhere in this project (harness/model/unwind/methods.h).
 * The truth holds native stacks as the first two see them, by frame pointers and by call frame
 * information; the others follow the one or the other. */
enum jp_method {
	JP_CHAIN, /* the kernel's callchain */
	JP_DUMP,  /* the dumped stack: call frame information, else frame pointers */
	JP_ROOTS,
	JP_DUMP_FP = JP_ROOTS, /* the dumped stack by frame pointers alone */
	JP_DUMP_CFI,           /* the dumped stack by call frame information alone */
	JP_METHODS
};

/*
 * The frame of a function when its instruction at @offset is about to execute. S is the stack
 * pointer at the function's first instruction (on x86-64 the return address stands there), C the
 * canonical frame address: S and what a call pushes.
 *	sp = ((S - pre) & -(1 << align)) - post
 * bp: JP_BP_CALLER, still the caller's; JP_BP_OWN, C - 16: there stands the caller's, above it the
 * return address; JP_BP_OTHER, no frame: the function uses it for something else, and keeps the
 * caller's at C - 16.
 */
struct jp_truth_insn {
	uint16_t offset;
	uint8_t bp;
	uint8_t align;
	uint32_t pre;
	uint32_t post;
};
enum jp_bp { JP_BP_CALLER, JP_BP_OWN, JP_BP_OTHER, JP_BPS };
/* Added to @bp in the file: the call of the next function of a path returns to this instruction. */
#define JP_INSN_RETURN 0x80
/* The same: this instruction jumps to the next function of the path, whose S is this sp; nothing of
 * this function is left on the stack then. */
#define JP_INSN_TAIL 0x40
/* The same: what call frame information is there takes the function's `word` for its return address
 * here, leaves bp as it is, and the stack pointer somewhere above. */
#define JP_INSN_MISLED 0x20
enum {
	JP_LEAVE_CHANGED = 1,     /* the native frames above changed during the activation */
	JP_LEAVE_INTERRUPTED = 2, /* a signal's handler runs now, on top of it */
};
enum {
	JP_ENTER_OTHER_STACK = 1, /* what called it is on another stack */
	JP_ENTER_INTERRUPTED = 2, /* from the handler over the thread's last activation that was
				   * interrupted: the dump's root ends there */
};
/* Of FRAMES: somebody else's code. Its layout was measured and may lack instructions, and others
 * run it outside of any path. */
#define JP_FRAMES_VDSO 1
/* What is said of a function's frames, for those who look in its file. */
enum jp_cfi_status {
	JP_CFI_NO_FILE, /* there is no file */
	JP_CFI_RIGHT,   /* call frame information, right but where JP_INSN_MISLED is */
	JP_CFI_ABSENT,  /* a file without call frame information for it */
	JP_CFI_STATUSES
};

_Static_assert(sizeof(struct jp_truth_record) == 64, "one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "halves of words are in this order");
_Static_assert(sizeof(struct jp_truth_insn) == 12, "two a record");

/* Seal of the bytes after the seal itself. */
uint32_t jp_truth_seal(const struct jp_truth_record *record);
