//! Experiment channel: Tokio's mpsc and the crates async-channel, flume and kanal, in tasks on Tokio's threads. With
//! many consumers, Tokio's mutex protects the one receiver of mpsc, as its documentation recommends. The variants with
//! threads are in channel_threads.rs.

use crate::channel_threads;
use crate::harness::{measure, runtime, turn, Request, Usage};
use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, Mutex};

const MOST_PRODUCERS: usize = 8;

/// The meaning of a variant's name: "8 to 1, 64, full".
#[derive(Clone, Copy)]
pub struct Setting {
    pub producers: u64,
    pub consumers: u64,
    pub capacity: Option<usize>, // none: unbounded
    pub each: u64,               // items of a producer
    produce_turns: u64,
    consume_turns: u64,
}

impl Setting {
    fn parse(asked: &Request) -> Setting {
        let parts: Vec<&str> = asked.variant.split(", ").collect();
        let has = |word: &str| parts.contains(&word);
        let (producers, consumers) = parts[0].split_once(" to ").expect("the variant begins with its shape");
        let producers: u64 = producers.parse().unwrap();
        let capacity: Option<usize> = parts[1].parse().ok();
        let work = (asked.turns_per_us / 5.0) as u64; // 200 ns
        // With a small capacity, almost every item makes a thread wait.
        let waits = has("threads") && capacity.is_some_and(|room| room <= 1);
        let total = asked.pick([4_000, 400_000, 4_000_000]) as u64 / if waits { 10 } else { 1 };
        Setting {
            producers,
            consumers: consumers.parse().unwrap(),
            capacity,
            each: total / producers,
            produce_turns: if has("empty") { work } else { 0 },
            consume_turns: if has("full") { work } else { 0 },
        }
    }

    /// The items of a producer.
    pub fn items(self, number: u64) -> impl Iterator<Item = u64> {
        (0..self.each).map(move |i| {
            if self.produce_turns > 0 {
                black_box(turn(self.produce_turns, i));
            }
            number << 32 | i
        })
    }

    /// The number of items of a consumer.
    pub fn share(self) -> u64 {
        self.each * self.producers / self.consumers
    }
}

/// Checks the items of a consumer.
pub struct Sink {
    next: [u64; MOST_PRODUCERS],
    sum: u64,
    ordered: bool,
    turns: u64,
}

impl Sink {
    pub fn new(s: Setting) -> Sink {
        Sink { next: [0; MOST_PRODUCERS], sum: 0, ordered: true, turns: s.consume_turns }
    }

    pub fn take(&mut self, value: u64) {
        let (producer, i) = ((value >> 32) as usize, value & 0xffff_ffff);
        self.ordered &= i >= self.next[producer];
        self.next[producer] = i + 1;
        self.sum += value;
        if self.turns > 0 {
            black_box(turn(self.turns, value));
        }
    }
}

trait Sender: Clone + Send + Sync + 'static {
    fn put(&self, value: u64) -> impl Future<Output = ()> + Send;
}

trait Receiver: Send + 'static {
    fn take(&mut self) -> impl Future<Output = u64> + Send;
}

/// Implements Sender and Receiver for the two ends of a channel.
macro_rules! ends {
    ($sender:ty, $send:ident, $receiver:ty, $receive:ident) => {
        impl Sender for $sender {
            async fn put(&self, value: u64) {
                self.$send(value).await.unwrap()
            }
        }
        impl Receiver for $receiver {
            async fn take(&mut self) -> u64 {
                self.$receive().await.unwrap()
            }
        }
    };
}

ends!(async_channel::Sender<u64>, send, async_channel::Receiver<u64>, recv);
ends!(flume::Sender<u64>, send_async, flume::Receiver<u64>, recv_async);
ends!(kanal::AsyncSender<u64>, send, kanal::AsyncReceiver<u64>, recv);
ends!(mpsc::Sender<u64>, send, mpsc::Receiver<u64>, recv);

impl Sender for mpsc::UnboundedSender<u64> {
    async fn put(&self, value: u64) {
        self.send(value).unwrap()
    }
}

impl Receiver for mpsc::UnboundedReceiver<u64> {
    async fn take(&mut self) -> u64 {
        self.recv().await.unwrap()
    }
}

/// The receiver of mpsc has one owner, so several consumers share it behind a lock.
impl<R: Receiver> Receiver for Arc<Mutex<R>> {
    async fn take(&mut self) -> u64 {
        self.lock().await.take().await
    }
}

async fn produce(to: impl Sender, s: Setting, number: u64) {
    for value in s.items(number) {
        to.put(value).await;
    }
}

async fn consume(mut from: impl Receiver, s: Setting) -> Sink {
    let mut sink = Sink::new(s);
    for _ in 0..s.share() {
        sink.take(from.take().await);
    }
    sink
}

type Passed = (Usage, Vec<Sink>);

fn pass<R: Receiver>(on: &Runtime, s: Setting, to: impl Sender, from: Vec<R>) -> Passed {
    measure(|| {
        on.block_on(async {
            let consumers: Vec<_> = from.into_iter().map(|r| tokio::spawn(consume(r, s))).collect();
            for number in 0..s.producers {
                tokio::spawn(produce(to.clone(), s, number));
            }
            let mut sinks = Vec::new();
            for consumer in consumers {
                sinks.push(consumer.await.unwrap());
            }
            sinks
        })
    })
}

fn pass_many<R: Receiver + Clone>(on: &Runtime, s: Setting, (to, from): (impl Sender, R)) -> Passed {
    pass(on, s, to, (0..s.consumers).map(|_| from.clone()).collect())
}

fn pass_one<R: Receiver>(on: &Runtime, s: Setting, (to, from): (impl Sender, R)) -> Passed {
    if s.consumers == 1 {
        pass(on, s, to, vec![from])
    } else {
        pass_many(on, s, (to, Arc::new(Mutex::new(from))))
    }
}

fn in_tasks(implementation: &str, on: &Runtime, s: Setting) -> Passed {
    match (implementation, s.capacity) {
        ("async-channel", Some(room)) => pass_many(on, s, async_channel::bounded(room)),
        ("async-channel", None) => pass_many(on, s, async_channel::unbounded()),
        ("flume", Some(room)) => pass_many(on, s, flume::bounded(room)),
        ("flume", None) => pass_many(on, s, flume::unbounded()),
        ("kanal", Some(room)) => pass_many(on, s, kanal::bounded_async(room)),
        ("kanal", None) => pass_many(on, s, kanal::unbounded_async()),
        (_, Some(room)) => pass_one(on, s, mpsc::channel(room)),
        (_, None) => pass_one(on, s, mpsc::unbounded_channel()),
    }
}

fn check(asked: &Request, s: Setting, sinks: &[Sink]) {
    if sinks.iter().any(|sink| !sink.ordered) {
        asked.fail("a producer's items came out of order");
    }
    let right: u64 = (0..s.producers).map(|p| (p << 32) * s.each + s.each * (s.each - 1) / 2).sum();
    if sinks.iter().map(|sink| sink.sum).sum::<u64>() != right {
        asked.fail("items were lost or came out twice");
    }
}

pub fn run(asked: &Request) {
    let s = Setting::parse(asked);
    let threads = asked.variant.ends_with(", threads");
    let on = (!threads).then(|| runtime(if asked.variant.ends_with(", 1 thread") { 1 } else { 2 }));
    let total = s.each * s.producers;
    asked.repeat(|| {
        let (used, sinks) = match &on {
            Some(runtime) => in_tasks(&asked.implementation, runtime, s),
            None => channel_threads::pass(&asked.implementation, s),
        };
        check(asked, s, &sinks);
        let each_ns = 1e9 / total as f64;
        (used, vec![("ns_per_item", used.wall_s * each_ns), ("cpu_ns", used.cpu_s() * each_ns)])
    });
}
