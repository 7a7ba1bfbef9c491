#include <ekiden/async/detail/burials.hpp>

#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A call of end_all() on the stack of the calling thread. These calls may be nested.
class burials::ending {
public:
    explicit ending(const burials& of) noexcept : of_(of), outer_(std::exchange(innermost(), this)) {}
    ~ending() { innermost() = outer_; }
    ending(const ending&) = delete;
    ending& operator=(const ending&) = delete;

    [[nodiscard]] static bool is_here(const burials& of) noexcept {
        for (const ending* each = innermost(); each != nullptr; each = each->outer_)
            if (&each->of_ == &of) return true;
        return false;
    }

private:
    struct of_thread {
        const ending* innermost;
    };
    static const ending*& innermost() noexcept { return sys::local<of_thread>().innermost; }

    const burials& of_;
    const ending* const outer_;
};

void burials::add(task& refused) noexcept {
    if (is_left_behind()) return; // the coroutine is lost
    const std::lock_guard guard(lock_);
    if (is_closed_) return;
    refused.queued_at = reinterpret_cast<std::uintptr_t>(newest_.load(sys::relaxed));
    newest_.store(&refused, sys::relaxed);
    for (root_wait* each = waits_; each != nullptr && !EKIDEN_MUTANT(burial_wakes_no_wait);
         each = each->next_)
        each->tell();
}

void burials::end_all() noexcept {
    if (is_left_behind() || posting_scope::is_here()) return;
    const ending here(*this);
    while (task* const dead = take()) {
        dead->abandon();
        finish_one();
    }
}

task* burials::take() noexcept {
    const std::lock_guard guard(lock_);
    task* const newest = newest_.load(sys::relaxed);
    if (newest == nullptr) return nullptr;
    newest_.store(reinterpret_cast<task*>(static_cast<std::uintptr_t>(newest->queued_at)), sys::relaxed);
    at_work_.store(at_work_.load(sys::relaxed) + 1, sys::relaxed);
    return newest;
}

void burials::finish_one() noexcept {
    const std::lock_guard guard(lock_);
    const std::uint32_t left = at_work_.load(sys::relaxed) - 1;
    at_work_.store(left, sys::relaxed);
    if (left == 0 && is_closed_) sys::futex_wake_all(at_work_);
}

void burials::close() noexcept {
    // This thread would wait for itself, and the root would report the end of its work to a destroyed
    // context.
    sys::expects(
        !ending::is_here(*this),
        "execution_context: destroyed by the destructor of a coroutine that was spawned on it; such a "
        "coroutine must not be the last owner of its context");
    lock_.lock();
    is_closed_ = true;
    newest_.store(nullptr, sys::relaxed);
    // Relaxed is enough, because the lock orders the destruction of coroutines by other threads before the
    // destruction by this thread.
    for (std::uint32_t left = 0;
         (left = at_work_.load(sys::relaxed)) != 0 && !EKIDEN_MUTANT(burials_close_at_once);) {
        lock_.unlock();
        sys::futex_wait(at_work_, left);
        lock_.lock();
    }
    lock_.unlock();
}

root_wait::root_wait(std::shared_ptr<burials> of) noexcept : buried_(std::move(of)) {
    const std::lock_guard guard(buried_->lock_);
    next_ = buried_->waits_;
    if (next_ != nullptr) next_->prev_ = this;
    buried_->waits_ = this;
}

root_wait::~root_wait() {
    const std::lock_guard guard(buried_->lock_); // waits for a thread that is still in tell()
    if (buried_->is_left_behind()) return;       // the stacks with the other waits do not exist in the child
    if (next_ != nullptr) next_->prev_ = prev_;
    (prev_ != nullptr ? prev_->next_ : buried_->waits_) = next_;
}

root_wait::root_end::~root_end() {
    if (buried_ == nullptr) return;
    const std::lock_guard guard(buried_->lock_);
    told_.is_over_ = true;
    told_.tell();
}

void root_wait::tell() noexcept {
    if (!std::exchange(is_told_, true)) news_->complete(1);
}

bool root_wait::begin_round() noexcept {
    const std::lock_guard guard(buried_->lock_);
    if (is_over_) return false;
    if (std::exchange(is_told_, false)) news_.emplace();
    return true;
}

void root_wait::wait() noexcept {
    while (begin_round()) {
        buried_->end_all(); // every later burial calls tell()
        (void)news_->wait();
    }
}

const char* root_wait::news::answer(task*, task_request request) {
    return request == task_request::describe ? type_description<news>() : nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI::detail
