/// Makes operator new fail in one thread, and counts its calls. Not available under ThreadSanitizer, whose
/// runtime has its own operator new. There, no call fails and the counts are 0. Guard such tests with
/// EKIDEN_TSAN.
#pragma once

namespace ekiden_test {

/// While this object exists, the n-th allocation from now on (0 = the next) in its thread throws
/// std::bad_alloc.
class failing_allocation {
public:
    explicit failing_allocation(long n);
    ~failing_allocation();
    /// Returns whether the allocation has failed.
    [[nodiscard]] bool has_failed() const;
};

/// Returns how often all threads have called operator new since the program began.
[[nodiscard]] long allocation_count();

/// Returns the number of allocations that have not been deleted.
[[nodiscard]] long live_allocation_count();

} // namespace ekiden_test
