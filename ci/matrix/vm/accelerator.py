# SPDX-License-Identifier: GPL-2.0-only
"""Tests by a short boot whether KVM works: a guest may hang although /dev/kvm exists."""

import os
import tempfile
import threading

from ci.matrix.vm import guest, initramfs, kernels, qemu

SECONDS = 30


def try_kvm(emulator: qemu.Qemu, kernel: kernels.Kernel, init: str) -> tuple[bool, str]:
    """Returns (True, "") or (False, the reason). Leaves no process behind."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False, "/dev/kvm cannot be opened"
    limits = {"boot": SECONDS, "case": SECONDS, "leave": SECONDS}
    with tempfile.TemporaryDirectory() as work:
        machine = qemu.Machine(kernel=os.path.abspath(kernel.path),
                               append="console=ttyS0,115200 panic=-1 cryptomgr.notests", smp=1,
                               memory=512, output=1 << 20, accelerator="kvm")
        qemu.create_files(work, machine, initramfs.build(init, initramfs.Content(
            texts={"job": ""})))
        try:
            watch = guest.run(qemu.make_command(emulator, machine), work, limits, threading.Event(),
                              lambda text: None)
        except guest.Lost as reason:
            return False, str(reason)
        return (True, "") if watch.left == 0 else (False, "the guest did not report its end")
