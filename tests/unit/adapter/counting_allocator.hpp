/// Counts what is taken from it, and what is still out.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace ekiden_test {

struct allocations {
    std::atomic<int> taken{0};
    std::atomic<int> out{0};
};

template <class T>
struct counting_allocator {
    using value_type = T;

    explicit counting_allocator(allocations& all) : counts(&all) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : counts(other.counts) {} // NOLINT

    T* allocate(std::size_t n) {
        ++counts->taken;
        ++counts->out;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        --counts->out;
        std::allocator<T>().deallocate(memory, n);
    }
    template <class U>
    friend bool operator==(const counting_allocator& a, const counting_allocator<U>& b) noexcept {
        return a.counts == b.counts;
    }

    allocations* counts;
};

/// A handler with an allocator of its own.
template <class F>
struct with_allocator {
    using allocator_type = counting_allocator<void>;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(*counts); }
    template <class... Args>
    void operator()(Args&&... args) {
        f(static_cast<Args&&>(args)...);
    }

    F f;
    allocations* counts;
};
template <class F>
with_allocator(F, allocations*) -> with_allocator<F>;

} // namespace ekiden_test
