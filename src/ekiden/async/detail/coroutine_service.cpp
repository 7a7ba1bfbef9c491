#include <ekiden/async/detail/coroutine_service.hpp>

#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

tear_down::tear_down(const coroutine_service* ending) noexcept : outer_(here()) {
    sys::local<record>() = {true, outer_.ending != nullptr ? outer_.ending : ending};
}
tear_down::~tear_down() { sys::local<record>() = outer_; }
tear_down::record tear_down::here() noexcept { return sys::local<record>(); }

root_entry::~root_entry() {
    if (service_ != nullptr && !EKIDEN_MUTANT(root_stays_listed)) service_->remove(*this);
}

/// The context and its other services have dropped their tasks. So every remaining coroutine waits for
/// something, or is buried. Each of these coroutines has a root, and is destroyed with the root. The list of
/// buried coroutines is closed first, because the destruction of one frame may destroy other frames, and may
/// bury more coroutines.
void coroutine_service::clear() noexcept {
    const tear_down here(this);
    buried_->close();
    for (shard& each : shards_) {
        while (!EKIDEN_MUTANT(context_leaves_roots)) {
            root_entry* left = nullptr;
            {
                const std::lock_guard guard(each.lock);
                left = each.first;
            }
            if (left == nullptr) break;
            // This destroys the frame of the root with the entry, and all coroutines that the root awaits.
            left->root_.type()(&left->root_, task_request::dispose);
        }
    }
}

coroutine_service::shard& coroutine_service::shard_of(const root_entry& entry) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&entry);
    return shards_[(address >> 6U ^ address >> 12U) % shards];
}

void coroutine_service::add(root_entry& fresh) noexcept {
    // is_empty() is only a hint. If another thread is burying a coroutine at the same time, the next call of
    // add() may destroy that coroutine.
    if (!buried_->is_empty()) end_buried();
    shard& own = shard_of(fresh);
    const std::lock_guard guard(own.lock);
    fresh.service_ = this;
    fresh.next_ = own.first;
    if (own.first != nullptr) own.first->prev_ = &fresh;
    own.first = &fresh;
}

void coroutine_service::remove(root_entry& ended) noexcept {
    if (is_left_behind()) return; // nothing reads the list in the child
    shard& own = shard_of(ended);
    const std::lock_guard guard(own.lock);
    if (ended.next_ != nullptr) ended.next_->prev_ = ended.prev_;
    (ended.prev_ != nullptr ? ended.prev_->next_ : own.first) = ended.next_;
    ended.service_ = nullptr;
}

/// Destroys only buried coroutines, and no queued coroutines, because a loop still has tasks when it shuts
/// down its services.
void coroutine_service::shutdown() noexcept { end_buried(); }

} // namespace ekiden::inline EKIDEN_ABI::detail
