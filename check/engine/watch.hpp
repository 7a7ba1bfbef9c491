/// Detects a model that hangs without a call of the engine. For example, it may wait for a std::mutex, or run
/// a loop without the engine's atomics.
///
/// Part: check (engine), private. Used by: explorer.cpp.
#pragma once

namespace ekiden::check {

/// While this object exists, a real-time timer checks whether the running model executes operations. An
/// execution fails if it executes no operation for `silence_ms`. The time is counted in timer ticks that the
/// process receives. So the time during which the machine is suspended does not count.
class watch {
public:
    explicit watch(unsigned silence_ms) noexcept;
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
};

} // namespace ekiden::check
