#include <ekiden/queue/injection_queue.hpp>

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI {

injection_ring::injection_ring(std::size_t capacity, std::uint64_t first_index)
    : head_(first_index), tail_(first_index), head_seen_(first_index), array_(capacity),
      first_index_(first_index) {}

void injection_ring::push(task* element) {
    const std::uint64_t tail = tail_.load(sys::relaxed);
    slots* here = array_.current();
    if (tail - head_seen_ >= here->capacity()) [[unlikely]]
        here = make_room(here, tail);
    // Every 64th task of a producer tells how long it waited; a look at the clock for each would cost as much
    // as the push.
    element->queued_at = (tail - first_index_) % 64 == 0 ? sys::now_ns() : 0;
    here->at(tail).store(element, sys::relaxed);
    // [I1] release: the task's contents, its slot, and the ring; pairs with the acquire of tail_ in claim().
    tail_.store(tail + 1, sys::release);
}

injection_ring::slots* injection_ring::make_room(slots* here, std::uint64_t tail) {
    // [I2] acquire; pairs with the release in claim(): a slot counts as free only after its reader is done.
    head_seen_ = head_.load(sys::acquire);
    if (tail - head_seen_ < here->capacity()) return here;
    return array_.grow(head_seen_, tail);
}

std::size_t injection_ring::claim(std::span<task*> out) noexcept {
    std::uint64_t head = head_.load(sys::relaxed); // the claim below acquires, and fails if this is too old
    const std::uint64_t tail = tail_.load(sys::acquire); // [I1]
    const std::uint64_t available = tail - head;
    // Not more than half: other workers are woken for the rest. (A head newer than the tail gives a negative
    // count.)
    if (static_cast<std::int64_t>(available) <= 0) return 0;
    const std::uint64_t count = std::min<std::uint64_t>((available + 1) / 2, out.size());
    slots* const here = array_.current_for_reader();
    for (std::uint64_t i = 0; i != count; ++i) out[i] = here->at(head + i).load(sys::relaxed);
    // The slots may have been overwritten while they were read; then head_ has moved and the claim fails.
    // [I2] release: the reads above before the slots' reuse; pairs with the acquire in make_room().
    // acquire: this claim comes after the earlier ones, so that tasks of one producer are taken in order.
    if (!head_.compare_exchange_strong(head, head + count, sys::acq_rel, sys::relaxed)
        && !EKIDEN_MUTANT(ring_claim_ignores_others))
        return 0;
    return count;
}

} // namespace ekiden::inline EKIDEN_ABI
