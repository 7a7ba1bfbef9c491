/// The options of a coroutine at its start, besides the executor.
///
/// Part: async. Used by: programs, co_spawn, sync_wait.
#pragma once

#include <ekiden/execution/priority.hpp>

#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The options of co_spawn() and sync_wait(), as in `spawn_options().stop(token).name("reader")`. They are
/// set by functions, not by braces, because g++ 12 destroys such a braced temporary twice in an awaited
/// expression.
class spawn_options {
public:
    spawn_options() noexcept {}

    /// Sets a stop token: a stop request stops the coroutine.
    spawn_options& stop(std::stop_token token) noexcept {
        stop_ = std::move(token);
        return *this;
    }
    /// Sets the name that dumps show. It must outlive the coroutine.
    spawn_options& name(const char* shown) noexcept {
        name_ = shown;
        return *this;
    }
    /// Sets the priority of its tasks in a pool. The default is the executor's priority. Other executors
    /// ignore it.
    spawn_options& priority(enum priority level) noexcept {
        priority_ = level;
        has_priority_ = true;
        return *this;
    }

    /// Returns the token that was set.
    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
    /// Returns the name that was set, or null.
    [[nodiscard]] const char* name() const noexcept { return name_; }
    /// Returns the priority that was set, or null, which means the executor's priority.
    [[nodiscard]] const enum priority* priority() const noexcept {
        return has_priority_ ? &priority_ : nullptr;
    }

private:
    std::stop_token stop_;
    const char* name_ = nullptr;
    enum priority priority_ = ekiden::priority::normal;
    bool has_priority_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI
