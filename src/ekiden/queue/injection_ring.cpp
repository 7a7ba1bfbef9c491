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
    // Only every 64th task records how long it waits, because reading the clock costs as much as a push.
    element->queued_at = (tail - first_index_) % 64 == 0 ? sys::now_ns() : 0;
    here->at(tail).store(element, sys::relaxed);
    // [IR1] Release: publishes the task, its slot and the array. Pairs with the acquire of tail_ in take().
    tail_.store(tail + 1, sys::release);
}

injection_ring::slots* injection_ring::make_room(slots* here, std::uint64_t tail) {
    // [IR2] Acquire: ensures that the consumers have finished reading the slots that are free now. Pairs with
    // the release in take().
    head_seen_ = head_.load(sys::acquire);
    if (tail - head_seen_ < here->capacity()) return here;
    return array_.grow(head_seen_, tail);
}

std::size_t injection_ring::take(std::span<task*> into, std::size_t share) noexcept {
    std::uint64_t head = head_.load(sys::acquire);                   // [IR3]
    const std::uint64_t available = tail_.load(sys::acquire) - head; // [IR1]
    if (available <= (EKIDEN_MUTANT(ring_take_leaves_the_last) ? 1U : 0U)) return 0;
    const auto count =
        std::min<std::uint64_t>(available / share + 1, std::min<std::uint64_t>(available, into.size()));
    slots* const here = array_.current_for_reader();
    // The producer may overwrite the slots during these loads. In this case, head_ has changed, and the
    // exchange below fails.
    for (std::uint64_t i = 0; i != count; ++i) into[i] = here->at(head + i).load(sys::relaxed);
    // [IR2] Release: orders the reads of the slots before the exchange. Pairs with the acquire in
    // make_room(). [IR3] Release: publishes what this thread did before. Pairs with the acquires of later
    // calls of take().
    if (!head_.compare_exchange_strong(head, head + count, sys::release, sys::relaxed)
        && !EKIDEN_MUTANT(ring_take_ignores_others))
        return 0;
    return count;
}

} // namespace ekiden::inline EKIDEN_ABI
