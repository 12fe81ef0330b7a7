// SPDX-License-Identifier: GPL-2.0-only
//! one_collect FREQUENCY PID: samples with the library of record-trace and its default settings.
//! Reports "sampling" on standard error once it samples. At the end of its standard input it prints
//! the mappings and samples of PID, of its descendants, and of all processes that started later;
//! times in ns of CLOCK_MONOTONIC, addresses and lengths in hexadecimal, blanks in names as %20:
//!
//!     M TIME PID START END OFFSET NAME       a mapping; END is the last address
//!     S TIME PID TID ADDRESS[=SYMBOL]...     a sample, innermost first
use std::collections::{HashMap, HashSet};
use std::io::{BufWriter, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use one_collect::helpers::exporting::*;

/// Returns CLOCK_MONOTONIC minus CLOCK_MONOTONIC_RAW, the clock of the library, and the time of the
/// measurement. The kernel adjusts CLOCK_MONOTONIC, so the difference changes.
fn measure_difference() -> (i128, i128) {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        unsafe { libc::clock_gettime(clock, &mut time) };
        time.tv_sec as i128 * 1_000_000_000 + time.tv_nsec as i128
    };
    let tries = (0..16).map(|_| {
        let before = read(libc::CLOCK_MONOTONIC_RAW);
        let now = read(libc::CLOCK_MONOTONIC);
        let after = read(libc::CLOCK_MONOTONIC_RAW);
        (after - before, now - (before + after) / 2, after)
    });
    let best = tries.min().unwrap();
    (best.1, best.2)
}

struct Clock {
    first: (i128, i128),
    last: (i128, i128),
}

impl Clock {
    /// Returns at least 0: mappings that the library read in /proc have the time 0.
    fn to_monotonic(&self, raw: u64) -> i128 {
        let (span, moved) = (self.last.1 - self.first.1, self.last.0 - self.first.0);
        let at = raw as i128 - self.first.1;
        (raw as i128 + self.first.0 + if span > 0 { moved * at / span } else { 0 }).max(0)
    }
}

fn escape(name: &str) -> String {
    name.replace('%', "%25").replace(' ', "%20").replace('\n', "%0a")
}

fn find_symbol(machine: &ExportMachine, process: &ExportProcess, ip: u64,
               time: u64) -> Option<String> {
    let mapping = process.find_mapping(ip, Some(time))?;
    let found = mapping.symbols().iter().find(|one| ip >= one.start() && ip <= one.end())?;
    machine.strings().from_id(found.name_id()).ok().map(escape)
}

fn print(machine: &ExportMachine, clock: &Clock) -> anyhow::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let cpu = machine.find_sample_kind("cpu");
    let mut frames = Vec::new();
    for process in machine.processes().filter(|process| process.pid() != 0) {
        for one in process.mappings() {
            let name = machine.strings().from_id(one.filename_id()).unwrap_or("");
            writeln!(out, "M {} {} {:x} {:x} {:x} {}", clock.to_monotonic(one.time()),
                     process.pid(), one.start(), one.end(), one.file_offset(), escape(name))?;
        }
        for one in process.samples().iter().filter(|one| Some(one.kind()) == cpu) {
            machine.callstacks().from_id(one.callstack_id(), &mut frames)?;
            write!(out, "S {} {} {} {:x}", clock.to_monotonic(one.time()), process.pid(),
                   one.tid(), one.ip())?;
            let ips = std::iter::once(one.ip()).chain(frames.iter().copied());
            for (at, ip) in ips.enumerate() {
                if at > 0 {
                    write!(out, " {:x}", ip)?;
                }
                if let Some(name) = find_symbol(machine, process, ip, one.time()) {
                    write!(out, "={}", name)?;
                }
            }
            writeln!(out)?;
        }
    }
    Ok(out.flush()?)
}

/// Returns the parent of each running process.
fn read_parents() -> std::io::Result<HashMap<u32, u32>> {
    let mut parents = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // PID (NAME) STATE PARENT ...; NAME may contain anything. An exited process has no file.
        let stat = std::fs::read(format!("/proc/{}/stat", pid)).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let rest = stat.rsplit(')').next().unwrap_or_default();
        let parent = rest.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        parents.insert(pid, parent.unwrap_or(0));
    }
    Ok(parents)
}

/// Returns the running processes except `pid` and its descendants.
fn find_strangers(pid: u32) -> std::io::Result<HashSet<u32>> {
    let parents = read_parents()?;
    let descends = |one: u32| {
        let mut line = std::iter::successors(Some(one), |at| parents.get(at).copied());
        line.any(|at| at == pid)
    };
    Ok(parents.keys().copied().filter(|one| !descends(*one)).collect())
}

fn main() -> anyhow::Result<()> {
    let word = std::env::args().nth(1).unwrap_or_default();
    if word == "version" {
        println!("v{}", env!("JITPROOF_PEER_VERSION"));
        return Ok(());
    }
    let frequency = word.parse()?;
    let pid = std::env::args().nth(2).unwrap_or_default().parse()?;
    let others = find_strangers(pid)?;
    let over = Arc::new(AtomicBool::new(false));
    let (ended, reported) = (over.clone(), AtomicBool::new(false));
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::SeqCst);
    });
    let first = measure_difference();
    let settings = ExportSettings::default().with_cpu_profiling(frequency);
    let machine = UniversalExporter::new(settings).parse_until("jitproof", move || {
        if !reported.swap(true, Ordering::SeqCst) {
            eprintln!("jitproof: sampling");
        }
        over.load(Ordering::SeqCst)
    })?;
    let mut machine = machine.borrow_mut();
    // Resolving the symbols of other processes would take most of a minute.
    for process in machine.processes_mut().filter(|process| others.contains(&process.pid())) {
        *process = ExportProcess::new(process.pid());
    }
    machine.capture_and_resolve_symbols();
    print(&machine, &Clock { first, last: measure_difference() })
}
