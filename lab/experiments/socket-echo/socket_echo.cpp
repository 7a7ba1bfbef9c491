#include <lab/harness/registry.hpp>

namespace lab::socket_echo {
namespace {

const bool added = add(experiment{
    .name = "socket-echo",
    .title = "Echo over TCP",
    .about =
        "Clients send 64 bytes over TCP connections on the loopback device, wait for the echo, compare "
        "it, and send the next: 10,000 round trips over one connection, or 40,000 in all over 100 (a "
        "full run: ten times as many). All clients share one context with one thread, and so do all "
        "servers; Go has one set of two threads for both. On our contexts, too, the one thread waits for the "
        "system. With one connection the figure is a latency, most of it the kernel's; with 100 it is a "
        "throughput.",
    .figures = {{.name = "us_per_trip", .title = "time per round trip", .unit = "us"},
                {.name = "cpu_us", .title = "CPU time", .unit = "us"}},
    .variants = {{.name = "1 connection", .title = "1 connection"},
                 {.name = "100 connections", .title = "100 connections", .headline = "a round trip"}},
    .order = 29});

} // namespace
} // namespace lab::socket_echo
