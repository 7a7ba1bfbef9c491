/// Experiment kafka: the records of a topic, each handled by a function of 0, 1 or 10 ms.
///
/// A system reads a topic that holds the records already. The cell starts a broker, which all cells of a run
/// share, and fills the topic. A system is constructed for each repetition: `System(brokers, topic, group, s,
/// handle)` begins to read, and calls `handle(key, value)` for each record.
#pragma once

#include <lab/harness/cell.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace lab::kafka {

constexpr unsigned partitions = 6;
constexpr unsigned keys = 1000;
constexpr unsigned in_flight = 16; // threads, or what corresponds to them

/// The meaning of a variant's name: "1 ms, Zipf".
struct setting {
    std::chrono::milliseconds work{0};
    bool zipf = false;
    std::size_t records = 0;
};
[[nodiscard]] setting parse(const cell& c);

/// Returns the servers of the broker that the cells of a run share. Starts the broker if it does not run. The
/// broker ends with the driver. Without a JDK or the jars, the cell is not applicable.
[[nodiscard]] std::string shared_broker(cell& c);

/// Returns the name of a topic with enough records for any cell of this scale.
[[nodiscard]] std::string filled_topic(cell& c, const std::string& brokers, const setting& s);

/// Counts the records, checks their order, and measures from the first record to the last. Thread-safe.
class intake {
public:
    intake(const setting& s, bool ordered) : setting_(s), ordered_(ordered) {}

    void handle(std::string_view key, std::string_view value);
    /// Waits for the last record. Returns false if there is no progress.
    [[nodiscard]] bool wait(double patience_s) const;
    [[nodiscard]] repetition result() const;
    [[nodiscard]] std::size_t disordered() const { return disordered_; }

private:
    const setting setting_;
    const bool ordered_;
    std::array<std::atomic<std::uint32_t>, keys> next_{};
    std::atomic<std::size_t> begun_{0}, handled_{0}, disordered_{0};
    std::atomic<bool> done_{false};
    usage begin_, end_;
};

/// Adds the figures of a repetition that has taken `used`.
[[nodiscard]] repetition figures_of(const setting& s, const usage& used);

/// A name that no other group has.
[[nodiscard]] std::string fresh_group();

template <class System>
void run(cell& c) {
    const setting s = parse(c);
    const std::string brokers = shared_broker(c);
    const std::string topic = filled_topic(c, brokers, s);
    // The first repetition warms up, and proves that the system is right.
    for (unsigned r = 0; r == 0 || c.again(r - 1); ++r) {
        intake records(s, System::ordered);
        {
            System reader(
                brokers, topic, fresh_group(), s,
                [&records](std::string_view key, std::string_view value) { records.handle(key, value); });
            if (!records.wait(c.patience_s() + 10)) c.fail("records are missing");
        }
        if (records.disordered() > 0)
            c.fail(std::to_string(records.disordered()) + " records were out of order");
        if (r > 0) c.report(records.result());
    }
}

} // namespace lab::kafka
