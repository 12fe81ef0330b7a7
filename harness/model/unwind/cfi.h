/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/model/unwind/cfi_expression.h"

struct jp_build_id;

/* Call frame information of one ELF file. The rules at an address (a row) are compiled once and
 * cached, so that a step needs no parsing. Only cfi.c includes libdw. */
struct jp_cfi;

/* Opens the call frame information of file @fd: a whole ELF file or jp_elf_save()'s copy. Returns
 * NULL and a message if it has no .eh_frame. */
struct jp_cfi *jp_cfi_open(int fd, struct jp_error *err);
/* Does the same as jp_cfi_open() for an ELF image in memory (the vDSO). */
struct jp_cfi *jp_cfi_open_image(const void *image, size_t size, struct jp_error *err);
struct jp_cfi_section;
/* Does the same as jp_cfi_open() for tables without a file, which describe code of @size bytes at
 * @vaddr. @frame: .eh_frame; @index: .eh_frame_hdr, may be NULL. */
struct jp_cfi *jp_cfi_open_tables(uint16_t machine, uint64_t vaddr, uint64_t size,
				  const struct jp_cfi_section *frame,
				  const struct jp_cfi_section *index, struct jp_error *err);
void jp_cfi_close(struct jp_cfi *cfi);
/* Returns the file's build id; size 0 if it has none. */
const struct jp_build_id *jp_cfi_build_id(const struct jp_cfi *cfi);
/* Stores in *@functions the number of functions with a frame in the file, and in *@framed how many
 * of them use a frame pointer. */
void jp_cfi_frames(const struct jp_cfi *cfi, size_t *functions, size_t *framed);
const struct jp_machine *jp_cfi_machine(const struct jp_cfi *cfi);
/* Returns the virtual address (p_vaddr space) of file offset @offset in an executable segment, or
 * UINT64_MAX. The load bias of a mapping is start - jp_cfi_vaddr(cfi, pgoff). */
uint64_t jp_cfi_vaddr(const struct jp_cfi *cfi, uint64_t offset);

/* Stores the rules at @vaddr (p_vaddr space) in @row. Returns the table of rules to which the
 * row refers, valid until the next call. */
struct jp_cfi_row;
struct jp_cfi_rows;
const struct jp_cfi_rows *jp_cfi_row_at(struct jp_cfi *cfi, uint64_t vaddr, struct jp_cfi_row *row);

/* Steps to the caller by the rules at @vaddr. @vaddr is the address of the instruction at @regs;
 * for a caller's frame it must be the return address - 1. @regs and the stack contain run-time
 * addresses. Changes @regs only if it returns STEPPED or SIGNAL. */
enum jp_cfi_answer jp_cfi_step(struct jp_cfi *cfi, uint64_t vaddr, struct jp_regs *regs,
			       jp_stack_load load, void *context);
