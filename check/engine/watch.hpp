/// Detects a model that hangs without a call of the engine: in a std::mutex, or in a loop without the
/// engine's atomics.
///
/// Part: check (engine), private. Used by: explorer.cpp.
#pragma once

namespace ekiden::check {

/// While this object exists, a wall-clock timer checks whether the running model executes operations. An
/// execution without any operation for `silence_ms` fails. Only ticks that the process receives count, so a
/// suspended machine does not count as silence.
class watch {
public:
    explicit watch(unsigned silence_ms) noexcept;
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
};

} // namespace ekiden::check
