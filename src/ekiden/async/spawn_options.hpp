/// What a coroutine is given at its start besides an executor.
///
/// Part: async. Used by: programs, co_spawn, sync_wait.
#pragma once

#include <ekiden/execution/priority.hpp>

#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// As in spawn_options().stop(token).name("reader"). With functions instead of members that are set in
/// braces, since g++ 12 destroys such a temporary twice where it stands in an awaited expression.
class spawn_options {
public:
    spawn_options() noexcept {}

    /// A stop request stops the coroutine.
    spawn_options& stop(std::stop_token token) noexcept {
        stop_ = std::move(token);
        return *this;
    }
    /// Is shown in dumps; outlives the coroutine.
    spawn_options& name(const char* shown) noexcept {
        name_ = shown;
        return *this;
    }
    /// Of its tasks in a pool; without this, that of the executor. Other executors have none.
    spawn_options& priority(enum priority level) noexcept {
        priority_ = level;
        has_priority_ = true;
        return *this;
    }

    /// Returns the token that was set.
    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
    /// Returns the name that was set, or null.
    [[nodiscard]] const char* name() const noexcept { return name_; }
    /// Null: that of the executor.
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
