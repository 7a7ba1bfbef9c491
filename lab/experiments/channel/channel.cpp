#include <lab/harness/registry.hpp>

namespace lab::channel {
namespace {

using names = std::vector<std::string>;

names with(names some, const names& more) {
    some.insert(some.end(), more.begin(), more.end());
    return some;
}

// Coroutines. Go has no unbounded channel. Tokio's mpsc and async-channel have no rendezvous.
const names rendezvous{"ekiden", "asio", "flume", "kanal", "go"};
const names unbounded{"ekiden", "asio", "tokio", "async-channel", "flume", "kanal"};
const names bounded = with(unbounded, {"ekiden-buffer", "go"});
const names bounded_8_to_8 = with(bounded, {"ekiden-context", "ekiden-mixed"});
// A channel without locks may have only one thread.
const names one_thread = with(bounded, {"ekiden-context", "asio-unlocked"});

const names rendezvous_threads{"ekiden", "crossbeam", "flume", "kanal"};
const names bounded_threads = with(rendezvous_threads, {"ekiden-buffer", "onetbb"});
const names unbounded_threads = with(rendezvous_threads, {"onetbb", "concurrentqueue"});

// The variants in which all items pass at full speed.
std::vector<variant> balanced() {
    std::vector<variant> all;
    const auto add_both = [&all](const std::string& shape, const std::string& capacity,
                                 const std::string& title, const names& coroutines, const names& threads) {
        const std::string name = shape + ", " + capacity;
        all.push_back({.name = name, .title = shape + ", " + title, .only = coroutines});
        all.push_back(
            {.name = name + ", threads", .title = shape + ", " + title + ", threads", .only = threads});
    };
    add_both("1 to 1", "0", "rendezvous", rendezvous, rendezvous_threads);
    for (const std::string shape : {"1 to 1", "1 to 8", "8 to 1", "8 to 8"}) {
        const bool as_many = shape == "1 to 1" || shape == "8 to 8";
        if (as_many) add_both(shape, "1", "capacity 1", bounded, bounded_threads);
        add_both(shape, "64", "capacity 64", shape == "8 to 8" ? bounded_8_to_8 : bounded, bounded_threads);
        add_both(shape, "1024", "capacity 1,024", bounded, bounded_threads);
        add_both(shape, "unbounded", "unbounded", unbounded, unbounded_threads);
    }
    for (variant& v : all)
        if (v.name == "8 to 8, 64") v.headline = "an item, 8 to 8";
    return all;
}

std::vector<variant> variants() {
    std::vector<variant> all = balanced();
    all.push_back({.name = "8 to 1, 64, full", .title = "8 to 1, capacity 64, full", .only = bounded});
    all.push_back({.name = "8 to 1, 64, empty", .title = "8 to 1, capacity 64, empty", .only = bounded});
    all.push_back(
        {.name = "8 to 8, 64, 1 thread", .title = "8 to 8, capacity 64, 1 thread", .only = one_thread});
    return all;
}

const bool added = add(experiment{
    .name = "channel",
    .title = "Channels between coroutines and between threads",
    .about =
        "Producers pass 400,000 numbers (a full run: 4,000,000) through a channel to consumers. Each "
        "consumer "
        "checks that the items of each producer arrive in order. No item may be lost or arrive twice. In the "
        "variants with threads, each producer and each consumer is a thread of the operating system. In all "
        "other variants they are coroutines on two threads (in Go goroutines, in Rust tasks of Tokio). "
        "Threads with a capacity of 1 or 0 pass a tenth of the numbers, because almost every item makes a "
        "thread wait. "
        "Capacity 1 is measured only with as many consumers as producers, and a rendezvous only from 1 to 1: "
        "there, each item wakes a waiter, and more producers change little. "
        "Full: a consumer works 200 ns for each item that it has got, so that producers wait for room. "
        "Empty: a producer works 200 ns for each item that it makes, so that consumers wait for items. These "
        "200 ns are part of the figures. Full and empty are measured only from 8 to 1, where the waits "
        "differ "
        "most between the libraries. "
        "Tokio's mpsc has one receiver, which eight consumers share behind Tokio's mutex, as its "
        "documentation "
        "advises. The queue of moodycamel is unbounded, and keeps the order of each producer only. "
        "The goals compare the channel with bounded_buffer. An unbounded channel is compared with a "
        "bounded_buffer of capacity 1,024.",
    .source_note =
        "Source: TooManyCooks publishes 39 ns an element for its channel, which has no bound, on 64 "
        "threads and on 1 (EPYC 7742, clang 21, tcmalloc; 10,000,000 numbers, as many consumers as "
        "producers). It is in none of Debian's packages.",
    .figures = {{.name = "ns_per_item", .title = "time per item", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"}},
    .variants = variants(),
    .order = 28});

} // namespace
} // namespace lab::channel
