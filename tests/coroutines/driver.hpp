/// A coroutine of another library, for the programs of this folder.
#pragma once

#include <coroutine>

/// The coroutine starts immediately, and its frame is freed when it ends.
struct driver {
    struct promise_type {
        driver get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { __builtin_trap(); }
    };
};
