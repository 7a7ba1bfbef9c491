// Models that use only the standard library, and start a thread for each request.
#include <lab/experiments/replay/replay.hpp>

#include <deque>
#include <future>
#include <semaphore>
#include <thread>

namespace lab::replay {
namespace {

/// A thread for each request.
class thread_per_request {
public:
    static constexpr promise promised = promise::nothing;
    static constexpr shape formed = shape::thread_per_request;

    thread_per_request(unsigned, std::size_t, service& s) : service_(s) {}
    ~thread_per_request() {
        for (unsigned i = 0; i < most_threads; ++i) places_.acquire();
    }

    void post(std::size_t index) {
        places_.acquire();
        std::thread([this, index] {
            place_started_thread();
            service_.serve<promise::nothing>(index);
            places_.release();
        }).detach();
    }

private:
    service& service_;
    std::counting_semaphore<> places_{most_threads};
};

/// std::async for each request. The futures are kept until there are too many.
class async_per_request {
public:
    static constexpr promise promised = promise::nothing;
    static constexpr shape formed = shape::thread_per_request;

    async_per_request(unsigned, std::size_t, service& s) : service_(s) {}

    void post(std::size_t index) {
        if (running_.size() >= most_threads) running_.pop_front(); // waits for the oldest
        running_.push_back(std::async(std::launch::async, [this, index] {
            place_started_thread();
            service_.serve<promise::nothing>(index);
        }));
    }

private:
    service& service_;
    std::deque<std::future<void>> running_;
};

constexpr const char* capped = "at most 512 threads at a time: then the clients wait, which counts";

const bool added = add_model<thread_per_request>("std-thread-per-request", "thread per request", 41, capped)
                   && add_model<async_per_request>("std-async", "std::async", 42, capped);

} // namespace
} // namespace lab::replay
