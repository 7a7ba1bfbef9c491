/// Lets operator new fail in the thread that asks for it, and counts its calls. Not under ThreadSanitizer,
/// whose runtime has its own operator new: there none fails, guard such tests with EKIDEN_TSAN; and the
/// counts are 0.
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

/// Those whose memory has not been deleted yet.
[[nodiscard]] long live_allocation_count();

} // namespace ekiden_test
