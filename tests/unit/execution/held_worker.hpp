/// Keeps the only worker of a pool busy until a test goes on.
#pragma once

#include <ekiden/pool/thread_pool.hpp>

#include <latch>

namespace ekiden_test {

class held_worker {
public:
    /// Returns when the worker is held.
    explicit held_worker(ekiden::thread_pool& pool)
        : held_(pool.submit([this] {
              is_there_.count_down();
              open_.wait();
          })) {
        is_there_.wait();
    }
    ~held_worker() { held_.wait(); }
    void open() { open_.count_down(); }

private:
    std::latch is_there_{1};
    std::latch open_{1};
    ekiden::future<void> held_;
};

} // namespace ekiden_test
