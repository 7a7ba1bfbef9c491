/// The worker processes of the soak, and what is done to them and to the brokers.
#pragma once

#include <tests/kafka/books.hpp>

#include <map>
#include <random>
#include <stop_token>
#include <string>
#include <sys/types.h>
#include <vector>

namespace kafka_soak {

/// The processes of the workers. One thread uses it.
class crew {
public:
    crew(books& all, std::string journal_path);
    ~crew(); ///< Kills all that still run.
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    void start(std::size_t worker);
    void signal(std::size_t worker, int number) const;
    /// Waits until the process is gone. Returns whether it was so within the limit.
    bool wait(std::size_t worker, std::chrono::milliseconds limit);
    /// Starts again each worker that has ended by itself. Returns how many.
    std::size_t revive();
    [[nodiscard]] std::size_t size() const { return pids_.size(); }
    [[nodiscard]] double cpu_s() const { return cpu_s_; }
    [[nodiscard]] int last_status(std::size_t worker) const { return status_[worker]; }

private:
    bool reap(std::size_t worker, int options);

    books& all_;
    std::string journal_path_;
    std::vector<pid_t> pids_; // 0: does not run
    std::vector<int> status_;
    double cpu_s_ = 0;
};

struct event_summary {
    std::size_t count = 0;
    std::size_t doubled = 0, again = 0; ///< effects, and calls of functions, that came again after the event
    stalls worst;
};

/// Disturbs workers and brokers until asked to stop. Measures the stalls after each event.
class chaos {
public:
    chaos(books& all, crew& workers) : all_(all), workers_(workers), random_(all.asked().seed) {}
    /// Returns when `is_over()`.
    void run(const std::function<bool()>& is_over);
    [[nodiscard]] const std::map<std::string, event_summary>& events() const { return events_; }
    [[nodiscard]] std::size_t revived() const { return revived_; }

private:
    void disturb(const std::string& what, const std::function<bool()>& is_over);
    void pause(std::chrono::milliseconds time, const std::function<bool()>& is_over);
    void brokers(const std::string& command) const;

    books& all_;
    crew& workers_;
    std::mt19937 random_;
    std::map<std::string, event_summary> events_;
    std::size_t revived_ = 0;
};

} // namespace kafka_soak
