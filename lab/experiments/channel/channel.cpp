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

// The names of the implementations that take part, by the capacity.
struct rows {
    std::string suffix; // of the names and titles
    names rendezvous;
    names bounded;
    names unbounded;
    names crowded; // 8 to 8 with a capacity of 64
};

// Adds the variants in which all items pass at full speed.
void add_balanced(std::vector<variant>& all, const rows& with) {
    const auto add_one = [&](const std::string& shape, const char* capacity, const char* title,
                             const names& only) {
        all.push_back({.name = shape + ", " + capacity + with.suffix,
                       .title = shape + ", " + title + with.suffix,
                       .only = only});
    };
    add_one("1 to 1", "0", "rendezvous", with.rendezvous);
    for (const std::string shape : {"1 to 1", "1 to 8", "8 to 1", "8 to 8"}) {
        const bool crowded = shape == "8 to 8";
        if (crowded || shape == "1 to 1") add_one(shape, "1", "capacity 1", with.bounded);
        add_one(shape, "64", "capacity 64", crowded ? with.crowded : with.bounded);
        add_one(shape, "1024", "capacity 1,024", with.bounded);
        add_one(shape, "unbounded", "unbounded", with.unbounded);
    }
}

std::vector<variant> variants() {
    std::vector<variant> all;
    add_balanced(all, {"", rendezvous, bounded, unbounded, bounded_8_to_8});
    for (variant& v : all)
        if (v.name == "8 to 8, 64") v.headline = "an item, 8 to 8";
    all.push_back({.name = "8 to 1, 64, full", .title = "8 to 1, capacity 64, full", .only = bounded});
    all.push_back({.name = "8 to 1, 64, empty", .title = "8 to 1, capacity 64, empty", .only = bounded});
    all.push_back(
        {.name = "8 to 8, 64, 1 thread", .title = "8 to 8, capacity 64, 1 thread", .only = one_thread});
    add_balanced(all, {", threads", rendezvous_threads, bounded_threads, unbounded_threads, bounded_threads});
    return all;
}

const bool added = add(experiment{
    .name = "channel",
    .title = "Channels between coroutines and between threads",
    .about =
        "Producers pass 400,000 numbers (a full run: 4,000,000) through a channel to consumers. Each "
        "consumer checks that the items of each producer arrive in order. No item may be lost or arrive "
        "twice. In the variants with threads, each producer and each consumer is a thread of the "
        "operating system. In all other variants they are coroutines on two threads (in Go goroutines, "
        "in Rust tasks of Tokio). With a capacity of 1 or 0, almost every item makes its producer or its "
        "consumer wait, in any shape. So capacity 1 is measured only with as many consumers as "
        "producers, and a rendezvous only from 1 to 1. Threads then pass a tenth of the numbers. Full: a "
        "consumer works 200 ns for each item that it has got, so that producers wait for room. Empty: a "
        "producer works 200 ns for each item that it makes, so that consumers wait for items. These 200 "
        "ns are part of the figures. Full and empty are measured only from 8 to 1, where a single "
        "consumer limits or waits. Tokio's mpsc has one receiver, which eight consumers share behind "
        "Tokio's mutex, as its documentation advises. The queue of moodycamel is unbounded, and keeps "
        "the order of each producer only. The goals compare the channel with bounded_buffer. An "
        "unbounded channel is compared with a bounded_buffer of capacity 1,024.",
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
