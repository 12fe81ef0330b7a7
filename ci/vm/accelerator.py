# SPDX-License-Identifier: GPL-2.0-only
"""Whether KVM works here, found by a short boot: /dev/kvm may be there and hang."""

import os
import tempfile
import threading

import debian_packages

from vm import guest, initramfs, qemu

SECONDS = 30


def kvm_works(found, kernel, init):
    """(True, "") or (False, why not). Leaves no process, whatever it does."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False, "/dev/kvm cannot be opened"
    limits = {"boot": SECONDS, "case": SECONDS, "leave": SECONDS}
    with tempfile.TemporaryDirectory() as work:
        with open(work + "/initrd", "wb") as file:
            file.write(initramfs.build(init, {}, {"job": ""}))
        debian_packages.write(work + "/output", "\0" * (1 << 20))
        machine = qemu.Machine(kernel=kernel.path, initrd=work + "/initrd",
                               append="console=ttyS0,115200 panic=-1 cryptomgr.notests", smp=1,
                               memory=512, serial=work + "/console", output=work + "/output",
                               accelerator="kvm")
        try:
            watch = guest.run(qemu.command(found, machine, 1 << 20), work + "/console",
                              work + "/qemu.txt", limits, threading.Event(), lambda text: None)
        except guest.Lost as reason:
            return False, str(reason)
        return (True, "") if watch.left == 0 else (False, "the guest said nothing")
