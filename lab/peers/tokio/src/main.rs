//! Peers: Tokio, and crates with channels. This is the process of a cell. It starts as lab/harness/cell_process.hpp
//! describes. The workloads are written in Rust, so that its compiler optimizes them as in a user's program.
//!
//! Used by: the rows in lab/experiments/*/tokio.cpp, and the rows of the crates in lab/experiments/channel/.
//! lab/tokio.cmake builds it.

mod channel;
mod channel_threads;
mod echo;
mod harness;
mod hop;
mod io_models;
mod timers;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(_), Some(text)) = (arguments.next(), arguments.next()) else {
        eprintln!("ekiden-lab starts this program");
        std::process::exit(2);
    };
    let asked = harness::Request::parse(&text);
    match asked.experiment.as_str() {
        "channel" => channel::run(&asked),
        "coroutine-hop" => hop::run(&asked),
        "io-models" => io_models::run(&asked),
        "socket-echo" => echo::run(&asked),
        "timers" => timers::run(&asked),
        other => asked.fail(&format!("this executable has no cell of {other}")),
    }
}
