/// ekiden's locks as rows of the tables.
///
/// Used by: the experiments on locks.
#pragma once

#include <lab/peers/row.hpp>

#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/elastic_barrier.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sync/watermark_buffer.hpp>

#include <utility>

namespace lab::peers {

struct ekiden_mutex : ::ekiden::mutex {
    static constexpr peers::row row{"ekiden", "ekiden::mutex", 0};
};
struct ekiden_fifo_mutex : ::ekiden::fifo_mutex {
    static constexpr peers::row row{"ekiden-fifo", "ekiden::fifo_mutex", 1};
};
struct ekiden_spin_mutex : ::ekiden::spin_mutex {
    static constexpr peers::row row{"ekiden-spin", "ekiden::spin_mutex", 2};
};
struct ekiden_hybrid_mutex : ::ekiden::hybrid_mutex {
    static constexpr peers::row row{"ekiden-hybrid", "ekiden::hybrid_mutex", 3};
};

template <::ekiden::rw_policy Policy>
struct ekiden_rw : ::ekiden::rw_mutex<Policy> {
    static constexpr peers::row row =
        Policy == ::ekiden::rw_policy::writer_first ? peers::row{"ekiden", "ekiden, writer_first", 0}
        : Policy == ::ekiden::rw_policy::basic      ? peers::row{"ekiden-basic", "ekiden, basic", 1}
        : Policy == ::ekiden::rw_policy::writer_next
            ? peers::row{"ekiden-writer-next", "ekiden, writer_next", 2}
            : peers::row{"ekiden-rw-fifo", "ekiden, fifo", 3};
};

struct ekiden_semaphore : ::ekiden::counting_semaphore<> {
    static constexpr peers::row row{"ekiden", "ekiden::counting_semaphore", 0};
    using counting_semaphore::counting_semaphore;
};

struct ekiden_barrier : ::ekiden::barrier<> {
    static constexpr peers::row row{"ekiden", "ekiden::barrier", 0};
    explicit ekiden_barrier(unsigned size) : ::ekiden::barrier<>(size) {}
};
struct ekiden_parking_barrier : ::ekiden::barrier<> {
    static constexpr peers::row row{"ekiden-parks", "ekiden::barrier, parks", 1};
    explicit ekiden_parking_barrier(unsigned size)
        : ::ekiden::barrier<>(size, {}, ::ekiden::barrier_wait::parks) {}
};
struct ekiden_elastic_barrier : ::ekiden::elastic_barrier {
    static constexpr peers::row row{"ekiden", "ekiden::elastic_barrier", 0};
    explicit ekiden_elastic_barrier(unsigned size) : ::ekiden::elastic_barrier(size) {}
};
/// A buffer that is never closed, with push and pop like the other peers.
template <class Buffer>
struct ekiden_open_buffer : Buffer {
    using Buffer::Buffer;
    void push(long item) { (void)Buffer::push(std::move(item)); }
    [[nodiscard]] long pop() { return *Buffer::pop(); }
};
struct ekiden_buffer : ekiden_open_buffer<::ekiden::bounded_buffer<long>> {
    static constexpr peers::row row{"ekiden", "ekiden::bounded_buffer", 0};
    using ekiden_open_buffer::ekiden_open_buffer;
};

} // namespace lab::peers
