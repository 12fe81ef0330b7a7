// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/tiny_program.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/own_machine.h"
#include "harness/facts/probe_fact.h"
#include "harness/facts/code.h"

enum { FIRST = 0x400000, PAGE = 4096, CODE_ROOM = 128, FAILED = 99 };

struct tiny_image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	struct {
		Elf64_Nhdr header;
		char name[4];
		unsigned char id[20];
	} note;
	unsigned char code[CODE_ROOM];
};

static int make_program(struct jp_answer *answer, const char *code, const char *end)
{
	struct tiny_image image = {
		.header =
			{
				.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					    ELFDATA2LSB, EV_CURRENT},
				.e_type = ET_EXEC,
				.e_machine = jp_get_own_machine(),
				.e_version = EV_CURRENT,
				.e_entry = FIRST + offsetof(struct tiny_image, code),
				.e_phoff = offsetof(struct tiny_image, segments),
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 3,
			},
		.segments =
			{
				{.p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_vaddr = FIRST,
				 .p_filesz = sizeof(image),
				 .p_memsz = sizeof(image),
				 .p_align = PAGE},
				{.p_type = PT_NOTE,
				 .p_flags = PF_R,
				 .p_offset = offsetof(struct tiny_image, note),
				 .p_vaddr = FIRST + offsetof(struct tiny_image, note),
				 .p_filesz = sizeof(image.note),
				 .p_memsz = sizeof(image.note),
				 .p_align = 4},
				{.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16},
			},
		.note = {.header = {4, 20, NT_GNU_BUILD_ID}, .name = "GNU", .id = {1, 2, 3}},
	};
	int fd;

	memcpy(image.code, code, end - code);
	fd = memfd_create("program", MFD_CLOEXEC);
	if (fd < 0 || write(fd, &image, sizeof(image)) != (ssize_t)sizeof(image)) {
		jp_answer_failed(answer, "a program in a memfd");
		return -1;
	}
	return fd;
}

int jp_tiny_make(struct jp_answer *answer)
{
	return make_program(answer, jp_code_exit, jp_code_exit_end);
}

int jp_tiny_make_brk_caller(struct jp_answer *answer)
{
	return make_program(answer, jp_code_brk, jp_code_brk_end);
}

/* A fixed number for the descriptor that is executed, because the kernel names the process after
 * it. */
enum { PLACE = 99 };
static char *const arguments[] = {"program", NULL};
static char *const no_environment[] = {NULL};

void jp_tiny_run(int program)
{
	if (dup3(program, PLACE, O_CLOEXEC) == PLACE)
		execve("/proc/self/fd/99", arguments, no_environment);
	_exit(FAILED);
}

void jp_tiny_run_descriptor(int program)
{
	if (dup3(program, PLACE, O_CLOEXEC) == PLACE)
		execveat(PLACE, "", arguments, no_environment, AT_EMPTY_PATH);
	_exit(FAILED);
}

void jp_tiny_run_in_child(struct jp_answer *answer, int program, jp_tiny_way way)
{
	pid_t pid = jp_fact_fork(answer);

	if (pid == 0)
		way(program);
	jp_fact_wait(answer, pid);
}
