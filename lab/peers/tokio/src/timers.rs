//! Experiment timers: Tokio's `Sleep`, on a runtime of one thread. Its wheel counts milliseconds. If no handler
//! must run, a wait is a poll of the future with a waker that does nothing. Canceling it means dropping it, which calls
//! no function. If handlers run, they are tasks.

use crate::harness::{measure, runtime, Request, Usage};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;
use tokio::time::{sleep_until, Instant, Sleep};

/// Pseudorandom numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) * end >> 31
    }
}

/// Distances that are spread evenly over 1 to 10 s.
fn distances(count: usize) -> Vec<Duration> {
    let mut random = Random(1);
    (0..count).map(|_| Duration::from_millis(1_000 + random.below(9_000))).collect()
}

fn per(seconds: f64, count: usize) -> f64 {
    seconds * 1e9 / count as f64
}

/// Starts `count` waits, and drops all of them in another order.
fn schedule_and_cancel(asked: &Request, on: &Runtime, count: usize) {
    let distance = distances(count);
    let mut random = Random(2);
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    let rounds = std::cmp::max(1, asked.pick([2_000, 100_000, 500_000]) / count);
    let _inside = on.enter();
    let mut with = Context::from_waker(Waker::noop());
    asked.repeat(|| {
        let mut sum = Usage::default();
        let (mut schedule_s, mut cancel_s) = (0.0, 0.0);
        for _ in 0..rounds {
            let far = Instant::now() + Duration::from_secs(20);
            let mut all: Vec<Option<Pin<Box<Sleep>>>> = (0..count).map(|_| Some(Box::pin(sleep_until(far)))).collect();
            let (armed, early) = measure(|| {
                let mut early = 0;
                for (one, after) in all.iter_mut().zip(&distance) {
                    let timer = one.as_mut().unwrap();
                    timer.as_mut().reset(Instant::now() + *after);
                    early += usize::from(timer.as_mut().poll(&mut with).is_ready());
                }
                early
            });
            let (dropped, ()) = measure(|| {
                for &i in &order {
                    all[i] = None;
                }
            });
            if early > 0 {
                asked.fail("a timer fired before its time");
            }
            schedule_s += armed.wall_s;
            cancel_s += dropped.wall_s;
            sum.wall_s += armed.wall_s + dropped.wall_s;
            sum.user_s += armed.user_s + dropped.user_s;
            sum.system_s += armed.system_s + dropped.system_s;
        }
        (sum, vec![("schedule_ns", per(schedule_s, rounds * count)), ("cancel_ns", per(cancel_s, rounds * count))])
    });
}

/// Sets a timer, sets it again and drops it, without a wait.
fn never_waited_for(asked: &Request, on: &Runtime) {
    let count = asked.pick([2_000, 2_000_000, 10_000_000]);
    let _inside = on.enter();
    asked.repeat(|| {
        let (used, ()) = measure(|| {
            for _ in 0..count {
                let now = Instant::now();
                let mut timer = std::pin::pin!(sleep_until(now));
                timer.as_mut().reset(now + Duration::from_secs(5));
            }
        });
        (used, vec![("unused_ns", per(used.wall_s, count))])
    });
}

/// Spawns a task for each time. It sleeps and then runs `handler`. All of them are waiting when this returns.
fn arm(on: &Runtime, set: &LocalSet, times: &[Instant], handler: impl Fn(Instant) + Clone + 'static) {
    let armed = Rc::new(Cell::new(0));
    for &at in times {
        let (handler, armed) = (handler.clone(), armed.clone());
        set.spawn_local(async move {
            armed.set(armed.get() + 1);
            sleep_until(at).await;
            handler(at);
        });
    }
    set.block_on(on, async {
        while armed.get() < times.len() {
            tokio::task::yield_now().await;
        }
    });
}

/// Runs the runtime until `done` has this value.
fn drive(on: &Runtime, set: &LocalSet, done: &Cell<usize>, number: usize) {
    set.block_on(on, async {
        while done.get() < number {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

/// All timers have expired when the runtime starts to run.
fn fire(asked: &Request, on: &Runtime, count: usize) {
    let mut random = Random(3);
    asked.repeat(|| {
        let set = LocalSet::new();
        let first = Instant::now() + Duration::from_millis(100 + count as u64 / 500);
        let times: Vec<Instant> = (0..count).map(|_| first + Duration::from_micros(random.below(1000))).collect();
        let fired = Rc::new(Cell::new(0));
        let counter = fired.clone();
        arm(on, &set, &times, move |_| counter.set(counter.get() + 1));
        let before = fired.get(); // not 0 only if another program delayed the arming
        if before > count / 2 {
            asked.fail("the timers expired before all were armed");
        }
        std::thread::sleep((first + Duration::from_millis(3)).saturating_duration_since(Instant::now()));
        let (used, ()) = measure(|| {
            set.block_on(on, async {
                while fired.get() < count {
                    tokio::task::yield_now().await;
                }
            })
        });
        (used, vec![("fire_ns", per(used.wall_s, count - before))])
    });
}

/// How late handlers begin, on a runtime that does nothing else.
fn accuracy(asked: &Request, on: &Runtime) {
    let count = asked.pick([200, 10_000, 50_000]);
    let mut random = Random(4);
    asked.repeat(|| {
        let set = LocalSet::new();
        let first = Instant::now() + Duration::from_millis(20 + count as u64 / 500);
        let times: Vec<Instant> =
            (0..count).map(|_| first + Duration::from_nanos(random.below(count as u64 * 50_000))).collect();
        let (fired, early, late) =
            (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)), Rc::new(std::cell::RefCell::new(Vec::new())));
        let (counter, too_early, list) = (fired.clone(), early.clone(), late.clone());
        arm(on, &set, &times, move |at| {
            let now = Instant::now();
            too_early.set(too_early.get() + usize::from(now < at));
            list.borrow_mut().push((now - at).as_secs_f64() * 1e6);
            counter.set(counter.get() + 1);
        });
        let (used, ()) = measure(|| drive(on, &set, &fired, count));
        if early.get() > 0 {
            asked.fail("a timer fired before its time");
        }
        let mut all = late.borrow_mut();
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let figures = vec![
            ("late_us", all[count / 2]),
            ("late_p99_us", all[count * 99 / 100]),
            ("cpu_ns", per(used.cpu_s(), count)),
        ];
        (used, figures)
    });
}

/// Returns the resident bytes of the process.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("no /proc");
    let pages: f64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64
}

/// The memory of a sleeping task, and of the future alone.
fn memory(asked: &Request, on: &Runtime) {
    let count = asked.pick([10_000, 1_000_000, 1_000_000]);
    let mut first = None;
    asked.repeat(|| {
        // Later runs reuse the memory of the first run, so only the first one counts.
        if let Some(found) = &first {
            return Clone::clone(found);
        }
        let _inside = on.enter();
        let end = Instant::now() + Duration::from_secs(100);
        let before = resident();
        let alone: Vec<Pin<Box<Sleep>>> = (0..count).map(|_| Box::pin(sleep_until(end))).collect();
        let made = resident();
        let set = LocalSet::new();
        arm(on, &set, &vec![end; count], |_| ());
        let armed = resident();
        drop(alone);
        let each = |bytes: f64| bytes / count as f64;
        let figures = vec![
            ("armed_bytes", each(armed - made)),
            ("unarmed_bytes", each(made - before)),
            ("object_bytes", std::mem::size_of::<Sleep>() as f64),
        ];
        first = Some((Usage::default(), figures));
        first.clone().unwrap()
    });
}

pub fn run(asked: &Request) {
    let on = runtime(1);
    let many = asked.pick([20_000, 1_000_000, 1_000_000]);
    match asked.variant.as_str() {
        "schedule-few" | "cancel-few" => schedule_and_cancel(asked, &on, 1_000),
        "schedule-many" | "cancel-many" => schedule_and_cancel(asked, &on, many),
        "fire-few" => fire(asked, &on, 1_000),
        "fire-many" => fire(asked, &on, many),
        "unused" => never_waited_for(asked, &on),
        "accuracy" => accuracy(asked, &on),
        _ => memory(asked, &on),
    }
}
