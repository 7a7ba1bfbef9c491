/// Options for the start of a coroutine, in addition to the executor.
///
/// Part: async. Used by: programs, co_spawn() and sync_wait().
#pragma once

#include <ekiden/execution/priority.hpp>

#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The options of co_spawn() and sync_wait(). Example: `spawn_options().stop(token).name("reader")`. Member
/// functions set the options. The class is not an aggregate, because g++ 12 destroys an aggregate twice if it
/// is a temporary object in an awaited expression.
class spawn_options {
public:
    spawn_options() noexcept {}

    /// Sets a stop token. A stop request on this token stops the coroutine.
    spawn_options& stop(std::stop_token token) noexcept {
        stop_ = std::move(token);
        return *this;
    }
    /// Sets the name that dumps show. The string must outlive the coroutine.
    spawn_options& name(const char* shown) noexcept {
        name_ = shown;
        return *this;
    }
    /// Sets the priority of the coroutine's tasks in a pool. The default is the priority of the executor.
    /// Executors outside pools ignore this option.
    spawn_options& priority(enum priority level) noexcept {
        priority_ = level;
        has_priority_ = true;
        return *this;
    }

    /// Returns the stop token that was set.
    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
    /// Returns the name that was set, or null.
    [[nodiscard]] const char* name() const noexcept { return name_; }
    /// Returns the priority that was set. If no priority was set, returns null, and the priority of the
    /// executor applies.
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
