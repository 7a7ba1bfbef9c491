/// Lets operator new fail, or counts its calls, in the thread that asks for it. Not under ThreadSanitizer,
/// whose runtime has its own operator new: guard such tests with EKIDEN_TSAN.
#pragma once

namespace ekiden_test {

/// While this lives, in the thread that made it: the n-th allocation from now on (0 = the next) throws
/// std::bad_alloc.
class failing_allocation {
public:
    explicit failing_allocation(long n);
    ~failing_allocation();
    /// Whether it has happened.
    [[nodiscard]] bool has_failed() const;
};

/// Calls of operator new by all threads since the program began.
[[nodiscard]] long allocation_count();

} // namespace ekiden_test
