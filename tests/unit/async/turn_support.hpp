/// What tests of turns need: coroutines that hold lanes, and the codes of exceptions.
#pragma once

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_turn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sync/event.hpp>

#include <system_error>

namespace ekiden_test {

using bank = ekiden::lanes<int>;

/// Returns the code of the std::system_error that `f` throws. Returns no error if `f` does not throw.
template <class F>
std::error_code code_of(F f) {
    try {
        f();
    } catch (const std::system_error& error) {
        return error.code();
    }
    return {};
}

/// Holds lanes until it is opened.
struct holder {
    ekiden::event begun;
    ekiden::event opened;
    auto hold() {
        return [this]() -> ekiden::coroutine<> {
            begun.set();
            co_await async_wait(opened);
        };
    }
};

/// Returns whether all accepted functions and turns were run or dropped, and nothing is left in the lanes.
template <class Lanes>
bool is_settled(const Lanes& l) {
    const auto now = l.metrics();
    return now.posted == now.run + now.dropped && now.active == 0;
}

} // namespace ekiden_test
