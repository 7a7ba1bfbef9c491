/// Experiment request-order: many threads with one request each. The requests are processed one at a time, in
/// order of arrival. Each answer has a number and the accumulated value.
///
/// `Method::serve(service&, crowd&)` starts the threads, waits for all of them, and returns the results. The
/// order that a method promises is checked. A wrong order fails the cell.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace lab::request_order {

struct answer {
    std::uint64_t id;
    std::uint64_t value;
};

/// Processes requests. Not thread-safe: the methods must serialize the calls.
class service {
public:
    explicit service(std::size_t requests) { done_.reserve(requests); }

    /// Processes request number `arrival`, from 0. Adds `arrival` + 1 draws of a generator with its default
    /// seed to the value.
    answer process(std::uint64_t arrival) {
        record now{.arrival = arrival, .begin_ns = now_ns()};
        std::mt19937 draws;
        for (std::uint64_t i = 0; i <= arrival; ++i) value_ += draws();
        now.given = {next_id_++, value_};
        now.end_ns = now_ns();
        done_.push_back(now);
        return now.given;
    }

    struct record {
        std::uint64_t arrival = 0;
        std::uint64_t begin_ns = 0;
        std::uint64_t end_ns = 0;
        answer given{};
    };
    [[nodiscard]] const std::vector<record>& done() const { return done_; }

private:
    std::vector<record> done_;
    std::uint64_t next_id_ = 0;
    std::uint64_t value_ = 0;
};

/// What a thread observed: when it asked, the number that it got and when, and the answer, if any.
struct receipt {
    std::uint64_t asked_ns = 0;
    std::uint64_t numbered_ns = 0;
    std::uint64_t number = 0;
    bool answered = false;
    answer given{};
};

/// The threads of one repetition.
class crowd {
public:
    crowd(cell& c, std::size_t size) : cell_(c), receipts_(size) { threads_.reserve(size); }

    /// Starts all threads. Each calls ask(receipt).
    template <class Ask>
    void start(Ask ask) {
        try {
            for (receipt& mine : receipts_) {
                threads_.emplace_back([&mine, ask] {
                    mine.asked_ns = now_ns();
                    ask(mine);
                });
            }
        } catch (const std::system_error&) {
            cell_.not_applicable("this machine allows " + std::to_string(threads_.size()) + " threads only");
        }
    }
    void join() {
        for (auto& thread : threads_) thread.join();
    }
    [[nodiscard]] std::size_t size() const { return receipts_.size(); }
    [[nodiscard]] std::vector<receipt>& receipts() { return receipts_; }

private:
    cell& cell_;
    std::vector<receipt> receipts_;
    std::vector<std::thread> threads_;
};

/// The largest number of waiting requests, if the method knows it; otherwise 0.
struct sizes {
    std::size_t lock = 0;
    std::size_t queue = 0;
};

struct verdict {
    std::uint64_t id_diff_count = 0; // requests that are not processed in the order of arrival
    /// Requests whose processing began before that of the previous request had ended.
    std::uint64_t time_cross_count = 0;
};

/// Compares what the service did with what it should have done.
inline verdict check_service(cell& c, const service& s, std::size_t requests) {
    verdict found;
    if (s.done().size() != requests) c.fail("requests were lost or processed twice");
    std::mt19937 draws;
    std::uint64_t sum = 0;
    std::uint64_t expected = 0;
    std::uint64_t end_ns = 0;
    for (const service::record& r : s.done()) {
        sum += draws();
        expected += sum;
        found.id_diff_count += r.arrival != r.given.id;
        found.time_cross_count += r.begin_ns < end_ns;
        end_ns = r.end_ns;
        // If the order was wrong, intermediate values differ.
        if (found.id_diff_count == 0 && r.given.value != expected) c.fail("a value is wrong");
    }
    if (found.time_cross_count != 0) c.fail("two requests were processed at once");
    return found;
}

/// Checks the answers to the threads. If a thread asked after another thread got its number, its own number
/// must be larger.
inline void check_receipts(cell& c, crowd& all, const service& s) {
    auto& receipts = all.receipts();
    std::sort(receipts.begin(), receipts.end(),
              [](const receipt& a, const receipt& b) { return a.number < b.number; });
    std::uint64_t later_had_number_ns = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t n = receipts.size(); n-- > 0;) {
        const receipt& r = receipts[n];
        if (r.number != n) c.fail("a number was given twice, or to nobody");
        if (r.asked_ns > later_had_number_ns) c.fail("a later request was numbered before an earlier one");
        later_had_number_ns = std::min(later_had_number_ns, r.numbered_ns);
        if (r.answered && (r.given.id != s.done()[n].given.id || r.given.value != s.done()[n].given.value))
            c.fail("a thread got the answer of another one");
    }
}

template <class Method>
void run(cell& c) {
    const std::size_t requests = std::stoul(c.asked().variant) / c.pick(100, 1, 1);
    if constexpr (requires { Method::most_requests; }) {
        if (requests > Method::most_requests)
            c.not_applicable("its waiting threads all run: this many take minutes");
    }
    service s(requests);
    crowd all(c, requests);
    sizes most;
    repetition found;
    found.used = c.measure([&] { most = Method::serve(s, all); });
    if (Method::has_threads) check_receipts(c, all, s);
    const verdict judged = Method::processes ? check_service(c, s, requests) : verdict{};
    if (Method::keeps_order && judged.id_diff_count != 0) c.fail("not in order of arrival");
    found.figures["second"] = found.used.wall_s;
    found.figures["cpu"] = found.used.cpu_s();
    found.figures["id diff count"] = static_cast<double>(judged.id_diff_count);
    found.figures["max lock size"] = static_cast<double>(most.lock);
    found.figures["max queue size"] = static_cast<double>(most.queue);
    c.report(found);
}

} // namespace lab::request_order
