//! Experiment socket-echo: a server and its clients, each in a runtime of one thread.

use crate::harness::{measure, runtime, Request};
use std::net::{TcpListener as Listener, TcpStream as Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const MESSAGE: usize = 64;

async fn serve(mut socket: TcpStream) {
    let mut buffer = [0; MESSAGE];
    while socket.read_exact(&mut buffer).await.is_ok() {
        if socket.write_all(&buffer).await.is_err() {
            return;
        }
    }
}

/// Returns the number of correct answers.
async fn ask(socket: &mut TcpStream, trips: u64) -> u64 {
    let mut right = 0;
    let mut message = [0; MESSAGE];
    let mut answer = [0; MESSAGE];
    for trip in 1..=trips {
        message[..8].copy_from_slice(&trip.to_le_bytes());
        message[MESSAGE - 8..].copy_from_slice(&trip.to_le_bytes());
        socket.write_all(&message).await.unwrap();
        socket.read_exact(&mut answer).await.unwrap();
        right += u64::from(answer == message);
    }
    right
}

fn ready(socket: Stream) -> Stream {
    socket.set_nodelay(true).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

pub fn run(asked: &Request) {
    let connections = asked.variant.split(' ').next().unwrap().parse::<u64>().unwrap();
    let sizes = if connections == 1 { [500, 10_000, 100_000] } else { [1_000, 40_000, 400_000] };
    let trips = asked.pick(sizes) as u64 / connections;
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for _ in 0..connections {
        clients.push(ready(Stream::connect(listener.local_addr().unwrap()).unwrap()));
        servers.push(ready(listener.accept().unwrap().0));
    }
    let server = std::thread::spawn(move || {
        runtime(1).block_on(async {
            let all: Vec<_> =
                servers.into_iter().map(|s| tokio::spawn(serve(TcpStream::from_std(s).unwrap()))).collect();
            for one in all {
                one.await.unwrap();
            }
        })
    });
    let on = runtime(1);
    let mut open: Vec<TcpStream> = {
        let _inside = on.enter();
        clients.into_iter().map(|c| TcpStream::from_std(c).unwrap()).collect()
    };
    asked.repeat(|| {
        let sockets = std::mem::take(&mut open);
        let (used, right) = measure(|| {
            on.block_on(async {
                let all: Vec<_> = sockets
                    .into_iter()
                    .map(|mut socket| tokio::spawn(async move { (ask(&mut socket, trips).await, socket) }))
                    .collect();
                let mut right = 0;
                for one in all {
                    let (some, socket) = one.await.unwrap();
                    right += some;
                    open.push(socket);
                }
                right
            })
        });
        if right != trips * connections {
            asked.fail(&format!("{right} answers were right of {}", trips * connections));
        }
        let each_us = 1e6 / right as f64;
        (used, vec![("us_per_trip", used.wall_s * each_us), ("cpu_us", used.cpu_s() * each_us)])
    });
    open.clear();
    server.join().unwrap();
}
