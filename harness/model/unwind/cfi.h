/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/model/unwind/cfi_expression.h"

struct jp_build_id;

/*
 * Call frame information of one ELF file, compiled to rows that are cached by address: a step costs
 * a look-up and no parse. Nothing else includes libdw.
 */
struct jp_cfi;

/* From an open file (the whole ELF or jp_elf_save()'s copy). NULL where it has no .eh_frame. */
struct jp_cfi *jp_cfi_open(int fd, struct jp_error *err);
/* The same of an ELF image in memory (the vDSO). */
struct jp_cfi *jp_cfi_open_image(const void *image, size_t size, struct jp_error *err);
struct jp_cfi_section;
/* The same of tables that are in no file, for code of @size bytes at @vaddr. @index NULL: none. */
struct jp_cfi *jp_cfi_open_tables(uint16_t machine, uint64_t vaddr, uint64_t size,
				  const struct jp_cfi_section *frame,
				  const struct jp_cfi_section *index, struct jp_error *err);
void jp_cfi_close(struct jp_cfi *cfi);
/* The file's build id, size 0 where it has none. */
const struct jp_build_id *jp_cfi_build_id(const struct jp_cfi *cfi);
/* Functions of the file that have a frame of their own, and those of them that have a register lead
 * to it: the frame pointer. */
void jp_cfi_frames(const struct jp_cfi *cfi, size_t *functions, size_t *framed);
/* The file's machine. */
const struct jp_machine *jp_cfi_machine(const struct jp_cfi *cfi);
/* The virtual address (p_vaddr space) of file offset @offset in an executable segment, or
 * UINT64_MAX: a mapping's load bias is start - jp_cfi_vaddr(cfi, pgoff). */
uint64_t jp_cfi_vaddr(const struct jp_cfi *cfi, uint64_t offset);

/* The rules at @vaddr; what it returns holds them until the next call. */
struct jp_cfi_row;
struct jp_cfi_rows;
const struct jp_cfi_rows *jp_cfi_row_at(struct jp_cfi *cfi, uint64_t vaddr, struct jp_cfi_row *row);

/* One step from @regs at @vaddr (already - 1 for a return address). Addresses on the stack and in
 * @regs are run-time ones. @regs are changed only where the answer is STEPPED or SIGNAL. */
enum jp_cfi_answer jp_cfi_step(struct jp_cfi *cfi, uint64_t vaddr, struct jp_regs *regs,
			       jp_stack_load load, void *context);
