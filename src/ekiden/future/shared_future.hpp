/// The receiving end of a result that several threads can get.
///
/// Part: future. Used by: programs. The header future.hpp includes this header.
#pragma once

#include <ekiden/future/future_base.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

template <class R>
class future;

/// A result that any number of threads can get, like std::shared_future. The function future::share() creates
/// a shared_future from a future. A copy costs one atomic addition and no allocation. All copies of a
/// shared_future refer to one result. The destructor of the last copy destroys the result.
///
/// A shared_future cannot cancel its task. Call future::cancel() before share(), or submit the task with a
/// stop token. If valid() is false, every function throws std::future_error(no_state), except valid(), swap()
/// and the special member functions.
///
/// Thread safety: several threads may use different copies at the same time. Several threads may also call
/// the const functions of one object at the same time. While a worker of a pool waits, it runs other tasks,
/// as the comment of `future` describes.
template <class R>
class [[nodiscard]] shared_future : public detail::future_base<R> {
    using base = detail::future_base<R>;

public:
    /// Constructs a future without a state.
    shared_future() noexcept = default;
    /// Takes over the state of `other`. Afterwards `other` has no state.
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

    /// Waits like wait(), and returns the result as a `const R&`. The return type is R if R is a reference,
    /// and void if R is void. The returned reference is valid while a copy of this future exists. Throws the
    /// same exceptions as future::get(). If the result is an exception, every call throws. Afterwards valid()
    /// is still true.
    typename shared_state<R>::view get() const {
        this->wait();
        return this->state_->look();
    }
    /// Returns the result like get(), but waits like wait(blocking). The thread runs no other task meanwhile.
    typename shared_state<R>::view get(blocking_t) const {
        this->wait(blocking);
        return this->state_->look();
    }
};

} // namespace ekiden::inline EKIDEN_ABI
