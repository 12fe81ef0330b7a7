/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The perf.data format of perf 5.10 to 7.3. Declares the kernel's parts too, since the header of
 * the build machine may be older than the file. Source: perf.data-file-format.txt and
 * uapi/linux/perf_event.h in the kernel tree. */

#define JP_PERF_MAGIC UINT64_C(0x32454c4946524550) /* "PERFILE2" */
/* "PERFILE2" in the other byte order. */
#define JP_PERF_MAGIC_SWAPPED UINT64_C(0x50455246494c4532)

struct jp_perf_section {
	uint64_t offset, size;
};

struct jp_perf_file_header {
	uint64_t magic, size;
	uint64_t attr_size; /* bytes of an entry in the attrs section: an attr and the position of
			       its ids */
	struct jp_perf_section attrs, data, event_types;
	uint64_t features[4]; /* one bit for each feature; the features' sections follow the data,
				 sorted by bit */
};

static inline bool jp_perf_has_feature(const struct jp_perf_file_header *header,
				       unsigned int feature)
{
	return header->features[feature / 64] >> feature % 64 & 1;
}

/* Header of a pipe stream, in which attrs and features are records. */
struct jp_perf_pipe_header {
	uint64_t magic, size;
};

enum jp_perf_feature {
	JP_PERF_FEATURE_BUILD_ID = 2,  /* records of JP_PERF_RECORD_HEADER_BUILD_ID */
	JP_PERF_FEATURE_OSRELEASE = 4, /* string */
	JP_PERF_FEATURE_VERSION = 5,   /* string: version of perf */
	JP_PERF_FEATURE_ARCH = 6,      /* string: uname -m */
	JP_PERF_FEATURE_NRCPUS = 7,
	JP_PERF_FEATURE_CMDLINE = 11,
	/* u64 count, then offset and size of each PERF_RECORD_AUXTRACE. */
	JP_PERF_FEATURE_AUXTRACE = 18,
	JP_PERF_FEATURE_EVENT_DESC = 12,
	JP_PERF_FEATURE_SAMPLE_TIME = 21,
	JP_PERF_FEATURE_CLOCKID = 23,
	JP_PERF_FEATURE_COMPRESSED = 27,
	JP_PERF_FEATURE_CLOCK_DATA = 29,
	JP_PERF_FEATURE_E_MACHINE = 33, /* u32 e_machine, u32 e_flags; since perf 7.0 */
	JP_PERF_FEATURES = 256,
};

struct jp_perf_attr {
	uint32_t type, size;
	uint64_t config;
	uint64_t sample_period;
	uint64_t sample_type; /* JP_PERF_SAMPLE_* */
	uint64_t read_format; /* JP_PERF_FORMAT_* */
	uint64_t flags;       /* JP_PERF_ATTR_* */
	uint32_t wakeup_events, bp_type;
	uint64_t config1;
	uint64_t config2;            /* attr size 72, since Linux 2.6.33 */
	uint64_t branch_sample_type; /* attr size 80, since Linux 3.4 */
	uint64_t sample_regs_user;   /* attr size 96, since Linux 3.7 */
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr; /* attr size 104, since Linux 3.19 */
	uint32_t aux_watermark;    /* attr size 112, since Linux 4.1 */
	uint16_t sample_max_stack, reserved_2;
	uint32_t aux_sample_size; /* attr size 120, since Linux 5.5 */
	uint32_t aux_action;      /* since Linux 6.13 */
	uint64_t sig_data;        /* attr size 128, since Linux 5.13 */
	uint64_t config3;         /* attr size 136, since Linux 6.3 */
	uint64_t config4;         /* attr size 144, since Linux 6.19 */
};

enum {
	JP_PERF_ATTR_SIZE_0 = 64,
	JP_PERF_ATTR_SIZE_WRITTEN = 120, /* the largest size that perf 5.10 accepts */
};

#define JP_PERF_ATTR_DISABLED                 (UINT64_C(1) << 0)
#define JP_PERF_ATTR_INHERIT                  (UINT64_C(1) << 1)
#define JP_PERF_ATTR_EXCLUDE_USER             (UINT64_C(1) << 4)
#define JP_PERF_ATTR_EXCLUDE_KERNEL           (UINT64_C(1) << 5)
#define JP_PERF_ATTR_EXCLUDE_HV               (UINT64_C(1) << 6)
#define JP_PERF_ATTR_MMAP                     (UINT64_C(1) << 8)
#define JP_PERF_ATTR_COMM                     (UINT64_C(1) << 9)
#define JP_PERF_ATTR_FREQ                     (UINT64_C(1) << 10)
#define JP_PERF_ATTR_INHERIT_STAT             (UINT64_C(1) << 11)
#define JP_PERF_ATTR_ENABLE_ON_EXEC           (UINT64_C(1) << 12)
#define JP_PERF_ATTR_TASK                     (UINT64_C(1) << 13)
#define JP_PERF_ATTR_MMAP_DATA                (UINT64_C(1) << 17)
#define JP_PERF_ATTR_SAMPLE_ID_ALL            (UINT64_C(1) << 18)
#define JP_PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL (UINT64_C(1) << 21)
#define JP_PERF_ATTR_EXCLUDE_CALLCHAIN_USER   (UINT64_C(1) << 22)
#define JP_PERF_ATTR_MMAP2                    (UINT64_C(1) << 23)
#define JP_PERF_ATTR_COMM_EXEC                (UINT64_C(1) << 24)
#define JP_PERF_ATTR_USE_CLOCKID              (UINT64_C(1) << 25)
#define JP_PERF_ATTR_CONTEXT_SWITCH           (UINT64_C(1) << 26)
#define JP_PERF_ATTR_NAMESPACES               (UINT64_C(1) << 28)
#define JP_PERF_ATTR_KSYMBOL                  (UINT64_C(1) << 29)
#define JP_PERF_ATTR_BPF_EVENT                (UINT64_C(1) << 30)
#define JP_PERF_ATTR_CGROUP                   (UINT64_C(1) << 32)
#define JP_PERF_ATTR_TEXT_POKE                (UINT64_C(1) << 33)
enum { JP_PERF_CLOCK_MONOTONIC = 1 };
/* Types of perf events. Numbers from JP_PERF_TYPES on belong to dynamically registered PMUs. */
enum {
	JP_PERF_TYPE_SOFTWARE = 1,
	JP_PERF_TYPE_TRACEPOINT,
	JP_PERF_TYPE_BREAKPOINT = 5,
	JP_PERF_TYPES
};
enum { JP_PERF_BREAKPOINT_X = 4 /* bp_type: execution */ };
enum { JP_PERF_SW_CPU_CLOCK, JP_PERF_SW_TASK_CLOCK, JP_PERF_SW_DUMMY = 9 };
/* Since Linux 6.19: the user part of callchains is unwound later, and written by an event with
 * DEFER_OUTPUT. */
#define JP_PERF_ATTR_DEFER_CALLCHAIN (UINT64_C(1) << 38)
#define JP_PERF_ATTR_DEFER_OUTPUT    (UINT64_C(1) << 39)

/* Bits of sample_type. The fields of a sample have another order than the bits: see decode.c. */
enum {
	JP_PERF_SAMPLE_IP = 1 << 0,
	JP_PERF_SAMPLE_TID = 1 << 1,
	JP_PERF_SAMPLE_TIME = 1 << 2,
	JP_PERF_SAMPLE_ADDR = 1 << 3,
	JP_PERF_SAMPLE_READ = 1 << 4,
	JP_PERF_SAMPLE_CALLCHAIN = 1 << 5,
	JP_PERF_SAMPLE_ID = 1 << 6,
	JP_PERF_SAMPLE_CPU = 1 << 7,
	JP_PERF_SAMPLE_PERIOD = 1 << 8,
	JP_PERF_SAMPLE_STREAM_ID = 1 << 9,
	JP_PERF_SAMPLE_RAW = 1 << 10,
	JP_PERF_SAMPLE_BRANCH_STACK = 1 << 11,
	JP_PERF_SAMPLE_REGS_USER = 1 << 12,
	JP_PERF_SAMPLE_STACK_USER = 1 << 13,
	JP_PERF_SAMPLE_IDENTIFIER = 1 << 16,
};

enum {
	JP_PERF_FORMAT_TIME_ENABLED = 1 << 0,
	JP_PERF_FORMAT_TIME_RUNNING = 1 << 1,
	JP_PERF_FORMAT_ID = 1 << 2,
	JP_PERF_FORMAT_GROUP = 1 << 3,
	JP_PERF_FORMAT_LOST = 1 << 4, /* since Linux 6.0, and in stable releases of 5.10 */
};

#define JP_PERF_BRANCH_HW_INDEX (UINT64_C(1) << 17)
#define JP_PERF_BRANCH_COUNTERS (UINT64_C(1) << 19) /* since Linux 6.8 */

struct jp_perf_record {
	uint32_t type;
	uint16_t misc, size; /* @size: bytes of the record, including this header */
};

enum {
	JP_PERF_RECORD_MOST = 65528, /* largest size: a multiple of 8 in 16 bits */
	JP_PERF_BUILD_ID_MOST = 20,
};

enum jp_perf_record_type {
	JP_PERF_RECORD_MMAP = 1,
	JP_PERF_RECORD_LOST = 2,
	JP_PERF_RECORD_COMM = 3,
	JP_PERF_RECORD_EXIT = 4,
	JP_PERF_RECORD_THROTTLE = 5,
	JP_PERF_RECORD_UNTHROTTLE = 6,
	JP_PERF_RECORD_FORK = 7,
	JP_PERF_RECORD_READ = 8,
	JP_PERF_RECORD_SAMPLE = 9,
	JP_PERF_RECORD_MMAP2 = 10,
	JP_PERF_RECORD_AUX = 11,
	JP_PERF_RECORD_ITRACE_START = 12,
	JP_PERF_RECORD_LOST_SAMPLES = 13,
	JP_PERF_RECORD_SWITCH = 14,
	JP_PERF_RECORD_SWITCH_CPU_WIDE = 15,
	JP_PERF_RECORD_NAMESPACES = 16,
	JP_PERF_RECORD_KSYMBOL = 17,
	JP_PERF_RECORD_BPF_EVENT = 18,
	JP_PERF_RECORD_CGROUP = 19,
	JP_PERF_RECORD_TEXT_POKE = 20,
	JP_PERF_RECORD_AUX_OUTPUT_HW_ID = 21,
	JP_PERF_RECORD_CALLCHAIN_DEFERRED = 22, /* since Linux 6.19; the last type in 7.3 */
	/* Types from here on are perf's own; the kernel writes none of them. */
	JP_PERF_RECORD_USER = 64,
	JP_PERF_RECORD_HEADER_ATTR = 64,
	JP_PERF_RECORD_HEADER_BUILD_ID = 67,
	JP_PERF_RECORD_TRACING_DATA = 66, /* a payload follows the record */
	JP_PERF_RECORD_FINISHED_ROUND = 68,
	JP_PERF_RECORD_AUXTRACE = 71,  /* a payload follows the record */
	JP_PERF_RECORD_TIME_CONV = 79, /* u64 shift, mult, zero */
	JP_PERF_RECORD_HEADER_FEATURE = 80,
	JP_PERF_RECORD_COMPRESSED = 81,
	JP_PERF_RECORD_COMPRESSED2 = 83,      /* since perf 6.14; padded to 8 bytes */
	JP_PERF_RECORD_SCHEDSTAT_DOMAIN = 86, /* the last type in perf 7.3 */
};

enum {
	JP_PERF_MISC_CPUMODE = 7,
	JP_PERF_MISC_KERNEL = 1,
	JP_PERF_MISC_USER = 2,
	JP_PERF_MISC_MMAP_DATA = 1 << 13,  /* of MMAP and MMAP2 */
	JP_PERF_MISC_COMM_EXEC = 1 << 13,  /* of COMM */
	JP_PERF_MISC_FORK_EXEC = 1 << 13,  /* of FORK, only by perf: memory is not inherited */
	JP_PERF_MISC_SWITCH_OUT = 1 << 13, /* of SWITCH */
	JP_PERF_MISC_SWITCH_PREEMPTED = 1 << 14, /* of SWITCH */
	JP_PERF_MISC_MMAP_BUILD_ID = 1 << 14,    /* of MMAP2: contains a build id */
	JP_PERF_MISC_LOST_SAMPLES_BPF = 1 << 15, /* of LOST_SAMPLES, since 6.12: dropped by BPF */
	JP_PERF_MISC_BUILD_ID_SIZE = 1 << 15,    /* of HEADER_BUILD_ID, since perf 5.11 */
};
