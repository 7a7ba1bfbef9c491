#include <ekiden/future/completion.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void completion::complete(std::uint32_t references) noexcept {
    // [F1] release: the result; pairs with the acquires in is_ready() and block(). acquire: what attach()
    // wrote, and, if these are the last references, what the others did with the object.
    const std::uint32_t before = status_.fetch_add(ready - references * reference, sys::acq_rel);
    // The object is touched below only while somebody must be keeping it: a sleeper may wake up by itself and
    // end it, so only the word's address is used for waking.
    if ((before & sleeper) != 0 && !EKIDEN_MUTANT(completion_forgets_the_sleeper))
        sys::futex_wake_all(status_);
    if ((before & continued) != 0)
        then_.read()(argument_.read());
    else if (before / reference == references || EKIDEN_MUTANT(completion_ends_too_early))
        type()(this, task_request::dispose);
}

void completion::release() noexcept {
    // acquire: the last one ends the object after all that the others did with it; release: this side's part
    // of that.
    if (status_.fetch_sub(reference, sys::acq_rel) / reference == 1) type()(this, task_request::dispose);
}

bool completion::retain_unless_ended() noexcept {
    std::uint32_t status = status_.load(sys::relaxed);
    while (status >= reference) {
        if (status_.compare_exchange_weak(status, status + reference, sys::relaxed, sys::relaxed))
            return true;
    }
    return false;
}

bool completion::wait_impl(const sys::clock::time_point* deadline) noexcept {
    if (is_ready()) return true;
    thread_role* const role = thread_record::here().role;
    return role != nullptr ? role->wait_for(*this, deadline) : block(deadline);
}

bool completion::block(const sys::clock::time_point* deadline) noexcept {
    if (deadline != nullptr && sys::clock::now() >= *deadline) return is_ready(); // a poll
    const bool is_far = std::exchange(thread_record::here().has_woken_a_worker, false);
    if (!is_far && sys::spin_until([this] { return is_ready(); })) return true;
    for (std::uint32_t status = status_.load(sys::acquire);; status = status_.load(sys::acquire)) { // [F1]
        if ((status & ready) != 0) return true;
        if ((status & sleeper) == 0
            && !status_.compare_exchange_strong(status, status | sleeper, sys::relaxed, sys::relaxed)) {
            continue;
        }
        // A change of the word since then, complete() among them, ends the wait at once.
        if (deadline == nullptr)
            sys::futex_wait(status_, status | sleeper);
        else if (!sys::futex_wait_until(status_, status | sleeper, *deadline))
            return is_ready();
    }
}

bool completion::attach(continuation then, void* argument) noexcept {
    then_.write(then);
    argument_.write(argument);
    std::uint32_t status = status_.load(sys::acquire); // [F1]
    while ((status & ready) == 0) {
        // [F2] release: then_ and argument_; pairs with the acquire in complete(). [F1] on failure.
        if (status_.compare_exchange_weak(status, status | continued, sys::release, sys::acquire))
            return true;
    }
    return false;
}

bool completion::detach() noexcept {
    // relaxed: passes nothing on. The result is acquired by whoever asks for it, and the end of the
    // continuation by whoever waits for that.
    std::uint32_t status = status_.load(sys::relaxed);
    while ((status & ready) == 0) {
        if (status_.compare_exchange_weak(status, status & ~continued, sys::relaxed, sys::relaxed))
            return true;
    }
    return false;
}

} // namespace ekiden::inline EKIDEN_ABI
