#include <ekiden/sync/channel.hpp>

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
    // [CQ3] [CQ4] Sequentially consistent. If another thread has cleared the bit, that thread serves the
    // waiters.
    if ((marks_.fetch_and(~bit, sys::seq_cst) & bit) == 0) return;
    const std::uint32_t waiting = bit == pop_waits ? pops_wait : pushes_wait;
    lock_.run(state_lock::any_state, [waiting](state_value now) noexcept {
        return now.state == waiting ? state_value{open, 0} : now;
    });
}

} // namespace ekiden::inline EKIDEN_ABI::detail
