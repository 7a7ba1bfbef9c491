#include <ekiden/timer/detail/timer_wheel.hpp>

#include <algorithm>
#include <bit>

namespace ekiden::inline EKIDEN_ABI {

timer_wheel::timer_wheel(std::uint64_t now) noexcept : now_(now) {
    moving_.next = moving_.prev = &moving_;
    for (auto& level : slots_) {
        for (link& slot : level) slot.next = slot.prev = &slot;
    }
}

void timer_wheel::schedule(node& fresh, std::uint64_t deadline) noexcept {
    fresh.deadline_ = deadline;
    put(fresh);
}

void timer_wheel::cancel(node& scheduled) noexcept {
    remove(scheduled); // first() clears the bit of the slot later
}

timer_wheel::node* timer_wheel::pop(std::uint64_t until) noexcept {
    if (!move_down()) return nullptr;
    for (;;) {
        const place at = first();
        if (at.level == levels) break;
        const std::uint64_t start = start_of(at);
        if (start > until) break;
        link& slot = slots_[at.level][at.slot];
        node& oldest = node_of(*slot.next);
        // A node that is alone in its slot need not move to lower levels, because no other node is due
        // earlier.
        const bool is_alone = oldest.next == &slot && oldest.deadline_ <= until;
        if (at.level == 0 || is_alone) {
            now_ = std::max(now_, at.level == 0 ? start : oldest.deadline_);
            remove(oldest);
            return &oldest;
        }
        now_ = start;
        splice(slot, moving_);
        if (!move_down()) return nullptr;
    }
    now_ = std::max(now_, until);
    return nullptr;
}

std::uint64_t timer_wheel::next() noexcept {
    if (is_busy()) return now_;
    const place at = first();
    if (at.level == levels) return never;
    const std::uint64_t start = start_of(at);
    if (at.level == 0) return start;
    link& slot = slots_[at.level][at.slot];
    std::uint64_t earliest = never;
    unsigned seen = 0;
    for (link* one = slot.next; one != &slot; one = one->next) {
        if (++seen > most_looked_at) return start;
        earliest = std::min(earliest, node_of(*one).deadline_);
    }
    return earliest;
}

void timer_wheel::restart(std::uint64_t now) noexcept {
    for (place at = first(); at.level != levels; at = first()) splice(slots_[at.level][at.slot], moving_);
    now_ = now;
}

timer_wheel::node* timer_wheel::take_any() noexcept {
    link* list = &moving_;
    if (!is_busy()) {
        const place at = first();
        if (at.level == levels) return nullptr;
        list = &slots_[at.level][at.slot];
    }
    node& taken = node_of(*list->next);
    remove(taken);
    return &taken;
}

timer_wheel::place timer_wheel::first() noexcept {
    while (used_levels_ != 0) {
        const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
        std::uint64_t& mask = used_slots_[level];
        while (mask != 0) {
            const auto slot = static_cast<unsigned>(std::countr_zero(mask));
            if (slots_[level][slot].next != &slots_[level][slot]) return {level, slot};
            mask &= mask - 1; // the slot has become empty
        }
        used_levels_ &= used_levels_ - 1;
    }
    return {levels, 0};
}

/// Returns the start time of a slot. The digits above the level are equal to the digits of now_. If they were
/// different, the nodes of the slot would be on a higher level.
std::uint64_t timer_wheel::start_of(place at) const noexcept {
    const unsigned shift = digit * at.level;
    const unsigned above = shift + digit;
    const std::uint64_t upper = above < 64 ? now_ >> above << above : 0;
    return upper | std::uint64_t{at.slot} << shift;
}

void timer_wheel::put(node& moved) noexcept {
    const std::uint64_t at = std::max(moved.deadline_, now_);
    const std::uint64_t differs = at ^ now_;
    const unsigned level = differs == 0 ? 0 : (63 - static_cast<unsigned>(std::countl_zero(differs))) / digit;
    const auto slot = static_cast<unsigned>(at >> (digit * level)) % slots;
    used_slots_[level] |= std::uint64_t{1} << slot;
    used_levels_ |= 1U << level;
    append(slots_[level][slot], moved);
}

/// Moves nodes to lower levels. Returns false if more nodes remain to be moved.
bool timer_wheel::move_down() noexcept {
    for (unsigned moved = 0; is_busy(); ++moved) {
        if (moved == most_moved) return false;
        node& one = node_of(*moving_.next);
        remove(one);
        put(one);
    }
    return true;
}

void timer_wheel::append(link& list, link& fresh) noexcept {
    fresh.next = &list;
    fresh.prev = list.prev;
    list.prev->next = &fresh;
    list.prev = &fresh;
}

void timer_wheel::remove(link& one) noexcept {
    one.prev->next = one.next;
    one.next->prev = one.prev;
    one.next = nullptr;
}

/// Appends all nodes of `from` to `to`. `from` must not be empty.
void timer_wheel::splice(link& from, link& to) noexcept {
    from.next->prev = to.prev;
    to.prev->next = from.next;
    from.prev->next = &to;
    to.prev = from.prev;
    from.next = from.prev = &from;
}

} // namespace ekiden::inline EKIDEN_ABI
