/// Memory whose end no access may pass.
#pragma once

#include <cstddef>

namespace ekiden_test {

/// A page that can be read and written, followed by a page that cannot.
class guarded_page {
public:
    guarded_page();
    ~guarded_page() { release(); }
    guarded_page(const guarded_page&) = delete;
    guarded_page& operator=(const guarded_page&) = delete;

    [[nodiscard]] std::byte* begin() const noexcept { return memory_; }
    /// The first byte of the page that cannot be read.
    [[nodiscard]] std::byte* end() const noexcept { return memory_ + size_; }
    /// Gives both pages back to the system.
    void release() noexcept;

private:
    std::byte* memory_ = nullptr;
    std::size_t size_ = 0;
    bool is_released_ = false;
};

} // namespace ekiden_test
