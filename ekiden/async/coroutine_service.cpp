#include <ekiden/async/coroutine_service.hpp>

#include <ekiden/async/coroutine_promise.hpp>
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

/// The context has dropped its tasks, and its other services what they had: whatever has not ended waits for
/// something, or is buried. All of it lies below some root, and goes with that. What is buried in a frame is
/// not looked at any more: the end of one frame destroys others, and sends home, which means buries, what
/// waits in a third one.
coroutine_service::~coroutine_service() {
    const tear_down here(this);
    {
        const std::lock_guard guard(buried_lock_);
        is_ending_ = true;
        buried_.store(nullptr, sys::relaxed);
    }
    for (shard& each : shards_) {
        while (!EKIDEN_MUTANT(context_leaves_roots)) {
            root_entry* left = nullptr;
            {
                const std::lock_guard guard(each.lock);
                left = each.first;
            }
            if (left == nullptr) break;
            left->root_.destroy_awaited();
            left->destroy_(*left); // and takes itself out
        }
    }
    end_buried();
}

coroutine_service::shard& coroutine_service::shard_of(const root_entry& entry) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&entry);
    return shards_[(address >> 6U ^ address >> 12U) % shards];
}

void coroutine_service::add(root_entry& fresh) noexcept {
    // Hints: those that are buried at this moment may wait for the next one.
    if (buried_.load(sys::relaxed) != nullptr || buried_loose_.load(sys::relaxed) != nullptr) end_buried();
    shard& own = shard_of(fresh);
    const std::lock_guard guard(own.lock);
    fresh.service_ = this;
    fresh.next_ = own.first;
    if (own.first != nullptr) own.first->prev_ = &fresh;
    own.first = &fresh;
}

void coroutine_service::remove(root_entry& ended) noexcept {
    shard& own = shard_of(ended);
    const std::lock_guard guard(own.lock);
    if (ended.next_ != nullptr) ended.next_->prev_ = ended.prev_;
    (ended.prev_ != nullptr ? ended.prev_->next_ : own.first) = ended.next_;
    ended.service_ = nullptr;
}

namespace {

void push(sys::atomic<task*>& list, task& buried) noexcept {
    buried.queued_at = reinterpret_cast<std::uintptr_t>(list.load(sys::relaxed));
    list.store(&buried, sys::relaxed);
}

} // namespace

void coroutine_service::bury(task& refused) noexcept {
    const std::lock_guard guard(buried_lock_);
    if (!is_ending_) push(buried_, refused);
}

void coroutine_service::bury_loose(task& refused) noexcept {
    const std::lock_guard guard(buried_lock_);
    push(buried_loose_, refused);
}

task* coroutine_service::take_buried() noexcept {
    const std::lock_guard guard(buried_lock_);
    for (list* const from : {&buried_, &buried_loose_}) {
        task* const newest = from->load(sys::relaxed);
        if (newest == nullptr) continue;
        from->store(reinterpret_cast<task*>(static_cast<std::uintptr_t>(newest->queued_at)), sys::relaxed);
        return newest;
    }
    return nullptr;
}

void coroutine_service::end_buried() noexcept {
    while (task* const dead = take_buried()) dead->abandon();
}

/// A loop has tasks yet when it shuts its services down: coroutines that are queued are not destroyed here.
void coroutine_service::shutdown() noexcept { end_buried(); }

} // namespace ekiden::inline EKIDEN_ABI::detail
