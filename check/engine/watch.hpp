/// Notices a model that hangs where the engine does not see it: in a std::mutex, or in a loop without its
/// atomics.
///
/// Part: check (engine), private. Used by: explorer.cpp.
#pragma once

namespace ekiden::check {

/// While this lives, a timer of the wall clock checks whether the running model makes operations. An
/// execution without any for `silence_ms` fails. Only time in which the process runs counts: a suspended
/// machine is no silence.
class watch {
public:
    explicit watch(unsigned silence_ms) noexcept;
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
};

} // namespace ekiden::check
