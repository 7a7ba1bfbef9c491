/// Peer: std::async(std::launch::async), which starts a thread for each task in libstdc++.
///
/// The destructor of its future waits for the task. So detached work must keep the futures somewhere.
#pragma once

#include <lab/peers/row.hpp>

#include <future>
#include <mutex>
#include <utility>
#include <vector>

namespace lab::peers {

class std_async {
public:
    static constexpr peers::row row{"std-async", "std::async", 81, false};
    static constexpr unsigned slowness = 256;

    explicit std_async(unsigned) {}

    template <class F>
    void post(F f) {
        auto future = std::async(std::launch::async, std::move(f));
        const std::lock_guard lock(mutex_);
        futures_.push_back(std::move(future));
    }

    template <class F>
    auto call(F f) {
        return std::async(std::launch::async, f).get();
    }

private:
    std::mutex mutex_;
    std::vector<std::future<void>> futures_;
};

} // namespace lab::peers
