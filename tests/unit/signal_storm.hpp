/// Interrupts the system calls of one thread repeatedly.
#pragma once

#include <tests/unit/posix.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace ekiden_test {

/// While this object exists, its thread gets a signal every 50 us. The handler does nothing, but system calls
/// return early.
class signal_storm {
public:
    signal_storm() {
        struct sigaction action{};
        action.sa_handler = [](int) {};
        ::sigaction(SIGUSR1, &action, nullptr); // without SA_RESTART; stays installed for later storms
        sender_ = std::thread([this, target = ::pthread_self()] {
            while (!over_.load()) {
                ::pthread_kill(target, SIGUSR1);
                sent_.fetch_add(1);
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        });
    }
    ~signal_storm() {
        over_.store(true);
        sender_.join();
    }
    signal_storm(const signal_storm&) = delete;
    signal_storm& operator=(const signal_storm&) = delete;

    [[nodiscard]] int sent() const { return sent_.load(); }

private:
    std::atomic<bool> over_{false};
    std::atomic<int> sent_{0};
    std::thread sender_;
};

} // namespace ekiden_test
