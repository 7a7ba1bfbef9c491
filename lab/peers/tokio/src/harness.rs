//! The requests to a cell's process, and its reports: lab/harness/cell.hpp in Rust.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::time::Instant;

pub struct Request {
    pub experiment: String,
    pub implementation: String,
    pub variant: String,
    pub scale: usize, // smoke, quick, full
    pub turns_per_us: f64,
    repetitions: u32,
    descriptor: i32,
}

/// The cost of a section of the process.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub wall_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    voluntary: f64,
    involuntary: f64,
}

impl Usage {
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Returns the value of a key in one line of JSON in the driver's form: without blanks, and without quotes in texts.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let mark = format!("\"{key}\":");
    let from = text.find(&mark).unwrap_or_else(|| panic!("the request has no {key}")) + mark.len();
    let rest = &text[from..];
    match rest.strip_prefix('"') {
        Some(quoted) => &quoted[..quoted.find('"').unwrap()],
        None => &rest[..rest.find([',', '}']).unwrap()],
    }
}

impl Request {
    pub fn parse(text: &str) -> Request {
        Request {
            experiment: value(text, "experiment").to_string(),
            implementation: value(text, "implementation").to_string(),
            variant: value(text, "variant").to_string(),
            scale: value(text, "scale").parse().unwrap(),
            turns_per_us: value(text, "turns_per_us").parse().unwrap(),
            repetitions: value(text, "repetitions").parse().unwrap(),
            descriptor: value(text, "report_descriptor").parse().unwrap(),
        }
    }

    pub fn pick(&self, sizes: [usize; 3]) -> usize {
        sizes[self.scale]
    }

    pub fn threads(&self) -> usize {
        let before = self.variant.find(" thread").expect("the variant names its threads");
        self.variant.as_bytes()[before - 1] as usize - b'0' as usize
    }

    fn again(&self, done: u32, measured_s: f64) -> bool {
        done < self.repetitions || (self.scale > 0 && done < 5 * self.repetitions && measured_s < 0.12)
    }

    /// Runs once without a report, then as often as the driver requests.
    pub fn repeat(&self, mut once: impl FnMut() -> (Usage, Vec<(&'static str, f64)>)) {
        once();
        let mut measured_s = 0.0;
        let mut done = 0;
        while self.again(done, measured_s) {
            let (used, figures) = once();
            measured_s += used.wall_s;
            done += 1;
            self.report(&used, &figures);
        }
    }

    fn report(&self, used: &Usage, figures: &[(&str, f64)]) {
        let list: Vec<String> = figures.iter().map(|(name, value)| format!("\"{name}\":{value:?}")).collect();
        self.send(&format!(
            "{{\"repetition\":{{\"wall_s\":{:?},\"user_s\":{:?},\"system_s\":{:?},\"voluntary_switches\":{:?},\
             \"involuntary_switches\":{:?},\"figures\":{{{}}},\"series\":{{}}}}}}",
            used.wall_s, used.user_s, used.system_s, used.voluntary, used.involuntary, list.join(",")
        ));
    }

    /// Tells the driver that the result was wrong, and terminates the process.
    pub fn fail(&self, reason: &str) -> ! {
        self.send(&format!("{{\"failed\":\"{}\"}}", reason.replace(['"', '\\', '\n'], "'")));
        std::process::exit(0)
    }

    fn send(&self, line: &str) {
        // Not closed at the end of this function, because it is reused.
        let mut file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(self.descriptor) });
        file.write_all(format!("{line}\n").as_bytes()).expect("the driver is gone");
    }
}

fn used_so_far() -> Usage {
    let mut u: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Usage {
        wall_s: 0.0,
        user_s: seconds(u.ru_utime),
        system_s: seconds(u.ru_stime),
        voluntary: u.ru_nvcsw as f64,
        involuntary: u.ru_nivcsw as f64,
    }
}

pub fn measure<R>(body: impl FnOnce() -> R) -> (Usage, R) {
    let before = used_so_far();
    let begin = Instant::now();
    let result = body();
    let wall_s = begin.elapsed().as_secs_f64();
    let after = used_so_far();
    let used = Usage {
        wall_s,
        user_s: after.user_s - before.user_s,
        system_s: after.system_s - before.system_s,
        voluntary: after.voluntary - before.voluntary,
        involuntary: after.involuntary - before.involuntary,
    };
    (used, result)
}

/// lab::turn(): work of a known length.
#[inline(never)]
pub fn turn(turns: u64, seed: u64) -> u64 {
    let mut x = seed;
    for _ in 0..turns {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Prevents the compiler from merging the steps.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack, preserves_flags)) };
    }
    x
}

/// Returns a runtime with this many threads. A runtime with one thread runs on the calling thread.
pub fn runtime(threads: usize) -> tokio::runtime::Runtime {
    let mut builder = if threads == 1 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        let mut several = tokio::runtime::Builder::new_multi_thread();
        several.worker_threads(threads);
        several
    };
    builder.enable_all().build().expect("no runtime")
}
