/// The receiving end of a result that several threads want.
///
/// Part: future. Used by: programs.
#pragma once

#include <ekiden/future/future.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// As std::shared_future: made of a future, copied at the cost of one atomic addition, and no allocation. All
/// copies refer to one result, which ends with the last of them.
///
/// Any number of threads may use copies of their own at the same time, also to wait, workers of a pool among
/// them: those run other tasks meanwhile, or none with `blocking`, as future says. Functions that are const
/// may also be called for the same object at the same time. It cannot be cancelled: call future::cancel()
/// before share(), or submit with a stop token. Each function but valid() and the special ones throws
/// std::future_error(no_state) if valid() is false.
template <class R>
class [[nodiscard]] shared_future : public detail::future_base<R> {
    using base = detail::future_base<R>;

public:
    /// Without a state.
    shared_future() noexcept = default;
    /// The result of `other`, which has no state afterwards.
    shared_future(future<R>&& other) noexcept : base(other.leave_state()) {}
    shared_future(const shared_future& other) noexcept : base(other.state_) {
        if (this->state_ != nullptr) this->state_->retain();
    }
    shared_future(shared_future&& other) noexcept : base(other.leave_state()) {}
    shared_future& operator=(shared_future other) noexcept {
        swap(other);
        return *this;
    }
    ~shared_future() = default;

    void swap(shared_future& other) noexcept { std::swap(this->state_, other.state_); }
    friend void swap(shared_future& one, shared_future& other) noexcept { one.swap(other); }

    /// Waits as wait() does, and returns the result where it lies, valid as long as one copy exists: `const
    /// R&`, R itself if that is a reference, or nothing. Throws as future::get(), each time. valid() stays
    /// true. What R's const functions do at the same time in several threads is R's affair.
    typename shared_state<R>::view get() const {
        this->wait();
        return this->state_->look();
    }
    /// The same, but waits as wait(blocking) does: the thread runs nothing meanwhile.
    typename shared_state<R>::view get(blocking_t) const {
        this->wait(blocking);
        return this->state_->look();
    }
};

template <class R>
shared_future<R> future<R>::share() noexcept {
    return shared_future<R>(std::move(*this));
}

} // namespace ekiden::inline EKIDEN_ABI
