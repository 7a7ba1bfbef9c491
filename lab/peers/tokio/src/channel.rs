//! Experiment channel: Tokio's mpsc, bounded and not, and async-channel, on Tokio's threads. With many consumers,
//! Tokio's mutex protects the one receiver of mpsc, as its documentation recommends.

use crate::harness::{measure, runtime, turn, Request, Usage};
use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, Mutex};

const PRODUCERS: u64 = 8;
const CAPACITY: usize = 64;

#[derive(Clone, Copy)]
struct Setting {
    consumers: u64,
    each: u64, // items of a producer
    produce_turns: u64,
    consume_turns: u64,
}

trait Sender: Clone + Send + Sync + 'static {
    fn put(&self, value: u64) -> impl Future<Output = ()> + Send;
}

trait Receiver: Send + 'static {
    fn take(&mut self) -> impl Future<Output = u64> + Send;
}

impl Sender for mpsc::Sender<u64> {
    async fn put(&self, value: u64) {
        self.send(value).await.unwrap()
    }
}

impl Sender for mpsc::UnboundedSender<u64> {
    async fn put(&self, value: u64) {
        self.send(value).unwrap()
    }
}

impl Sender for async_channel::Sender<u64> {
    async fn put(&self, value: u64) {
        self.send(value).await.unwrap()
    }
}

impl Receiver for async_channel::Receiver<u64> {
    async fn take(&mut self) -> u64 {
        self.recv().await.unwrap()
    }
}

impl Receiver for Arc<Mutex<mpsc::Receiver<u64>>> {
    async fn take(&mut self) -> u64 {
        self.lock().await.recv().await.unwrap()
    }
}

impl Receiver for Arc<Mutex<mpsc::UnboundedReceiver<u64>>> {
    async fn take(&mut self) -> u64 {
        self.lock().await.recv().await.unwrap()
    }
}

/// The receiver of a single consumer needs no lock.
impl Receiver for mpsc::Receiver<u64> {
    async fn take(&mut self) -> u64 {
        self.recv().await.unwrap()
    }
}

impl Receiver for mpsc::UnboundedReceiver<u64> {
    async fn take(&mut self) -> u64 {
        self.recv().await.unwrap()
    }
}

async fn produce(to: impl Sender, s: Setting, number: u64) {
    for i in 0..s.each {
        if s.produce_turns > 0 {
            black_box(turn(s.produce_turns, i));
        }
        to.put(number << 32 | i).await;
    }
}

/// Returns the sum of the items, or none if a producer's items arrived out of order.
async fn consume(mut from: impl Receiver, s: Setting) -> Option<u64> {
    let mut next = [0; PRODUCERS as usize];
    let (mut sum, mut ordered) = (0, true);
    for _ in 0..s.each * PRODUCERS / s.consumers {
        let value = from.take().await;
        let (producer, i) = ((value >> 32) as usize, value & 0xffff_ffff);
        ordered &= i >= next[producer];
        next[producer] = i + 1;
        sum += value;
        if s.consume_turns > 0 {
            black_box(turn(s.consume_turns, value));
        }
    }
    ordered.then_some(sum)
}

fn pass<R: Receiver>(on: &Runtime, s: Setting, to: impl Sender, from: Vec<R>) -> (Usage, Vec<Option<u64>>) {
    measure(|| {
        on.block_on(async {
            let consumers: Vec<_> = from.into_iter().map(|r| tokio::spawn(consume(r, s))).collect();
            for number in 0..PRODUCERS {
                tokio::spawn(produce(to.clone(), s, number));
            }
            let mut sums = Vec::new();
            for consumer in consumers {
                sums.push(consumer.await.unwrap());
            }
            sums
        })
    })
}

fn copies<R: Clone>(of: R, s: Setting) -> Vec<R> {
    (0..s.consumers).map(|_| of.clone()).collect()
}

pub fn run(asked: &Request) {
    let work = (asked.turns_per_us / 5.0) as u64; // 200 ns
    let has = |word: &str| asked.variant.contains(word);
    let s = Setting {
        consumers: if has("8 to 8") { 8 } else { 1 },
        each: asked.pick([4_000, 400_000, 4_000_000]) as u64 / PRODUCERS,
        produce_turns: if has("empty") { work } else { 0 },
        consume_turns: if has("full") { work } else { 0 },
    };
    let on = runtime(if has("1 thread") { 1 } else { 2 });
    let total = s.each * PRODUCERS;
    let right: u64 = (0..PRODUCERS).map(|p| (p << 32) * s.each + s.each * (s.each - 1) / 2).sum();
    asked.repeat(|| {
        let (used, sums) = match asked.implementation.as_str() {
            "async-channel" => {
                let (to, from) = async_channel::bounded(CAPACITY);
                pass(&on, s, to, copies(from, s))
            }
            "tokio-unbounded" => {
                let (to, from) = mpsc::unbounded_channel();
                if s.consumers == 1 {
                    pass(&on, s, to, vec![from])
                } else {
                    pass(&on, s, to, copies(Arc::new(Mutex::new(from)), s))
                }
            }
            _ => {
                let (to, from) = mpsc::channel(CAPACITY);
                if s.consumers == 1 {
                    pass(&on, s, to, vec![from])
                } else {
                    pass(&on, s, to, copies(Arc::new(Mutex::new(from)), s))
                }
            }
        };
        if sums.iter().any(|sum| sum.is_none()) {
            asked.fail("a producer's items came out of order");
        }
        if sums.iter().map(|sum| sum.unwrap()).sum::<u64>() != right {
            asked.fail("items were lost or came out twice");
        }
        let each_ns = 1e9 / total as f64;
        (used, vec![("ns_per_item", used.wall_s * each_ns), ("cpu_ns", used.cpu_s() * each_ns)])
    });
}
