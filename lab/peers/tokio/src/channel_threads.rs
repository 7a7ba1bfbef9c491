//! Experiment channel, with threads: the crates crossbeam-channel, flume and kanal. Each producer and each consumer is
//! a thread of its own.

use crate::channel::{Setting, Sink};
use crate::harness::{measure, Usage};
use std::sync::{Arc, Barrier};
use std::thread;

trait Sender: Clone + Send + 'static {
    fn put(&self, value: u64);
}

trait Receiver: Clone + Send + 'static {
    fn take(&self) -> u64;
}

/// Implements Sender and Receiver for the two ends of a crate's channel.
macro_rules! ends {
    ($from:ident) => {
        impl Sender for $from::Sender<u64> {
            fn put(&self, value: u64) {
                self.send(value).unwrap()
            }
        }
        impl Receiver for $from::Receiver<u64> {
            fn take(&self) -> u64 {
                self.recv().unwrap()
            }
        }
    };
}

ends!(crossbeam_channel);
ends!(flume);
ends!(kanal);

/// The threads start when all of them exist. The usage is measured from then until all have ended.
fn pass_through(s: Setting, (to, from): (impl Sender, impl Receiver)) -> (Usage, Vec<Sink>) {
    let begin = Arc::new(Barrier::new((s.producers + s.consumers + 1) as usize));
    let consumers: Vec<_> = (0..s.consumers)
        .map(|_| {
            let (from, begin) = (from.clone(), begin.clone());
            thread::spawn(move || {
                begin.wait();
                let mut sink = Sink::new(s);
                for _ in 0..s.share() {
                    sink.take(from.take());
                }
                sink
            })
        })
        .collect();
    let producers: Vec<_> = (0..s.producers)
        .map(|number| {
            let (to, begin) = (to.clone(), begin.clone());
            thread::spawn(move || {
                begin.wait();
                s.items(number).for_each(|value| to.put(value));
            })
        })
        .collect();
    measure(|| {
        begin.wait();
        producers.into_iter().for_each(|p| p.join().unwrap());
        consumers.into_iter().map(|c| c.join().unwrap()).collect()
    })
}

pub fn pass(implementation: &str, s: Setting) -> (Usage, Vec<Sink>) {
    match (implementation, s.capacity) {
        ("flume", Some(room)) => pass_through(s, flume::bounded(room)),
        ("flume", None) => pass_through(s, flume::unbounded()),
        ("kanal", Some(room)) => pass_through(s, kanal::bounded(room)),
        ("kanal", None) => pass_through(s, kanal::unbounded()),
        (_, Some(room)) => pass_through(s, crossbeam_channel::bounded(room)),
        (_, None) => pass_through(s, crossbeam_channel::unbounded()),
    }
}
