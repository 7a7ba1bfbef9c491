/// A worker that a thread of its own runs, and a record of what a function has seen.
#pragma once

#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace ekiden_test {

class running_worker {
public:
    template <class F>
    running_worker(const ekiden::kafka::settings& where, ekiden::thread_pool& pool,
                   const ekiden::kafka::worker_options& chosen, F&& f)
        : worker_(where, pool.get_executor(), chosen, std::forward<F>(f)), thread_([this] {
              try {
                  worker_.run(stop_.get_token());
              } catch (const ekiden::kafka::error& e) {
                  failure_ = e.what();
                  kind_ = e.kind();
              }
              has_ended_ = true;
          }) {}
    ~running_worker() {
        stop();
        if (thread_.joinable()) thread_.join();
    }
    void stop() { stop_.request_stop(); }
    [[nodiscard]] bool has_ended() const { return has_ended_; }
    /// The error that ended the worker. Only after has_ended().
    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] ekiden::kafka::error_kind kind() const { return kind_; }
    [[nodiscard]] ekiden::kafka::worker_metrics metrics() const { return worker_.metrics(); }
    auto* operator->() { return &worker_; }

private:
    using executor = ekiden::thread_pool::executor_type;
    ekiden::kafka::worker<executor> worker_;
    std::stop_source stop_;
    std::string failure_;
    ekiden::kafka::error_kind kind_{};
    std::atomic<bool> has_ended_{false};
    std::thread thread_;
};

/// Checks the order of the values per key, which are 0, 1, 2, ...
class seen_records {
public:
    void add(const ekiden::kafka::request& r) {
        const std::lock_guard inside(lock_);
        int& next = next_[std::string(r.key)];
        const int value = std::stoi(std::string(r.value));
        if (value == next) {
            ++next;
            ++count_;
        } else if (value < next) {
            ++repeats_;
        } else {
            ++violations_;
        }
    }
    /// The number of records that were seen for the first time, in their order.
    [[nodiscard]] int count() const { return read(count_); }
    [[nodiscard]] int repeats() const { return read(repeats_); }
    [[nodiscard]] int violations() const { return read(violations_); }

private:
    int read(const int& of) const {
        const std::lock_guard inside(lock_);
        return of;
    }
    mutable std::mutex lock_;
    std::map<std::string, int> next_;
    int count_ = 0;
    int repeats_ = 0;
    int violations_ = 0;
};

} // namespace ekiden_test
