#include <ekiden/queue/injection_queue.hpp>

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI {

injection_ring::injection_ring(std::size_t capacity, std::uint64_t first_index, unsigned number)
    : word_(packed(first_index, 0, nobody)), tail_(first_index), head_seen_(first_index), array_(capacity),
      first_index_(first_index), number_(number) {}

void injection_ring::push(task* element) {
    const std::uint64_t tail = tail_.load(sys::relaxed);
    slots* here = array_.current();
    if (tail - head_seen_ >= here->capacity()) [[unlikely]]
        here = make_room(here, tail);
    // Every 64th task of a producer tells how long it waited; a look at the clock for each would cost as much
    // as the push.
    element->queued_at = (tail - first_index_) % 64 == 0 ? sys::now_ns() : 0;
    here->at(tail).store(element, sys::relaxed);
    // [IR1] release: the task's contents, its slot, and the ring; pairs with the acquire of tail_ in take().
    tail_.store(tail + 1, sys::release);
}

injection_ring::slots* injection_ring::make_room(slots* here, std::uint64_t tail) {
    // [IR2] acquire; pairs with the release in take(): a slot counts as free only after its reader is done,
    // and those of a lease do not count as free.
    const std::uint64_t word = word_.load(sys::acquire);
    head_seen_ = tail - ring_index::distance(end(word), tail) - count(word);
    if (tail - head_seen_ < here->capacity()) return here;
    return array_.grow(head_seen_, tail);
}

task* injection_ring::take(std::span<ring_lease> leases, std::size_t me, std::uint64_t most) noexcept {
    // [IR3] acquire: the lease that the word names, and the takes before it; pairs with the release below.
    std::uint64_t word = word_.load(sys::acquire);
    for (;;) {
        const std::uint64_t tail = tail_.load(sys::acquire); // [IR1]
        const std::uint64_t available = ring_index::distance(end(word), tail);
        if (available == 0) return nullptr;
        const bool is_mine = most != 1 && holder(word) == me; // used up, as the caller promises
        if (holder(word) != nobody && !is_mine && !EKIDEN_MUTANT(ring_leases_twice)
            && !leases[holder(word)].is_used_up(key(word)))
            return nullptr;
        slots* const here = array_.current_for_reader();
        // The slot may be overwritten while it is read; then the word has changed and the exchange fails.
        task* const oldest = here->at(end(word)).load(sys::relaxed);
        const std::uint64_t rest = std::min(available, most) - 1;
        const std::uint64_t next = packed(end(word) + 1 + rest, rest, rest != 0 ? me : nobody);
        if (rest != 0) leases[me].begin(key(next), rest, here);
        // [IR2] release: the reads of the slots before their reuse, this one's and those of the last lease;
        // pairs with the acquire in make_room(). [IR3] release. What success would acquire, the look before
        // has: an index comes once.
        if (word_.compare_exchange_strong(word, next, sys::release, sys::acquire)
            || EKIDEN_MUTANT(ring_take_ignores_others))
            return oldest;
        if (rest != 0) {
            leases[me].cancel();
            return nullptr;
        }
    }
}

task* injection_ring::steal(std::span<ring_lease> leases, std::size_t me) noexcept {
    const std::uint64_t word = word_.load(sys::acquire); // [IR3]
    if (holder(word) == nobody || holder(word) == me) return nullptr;
    ring_lease& victim = leases[holder(word)];
    if (victim.left(key(word)) == 0 || !victim.share(key(word))) return nullptr;
    return victim.take_shared(key(word), *array_.current_for_reader());
}

injection_ring::sight injection_ring::look(std::span<const ring_lease> leases,
                                           std::size_t me) const noexcept {
    const std::uint64_t word = word_.load(sys::acquire); // [IR3]
    if (holder(word) == nobody) return {.taken = end(word)};
    const ring_lease& last = leases[holder(word)];
    const std::uint64_t left = last.left(key(word));
    const std::uint64_t taken = (end(word) - left) & ring_index::mask;
    if (holder(word) == me) return {.taken = taken};
    return {.taken = taken, .left = left, .is_anothers = true, .is_shared = last.is_shared(key(word))};
}

} // namespace ekiden::inline EKIDEN_ABI
