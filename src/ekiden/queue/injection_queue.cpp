#include <ekiden/queue/injection_queue.hpp>

#include <ekiden/sys/thread_number.hpp>

namespace ekiden::inline EKIDEN_ABI {

injection_queue::injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t capacity,
                                 std::uint64_t first_index, unsigned rings)
    : gate_(gate), capacity_(capacity), first_index_(first_index), rings_(rings) {}

std::uint32_t injection_queue::number_of_this_thread() noexcept {
    return sys::thread_number<injection_queue>();
}

void injection_queue::make_ring(unsigned number) {
    made_rings_[number] = std::make_unique<injection_ring>(capacity_, first_index_);
    // [IQ2] Release: publishes the ring. Pairs with the acquire in visit_rings().
    made_.fetch_or(std::uint32_t{1} << number, sys::release);
}

void injection_queue::quiesce() noexcept {
    for (ring_lock& each : locks_) {
        if (EKIDEN_MUTANT(queue_quiesce_does_not_wait)) continue;
        // [IQ1] When this thread has the lock, each push that found the gate open has released the lock. Each
        // later push acquires the lock after this thread, and sees that the gate is closed.
        const std::lock_guard guard(each);
    }
}

std::size_t injection_queue::take(std::size_t start, std::span<task*> into, std::size_t share) noexcept {
    std::size_t taken = 0;
    visit_rings(start, [&](injection_ring& ring) {
        if (ring.maybe_filled()) taken = ring.take(into, share);
        return taken != 0;
    });
    return taken;
}

std::size_t injection_queue::size(std::size_t most) const noexcept {
    std::size_t sum = 0;
    visit_rings(0, [&](const injection_ring& ring) {
        sum += ring.size();
        return sum >= most;
    });
    return sum;
}

std::uint64_t injection_queue::pushed() const noexcept {
    std::uint64_t sum = 0;
    visit_rings(0, [&](const injection_ring& ring) {
        sum += ring.pushed();
        return false;
    });
    return sum;
}

} // namespace ekiden::inline EKIDEN_ABI
