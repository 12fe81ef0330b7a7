// SPDX-License-Identifier: GPL-2.0-only
/* Rules about a jitdump's header and name, which perf checks before it reads a record. */
#include <inttypes.h>

#include "harness/base/own_machine.h"
#include "harness/lint/findings.h"

enum { PAD = 16, PID = 20 };

static void check_version(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (dump->header->version != JP_JITDUMP_VERSION)
		jp_lint_found(findings, 4, "version %u; expected %d", dump->header->version,
			      JP_JITDUMP_VERSION);
}

static void check_header_size(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (dump->header->total_size != sizeof(*dump->header))
		jp_lint_found(
			findings, 8,
			"the header states a size of %u bytes; expected %zu: perf then finds no "
			"record",
			dump->header->total_size, sizeof(*dump->header));
}

static void check_flags(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	uint64_t unknown = dump->header->flags & ~JP_JITDUMP_ARCH_TIMESTAMP;

	if (unknown)
		jp_lint_found(findings, 32,
			      "flags 0x%" PRIx64 " are not defined: perf refuses the file",
			      unknown);
}

static void check_arch_clock(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (dump->header->flags & JP_JITDUMP_ARCH_TIMESTAMP)
		jp_lint_found(
			findings, 32,
			"times are those of the processor's counter: perf can use them only where "
			"its file holds a conversion, which -k mono leaves out");
}

static void check_machine(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	uint32_t machine = dump->header->elf_mach;

	if (!machine)
		jp_lint_found(findings, 12, "elf_mach is 0; expected the ELF machine of the code");
	else if (dump->file.process && machine != jp_get_own_machine())
		jp_lint_found(findings, 12, "elf_mach is %u; this machine's is %u", machine,
			      jp_get_own_machine());
}

static void check_padding(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (dump->header->pad1)
		jp_lint_found(findings, PAD, "pad1 is 0x%x, which is reserved; expected 0",
			      dump->header->pad1);
}

static void check_file_name(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (dump->file.named_pid < 0)
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "perf ignores the jitdump, because its name is not jit-PID.dump");
}

static void check_pids(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	uint32_t stated_pid = dump->header->pid;

	if (dump->file.named_pid >= 0 && dump->file.named_pid != stated_pid)
		jp_lint_found(findings, PID, "the header's pid is %u, the file name's %" PRId64,
			      stated_pid, dump->file.named_pid);
	if (dump->file.process && dump->file.process->own_pid != stated_pid)
		jp_lint_found(findings, PID, "the header's pid is %u, the process's own pid is %u",
			      stated_pid, dump->file.process->own_pid);
	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		if ((record->type == JP_JITDUMP_LOAD || record->type == JP_JITDUMP_MOVE) &&
		    record->pid != stated_pid)
			jp_lint_found(
				findings, record->offset,
				"the record's pid is %u, the header's %u: perf gives the code to "
				"process %u",
				record->pid, stated_pid, record->pid);
	}
}

static const struct jp_lint_rule rules[] = {
	{"dump.version", JP_LINT_ERROR, "the header's version is not 1", .dump = check_version},
	{"dump.header-size", JP_LINT_ERROR, "the header's size is not 40",
	 .dump = check_header_size},
	{"dump.flags", JP_LINT_ERROR, "the header has flags that the format does not define",
	 .dump = check_flags},
	{"dump.arch-clock", JP_LINT_WARNING,
	 "times are the processor's counter, not CLOCK_MONOTONIC", .dump = check_arch_clock},
	{"dump.machine", JP_LINT_ERROR,
	 "the header's ELF machine is none, or not that of the process", .dump = check_machine},
	{"dump.padding", JP_LINT_NOTE, "the header's reserved word is not 0",
	 .dump = check_padding},
	{"dump.file-name", JP_LINT_ERROR, "the file is not called jit-PID.dump",
	 .dump = check_file_name},
	{"dump.pid", JP_LINT_ERROR, "the pids of file name, header, records and process differ",
	 .dump = check_pids},
};
JP_REGISTER_ROWS(lint_rule, rules);
