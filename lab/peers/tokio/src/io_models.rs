//! Experiment io-models, chained: a task for each handler, which spawns the next one.

use crate::harness::{measure, runtime, Request};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use tokio::sync::mpsc;

const CHAINS: u64 = 64;

/// Only one handler at a time writes a chain's count, because each starts the next one as its last step.
#[repr(align(128))]
#[derive(Default)]
struct Chain {
    ran: AtomicU64,
}

/// lab::empty_loop(): about a cycle a turn.
#[inline(never)]
fn empty_loop(turns: u64) {
    let mut i = 0;
    while i < turns {
        unsafe { std::arch::asm!("/* {0} */", inout(reg) i, options(nomem, nostack, preserves_flags)) };
        i += 1;
    }
}

fn handler(of: Arc<Vec<Chain>>, chain: usize, left: u64, turns: u64, end: mpsc::UnboundedSender<()>) {
    tokio::spawn(async move {
        empty_loop(turns);
        let ran = &of[chain].ran;
        ran.store(ran.load(Relaxed) + 1, Relaxed);
        if left > 0 {
            handler(of, chain, left - 1, turns, end);
        }
    });
}

pub fn run(asked: &Request) {
    let turns = if asked.variant.contains("5,000") { 5_000 } else { 1_000 };
    let each = asked.pick([6_400, 200_000, 1_000_000]) as u64 / CHAINS;
    let on = runtime(asked.threads());
    asked.repeat(|| {
        let all: Arc<Vec<Chain>> = Arc::new((0..CHAINS).map(|_| Chain::default()).collect());
        let (used, ()) = measure(|| {
            on.block_on(async {
                let (end, mut ended) = mpsc::unbounded_channel();
                for chain in 0..CHAINS as usize {
                    handler(all.clone(), chain, each - 1, turns, end.clone());
                }
                drop(end);
                ended.recv().await; // returns none when the last handler of the last chain has dropped its end
            })
        });
        let ran: u64 = all.iter().map(|chain| chain.ran.load(Relaxed)).sum();
        if ran != each * CHAINS {
            asked.fail(&format!("{ran} tasks ran where {} were posted", each * CHAINS));
        }
        let each_ns = 1e9 / ran as f64;
        (used, vec![("ns_per_handler", used.wall_s * each_ns), ("cpu_ns", used.cpu_s() * each_ns)])
    });
}
