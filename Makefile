# SPDX-License-Identifier: GPL-2.0-only
# Everything built goes under $(O); the source tree stays clean.
O	?= build
CC	?= gcc
CFLAGS	?= -O2 -g
WERROR	?= -Werror
PKG	:= $(or $(shell command -v pkg-config),pkg-config)

ARCH	:= $(shell $(CC) -dumpmachine | cut -d- -f1)
HAVE_ZSTD := $(shell $(PKG) --exists libzstd 2>/dev/null && echo 1)

# Frame pointers in our own frames: the kernel's walk must cross them to the thread's root.
JP_CFLAGS := -std=gnu11 -D_GNU_SOURCE -I. -MMD -MP -pthread -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -fasynchronous-unwind-tables \
	-Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wvla -Wpointer-arith \
	-Wno-unused-parameter $(WERROR) $(if $(HAVE_ZSTD),-DJP_HAVE_ZSTD)
JP_LDLIBS := -pthread -ldw -lelf $(if $(HAVE_ZSTD),-lzstd) -lm

SRC	:= $(wildcard harness/*.c harness/capture/*.c validators/*.c workloads/*.c \
	workloads/publish/*.c) workloads/arch/$(ARCH).c
OBJ	:= $(SRC:%.c=$(O)/%.o)

all: $(O)/jitproof

$(O)/jitproof: $(OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

$(O)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(JP_CFLAGS) $(CFLAGS) -c -o $@ $<

clean:
	rm -rf $(O)

.PHONY: all clean
-include $(OBJ:.o=.d)
