/// Waits for a condition that another thread makes true.
#pragma once

#include <chrono>
#include <thread>

namespace ekiden_test {

/// Waits until `holds()` returns true. Returns false if a minute has passed before.
template <class Condition>
bool eventually(Condition&& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace ekiden_test
