// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/elf_symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/format/elf/elf_source.h"

/* Reads symbols by the rules of perf 5.10 to 7.3: dso__load_sym_internal(),
 * dso__synthesize_plt_symbols(), symbols__fixup_end() and symbols__fixup_duplicate() in
 * tools/perf/util. */

enum { MAX_NAMES = 1 << 28, PAGE = 4096 };

/* State while symbols are read. Until keep_names() copies the names, they belong to libelf. */
struct symbol_reader {
	struct jp_elf_source file, runtime;
	struct jp_elf_symbols *out;
	size_t length; /* bytes of all names */
	struct jp_error *err;
};

static bool has_table(const struct jp_elf_source *source, const char *name, GElf_Word type)
{
	GElf_Shdr head;

	return jp_elf_section(source, name, &head) && head.sh_type == type;
}

static bool is_cut_short(const struct jp_elf_source *source, uint64_t size)
{
	GElf_Ehdr head;
	uint64_t length;

	if (!gelf_getehdr(source->elf, &head) || !head.e_shoff)
		return false;
	length = (uint64_t)head.e_shnum * head.e_shentsize;
	return head.e_shoff > size || length > size - head.e_shoff;
}

/* Compares how far the addresses of text segments are from their file offsets with the distances
 * for the first segment and for .eh_frame_hdr, and stores the results in @tables. */
static void compare_distances(const struct jp_elf_source *source, struct jp_elf_tables *tables)
{
	GElf_Phdr segment;
	GElf_Shdr index;
	uint64_t first = 0;
	size_t count = 0;
	bool any = false;

	if (elf_getphdrnum(source->elf, &count))
		return;
	tables->frame_index = jp_elf_section(source, ".eh_frame_hdr", &index);
	for (size_t i = 0; i < count && gelf_getphdr(source->elf, (int)i, &segment); i++) {
		const uint64_t distance = segment.p_vaddr - segment.p_offset;

		if (segment.p_type != PT_LOAD)
			continue;
		first = any ? first : distance;
		any = true;
		if (!(segment.p_flags & PF_X))
			continue;
		tables->text_moved |= distance != first;
		tables->index_moved |=
			tables->frame_index && distance != index.sh_addr - index.sh_offset;
	}
}

struct jp_elf_tables jp_elf_tables(const struct jp_elf_input *file)
{
	JP_ELF_CLOSED_AT_END struct jp_elf_source source;
	struct jp_elf_tables tables = {0};
	char magic[2] = {0};
	GElf_Shdr head;

	if (jp_elf_source_open(&source, file->fd, file->image, file->size, NULL)) {
		if (file->fd >= 0 && pread(file->fd, magic, sizeof(magic), 0) < 2)
			return tables;
		tables.windows = memcmp(magic, "MZ", sizeof(magic)) == 0;
		tables.archive = memcmp(magic, "PK", sizeof(magic)) == 0;
		return tables;
	}
	tables.elf = true;
	tables.symtab = has_table(&source, ".symtab", SHT_SYMTAB);
	tables.dynsym = has_table(&source, ".dynsym", SHT_DYNSYM);
	tables.eh_frame = jp_elf_section(&source, ".eh_frame", &head);
	compare_distances(&source, &tables);
	tables.debug_frame = jp_elf_section(&source, ".debug_frame", &head);
	tables.packed = jp_elf_section(&source, ".gnu_debugdata", &head);
	tables.cut_short = is_cut_short(&source, file->size);
	return tables;
}

bool jp_elf_debuglink(const struct jp_elf_input *file, char *name, size_t size)
{
	JP_ELF_CLOSED_AT_END struct jp_elf_source source;
	const Elf_Data *data;
	Elf_Scn *section;
	GElf_Shdr head;

	if (jp_elf_source_open(&source, file->fd, file->image, file->size, NULL))
		return false;
	section = jp_elf_section(&source, ".gnu_debuglink", &head);
	data = section && head.sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;
	/* The section contains the file's name and a checksum. */
	if (!data || !data->d_buf || !memchr(data->d_buf, 0, data->d_size) ||
	    !*(const char *)data->d_buf || strchr(data->d_buf, '/'))
		return false;
	return (size_t)snprintf(name, size, "%s", (const char *)data->d_buf) < size;
}

static int add_symbol(struct symbol_reader *reader, uint64_t offset, uint64_t size,
		      const char *name, uint16_t first_version)
{
	struct jp_elf_symbols *out = reader->out;
	struct jp_elf_symbol *symbol = jp_array_push(&out->symbols, &out->count, &out->capacity);

	if (!symbol)
		return jp_fail(reader->err, ENOMEM, "out of memory for symbols");
	*symbol = (struct jp_elf_symbol){offset, size, name, first_version};
	reader->length += strlen(name) + 1;
	/* The names in a file may overlap, so even a small file can have many long names. */
	if (reader->length > MAX_NAMES)
		return jp_fail(reader->err, E2BIG, "ELF symbols: all names have more than %d bytes",
			       MAX_NAMES);
	return 0;
}

static bool is_label(const GElf_Sym *symbol)
{
	const unsigned char visibility = GELF_ST_VISIBILITY(symbol->st_other);

	return GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE && visibility != STV_HIDDEN &&
	       visibility != STV_INTERNAL;
}

static bool is_wanted(const struct jp_elf_source *source, const GElf_Sym *symbol, const char *name)
{
	const GElf_Half machine = source->parts.head.e_machine;

	/* A name may be the tail of another name, and be empty. */
	if (!*name || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return false;
	/* ARM's mapping symbols describe the bytes after them, not a function. */
	if ((machine == EM_ARM || machine == EM_AARCH64) && name[0] == '$' && name[1] &&
	    strchr("adtx", name[1]) && (!name[2] || name[2] == '.'))
		return false;
	if (machine == EM_RISCV && name[0] == '$' && strchr("dx", name[1]))
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
		return true;
	default:
		return is_label(symbol);
	}
}

/* Returns whether labels (symbols without a type) in @section are symbols: perf uses labels only in
 * sections named like code or data. */
static bool has_labels(const struct jp_elf_source *source, const GElf_Shdr *section)
{
	size_t strings;
	const char *name = elf_getshdrstrndx(source->elf, &strings)
				   ? NULL
				   : elf_strptr(source->elf, strings, section->sh_name);

	return name && (strstr(name, "text") || strstr(name, "data"));
}

/* Returns the file offset of the byte at @vaddr, by segments, else by @section. */
static uint64_t get_file_offset(const struct jp_elf_source *source, const GElf_Shdr *section,
				uint64_t vaddr)
{
	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];

		if (segment->p_type == PT_LOAD && vaddr >= segment->p_vaddr &&
		    vaddr - segment->p_vaddr < segment->p_memsz)
			return vaddr - segment->p_vaddr + segment->p_offset;
	}
	return vaddr - section->sh_addr + section->sh_offset;
}

static int read_symbol(struct symbol_reader *reader, const GElf_Sym *raw, const char *name)
{
	GElf_Addr vaddr = raw->st_value;
	GElf_Shdr section;

	if (!gelf_getshdr(elf_getscn(reader->file.elf, raw->st_shndx), &section))
		return 0;
	if (!(section.sh_flags & SHF_ALLOC))
		return 0;
	if (is_label(raw) && !has_labels(&reader->file, &section))
		return 0;
	/* A file that contains only the symbols has no section contents. */
	if (section.sh_type == SHT_NOBITS &&
	    !gelf_getshdr(elf_getscn(reader->runtime.elf, raw->st_shndx), &section))
		return 0;
	if (reader->file.parts.head.e_machine == EM_ARM && GELF_ST_TYPE(raw->st_info) == STT_FUNC)
		vaddr &= ~(GElf_Addr)1; /* Thumb bit */
	return add_symbol(reader, get_file_offset(&reader->runtime, &section, vaddr), raw->st_size,
			  name, 0);
}

static int read_table(struct symbol_reader *reader, const char *section_name, GElf_Word type)
{
	GElf_Shdr head;
	Elf_Scn *section = jp_elf_section(&reader->file, section_name, &head);
	Elf_Data *data;
	size_t count;
	int failed = 0;

	if (!section || head.sh_type != type)
		return 0;
	data = elf_getdata(section, NULL);
	count = head.sh_entsize ? head.sh_size / head.sh_entsize : 0;
	if (!data || !count || head.sh_size > data->d_size || count > INT32_MAX)
		return jp_fail(reader->err, EINVAL,
			       "ELF symbol table of %" PRIu64 " bytes is not readable",
			       (uint64_t)head.sh_size);
	for (size_t i = 0; !failed && i < count; i++) {
		const char *name;
		GElf_Sym raw;

		if (!gelf_getsym(data, (int)i, &raw))
			return jp_fail(reader->err, EINVAL, "ELF symbol %zu: %s", i,
				       elf_errmsg(-1));
		name = elf_strptr(reader->file.elf, head.sh_link, raw.st_name);
		if (!name || raw.st_value + raw.st_size < raw.st_value)
			return jp_fail(reader->err, EINVAL,
				       "ELF symbol %zu: a name or size beyond the file", i);
		if (is_wanted(&reader->file, &raw, name))
			failed = read_symbol(reader, &raw, name);
	}
	return failed;
}

/* Adds symbols for the entries of a procedure linkage table, of @size bytes each: @count entries,
 * or as many as fit, from @first_offset bytes after the start of section @head. */
static int add_plt_entries(struct symbol_reader *reader, const GElf_Shdr *head,
			   uint64_t first_offset, uint64_t size, uint64_t count,
			   uint16_t first_version)
{
	int failed = 0;

	if (!size || head->sh_type != SHT_PROGBITS || count > head->sh_size / size)
		count = size && head->sh_type == SHT_PROGBITS ? head->sh_size / size : 0;
	for (uint64_t i = 0; !failed && i < count; i++)
		failed = add_symbol(reader, head->sh_offset + first_offset + i * size, size, "@plt",
				    first_version);
	return failed;
}

/* Adds the entries of the procedure linkage tables. Before 6.3, perf named only entries of
 * .rela.plt. */
static int read_plt(struct symbol_reader *reader)
{
	const struct jp_elf_source *runtime = &reader->runtime;
	GElf_Shdr relocations, plt, section;
	uint64_t size, count;
	int failed = 0;

	if (!jp_elf_section(runtime, ".dynsym", &section))
		return 0;
	if (!jp_elf_section(runtime, ".rela.plt", &relocations) &&
	    !jp_elf_section(runtime, ".rel.plt", &relocations))
		return 0;
	if (!jp_elf_section(runtime, ".plt", &plt) || !relocations.sh_entsize)
		return 0;
	count = relocations.sh_size / relocations.sh_entsize;
	size = plt.sh_entsize > 4 ? plt.sh_entsize : 16;
	failed = add_symbol(reader, plt.sh_offset, size, ".plt", JP_PERF_VERSION(6, 3))
			 ?: add_plt_entries(reader, &plt, size, size, count, 0);
	if (!failed && jp_elf_section(runtime, ".plt.sec", &section))
		failed = add_plt_entries(reader, &section, 0, 16, count, JP_PERF_VERSION(6, 3));
	if (!failed && jp_elf_section(runtime, ".plt.got", &section))
		failed = add_plt_entries(reader, &section, 0, section.sh_entsize, UINT64_MAX,
					 JP_PERF_VERSION(6, 3));
	return failed;
}

JP_ORDER(compare_by_offset, struct jp_elf_symbol, jp_compare(a->offset, b->offset));

/* Of two symbols at one offset, the sized one and then the older one wins. */
static bool takes_precedence(const struct jp_elf_symbol *a, const struct jp_elf_symbol *b)
{
	return (jp_compare(!a->size, !b->size) ?: jp_compare(a->first_version, b->first_version)
			?: strcmp(a->name, b->name)) < 0;
}

/* Keeps one symbol per offset, and extends each symbol without a size to the start of the next one.
 * For an older perf that does not know the next symbol, the symbol before extends over that one,
 * too. */
static void fix_symbols(struct jp_elf_symbols *out)
{
	size_t nr_kept = 0;
	bool reaches = false;

	if (!out->count)
		return;
	jp_sort(out->symbols, out->count, compare_by_offset);
	for (size_t i = 0; i < out->count; i++) {
		struct jp_elf_symbol *symbol = &out->symbols[i];
		struct jp_elf_symbol *last = nr_kept ? &out->symbols[nr_kept - 1] : NULL;

		if (!last || symbol->offset != last->offset)
			out->symbols[nr_kept++] = *symbol;
		else if (takes_precedence(symbol, last))
			*last = *symbol;
	}
	out->count = nr_kept;
	for (size_t i = 0; i < nr_kept; i++) {
		struct jp_elf_symbol *symbol = &out->symbols[i];

		if (!symbol->first_version)
			reaches = !symbol->size;
		else if (reaches)
			symbol->first_version = 0;
		if (!symbol->size && i + 1 < nr_kept)
			symbol->size = symbol[1].offset - symbol->offset;
		else if (!symbol->size)
			symbol->size = (PAGE - symbol->offset % PAGE) % PAGE + PAGE;
	}
}

static int keep_names(struct symbol_reader *reader)
{
	struct jp_elf_symbols *out = reader->out;
	char *pos = malloc(reader->length + 1);

	if (!pos)
		return jp_fail(reader->err, ENOMEM, "out of memory for %zu bytes of names",
			       reader->length);
	out->names = pos;
	for (size_t i = 0; i < out->count; i++) {
		const char *name = out->symbols[i].name;

		out->symbols[i].name = pos;
		pos = stpcpy(pos, name) + 1;
	}
	return 0;
}

static int read_symbols(struct symbol_reader *reader)
{
	int failed;

	jp_elf_source_add_segment(&reader->runtime);
	failed = read_table(reader, ".symtab", SHT_SYMTAB)
			 ?: read_table(reader, ".dynsym", SHT_DYNSYM);
	if (!failed && reader->out->count)
		failed = read_plt(reader);
	if (failed)
		return failed;
	fix_symbols(reader->out);
	return keep_names(reader);
}

int jp_elf_symbols(const struct jp_elf_input *file, const struct jp_elf_input *runtime,
		   struct jp_elf_symbols *symbols, struct jp_error *err)
{
	struct symbol_reader reader = {.out = symbols, .err = err};
	int failed = jp_elf_source_open(&reader.file, file->fd, file->image, file->size, err);

	memset(symbols, 0, sizeof(*symbols));
	if (!failed) {
		failed = jp_elf_source_open(&reader.runtime, runtime->fd, runtime->image,
					    runtime->size, err)
				 ?: read_symbols(&reader);
		jp_elf_source_close(&reader.runtime);
	}
	jp_elf_source_close(&reader.file);
	if (failed)
		jp_elf_symbols_free(symbols);
	return failed;
}

const struct jp_elf_symbol *jp_elf_symbols_find(const struct jp_elf_symbols *symbols,
						uint64_t offset)
{
	size_t i;

	jp_search(i, symbols->count, symbols->symbols[i].offset <= offset);
	if (!i || offset - symbols->symbols[i - 1].offset >= symbols->symbols[i - 1].size)
		return NULL;
	return &symbols->symbols[i - 1];
}

void jp_elf_symbols_free(struct jp_elf_symbols *symbols)
{
	free(symbols->symbols);
	free(symbols->names);
	memset(symbols, 0, sizeof(*symbols));
}
