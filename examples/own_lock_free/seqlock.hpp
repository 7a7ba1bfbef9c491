// A value that one thread writes. Many threads read it without disturbing the writer: H.-J. Boehm, "Can
// seqlocks get along with programming language memory models?", MSPC 2012.
#pragma once

#include <ekiden/check/checkable.hpp>

#include <array>
#include <cstddef>

template <class T, std::size_t count>
class seqlock {
public:
    using value = std::array<T, count>;

    void write(const value& v) {
        const unsigned before = sequence_.load(std::memory_order_relaxed);
        sequence_.store(before + 1, std::memory_order_relaxed); // odd: being written
        if (!EKIDEN_MUTANT(writer_without_fence))
            ekiden::checkable::atomic_thread_fence(std::memory_order_release);
        for (std::size_t i = 0; i < count; ++i) words_[i].store(v[i], std::memory_order_relaxed);
        sequence_.store(before + 2, std::memory_order_release);
    }

    value read() const {
        for (;;) {
            const unsigned before = sequence_.load(std::memory_order_acquire);
            value v;
            for (std::size_t i = 0; i < count; ++i) v[i] = words_[i].load(std::memory_order_relaxed);
            if (!EKIDEN_MUTANT(reader_without_fence))
                ekiden::checkable::atomic_thread_fence(std::memory_order_acquire);
            if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before) return v;
            ekiden::checkable::spin_hint();
        }
    }

private:
    ekiden::checkable::atomic<unsigned> sequence_{0};
    std::array<ekiden::checkable::atomic<T>, count> words_{};
};
