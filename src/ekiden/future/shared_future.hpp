/// The receiving end of a result that several threads can get.
///
/// Part: future. Used by: programs, through future.hpp.
#pragma once

#include <ekiden/future/future_base.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

template <class R>
class future;

/// A result that any number of threads can get, like std::shared_future. future::share() creates it from a
/// future. A copy costs one atomic addition and no allocation. All copies refer to one result, which is
/// destroyed with the last of them.
///
/// It cannot be canceled: call future::cancel() before share(), or submit with a stop token. Every function
/// except valid() and the special ones throws std::future_error(no_state) if valid() is false.
///
/// Thread safety: threads may use copies of their own at the same time, and call const functions of one
/// object at the same time. A worker of a pool that waits runs other tasks meanwhile: see future.
template <class R>
class [[nodiscard]] shared_future : public detail::future_base<R> {
    using base = detail::future_base<R>;

public:
    /// Constructs a future without a state.
    shared_future() noexcept = default;
    /// Takes the state of `other`, which has none afterwards.
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

    /// Waits like wait(), and returns a reference to the result: `const R&`, R itself if that is a reference,
    /// or nothing for void. The reference is valid as long as one copy of this future exists. Throws like
    /// future::get(), at every call. valid() stays true.
    typename shared_state<R>::view get() const {
        this->wait();
        return this->state_->look();
    }
    /// Returns the result like get(), but waits like wait(blocking): the thread runs nothing meanwhile.
    typename shared_state<R>::view get(blocking_t) const {
        this->wait(blocking);
        return this->state_->look();
    }
};

} // namespace ekiden::inline EKIDEN_ABI
