//! Experiment coroutine-hop: a task that yields. It goes to the end of its worker's queue and then continues.

use crate::harness::{measure, runtime, Request};

pub fn run(asked: &Request) {
    let tasks = if asked.variant.starts_with("64") { 64 } else { 1 };
    let hops = asked.pick([6_400, 640_000, 6_400_000]) / tasks;
    let on = runtime(asked.threads());
    asked.repeat(|| {
        let (used, counts) = measure(|| {
            on.block_on(async {
                let all: Vec<_> = (0..tasks)
                    .map(|_| {
                        tokio::spawn(async move {
                            let mut done = 0;
                            while done < hops {
                                tokio::task::yield_now().await;
                                done += 1;
                            }
                            done
                        })
                    })
                    .collect();
                let mut counts = 0;
                for one in all {
                    counts += one.await.unwrap();
                }
                counts
            })
        });
        if counts != tasks * hops {
            asked.fail(&format!("{counts} hops counted where there were {}", tasks * hops));
        }
        let each_ns = 1e9 / counts as f64;
        (used, vec![("ns_per_hop", used.wall_s * each_ns), ("cpu_ns", used.cpu_s() * each_ns)])
    });
}
