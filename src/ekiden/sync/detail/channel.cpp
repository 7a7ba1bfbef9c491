#include <ekiden/sync/channel.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI::detail {
namespace {

// Returns the state of a rendezvous in which the waiters of the mask `queued` wait.
std::uint32_t paired(state_value value, std::uint64_t queued) noexcept {
    using base = channel_base;
    if (value.state == base::wanted || value.state == base::closed) return value.state;
    const bool has_pops = (queued & (1U << base::pairing)) != 0;
    const bool has_pushes = (queued & (1U << base::wanted)) != 0;
    if (has_pops && has_pushes) return base::pairing;
    return has_pops ? base::pops_wait : has_pushes ? base::pushes_wait : base::open;
}

} // namespace

constinit const state_rules channel_base::slot_rules{.serves_all = true, .name = "a channel"};
constinit const state_rules channel_base::rendezvous_rules{
    .settle = &paired, .serves_all = true, .yields = channel_base::polls, .name = "a channel"};

void channel_base::serve(std::uint32_t bit) noexcept {
    // If another thread has cleared the bit, that thread serves the waiters. Relaxed is enough, because each
    // later mark() is made inside the lock, after serve_waiters(), and is sequentially consistent.
    if ((marks_.fetch_and(~bit, sys::relaxed) & bit) == 0) return;
    serve_waiters(bit == pop_waits ? pops_wait : pushes_wait);
}

void channel_base::serve_waiters(std::uint32_t waiting) noexcept {
    lock_.run(state_lock::any_state, [waiting](state_value now) noexcept {
        return now.state == waiting ? state_value{open, 0} : now;
    });
}

bool channel_base::should_pause() noexcept {
    constexpr std::size_t least_capacity = 32;
    if (capacity_ < least_capacity) return false;
    const std::uint32_t now = unpaused_.load(sys::relaxed);
    if ((now & 0xffff) == 0) return true;
    unpaused_.store(now - 1, sys::relaxed);
    return false;
}

void channel_base::record_pause(bool has_helped) noexcept {
    constexpr std::uint32_t most = 7;
    const std::uint32_t now = unpaused_.load(sys::relaxed);
    const std::uint32_t next = has_helped ? 0 : std::min(2 * (now >> 16) + 1, most);
    const std::uint32_t word = next << 16 | next;
    if (word != now) unpaused_.store(word, sys::relaxed);
}

} // namespace ekiden::inline EKIDEN_ABI::detail
