#include <ekiden/async/async_scope.hpp>

#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>

#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

async_scope::async_scope(const environment& outer) : state_(recycler::create<detail::scope_state>(outer)) {}

namespace detail {

static_assert(sizeof(scope_state) <= recycler::max_node);

// ---- children

scope_ticket::~scope_ticket() {
    if (scope_ != nullptr) scope_->child_ended(*this);
}

scope_state::scope_state(const environment& outer) : env_(outer), stop_(outer.stop) { env_.stop = &stop_; }

std::size_t scope_state::size() noexcept {
    const std::lock_guard guard(lock_);
    return count_;
}

bool scope_state::admit() noexcept {
    const std::lock_guard guard(lock_);
    if (is_closed_ && !EKIDEN_MUTANT(scope_admits_after_close)) return false;
    ++count_;
    return true;
}

void scope_state::begin(scope_ticket& ticket, root_coroutine::promise_type& fresh) {
    {
        const std::lock_guard guard(lock_);
        ticket.promise_ = &fresh;
        ticket.next_ = first_;
        if (first_ != nullptr) first_->prev_ = &ticket;
        first_ = &ticket;
    }
    fresh.given_environment().stop = &stop_;
    fresh.given_environment().deadline = env_.deadline;
    fresh.given_environment().priority = env_.priority;
    fresh.given_environment().turns = env_.turns;
    // A copy is needed, because the child may end and the scope may be destroyed before begin() returns.
    const any_executor where = env_.executor;
    fresh.begin(where, spawn_options().name(env_.name));
}

/// Called at the end of a child.
void scope_state::child_ended(scope_ticket& ticket) noexcept {
    // A context that is being destroyed also destroys the children that run on it. The end of such a child is
    // not an error of the scope.
    if (ticket.promise_ != nullptr && !ticket.is_settled_ && tear_down::here().ending == nullptr)
        failed(canceled_error("an executor has dropped a child of the scope"));
    std::unique_lock guard(lock_);
    if (ticket.promise_ != nullptr) unlink(ticket);
    // If spawn() has thrown, the child did not run. Then the owner may leave without a wait().
    if (ticket.is_settled_) is_waited_for_ = false;
    uncount(std::move(guard));
}

void scope_state::end_guest() noexcept {
    std::unique_lock guard(lock_);
    is_waited_for_ = false;
    uncount(std::move(guard));
}

/// Subtracts one child. The last child resumes the waiting coroutines, which may destroy the scope.
void scope_state::uncount(std::unique_lock<sys::slow_lock> guard) noexcept {
    if (--count_ != 0) return;
    if (tear_down::here().is_here) is_waited_for_ = true; // this destruction counts as a wait()
    scope_wait_awaiter* waiting = std::exchange(waiting_, nullptr);
    if (waiting == nullptr) return end_of_use(std::move(guard));
    is_closed_ = is_waited_for_ = true;
    guard.unlock(); // the scope exists until every waiting coroutine has resumed
    while (waiting != nullptr) {
        scope_wait_awaiter& one = *waiting;
        waiting = one.next_; // read before resume(), which may destroy the awaiter
        one.home_.resume();
    }
}

/// Called when a child, a wait() or the scope itself no longer uses the state. The last caller destroys the
/// state.
void scope_state::end_of_use(std::unique_lock<sys::slow_lock> guard) noexcept {
    const bool is_last =
        is_alone_ && count_ == 0 && (waiters_ == 0 || EKIDEN_MUTANT(scope_goes_with_its_first_wait));
    guard.unlock();
    if (is_last) recycler::destroy(this);
}

void scope_state::failed(std::exception_ptr error) noexcept {
    if (is_to_stop(stop_, env_) && is_of_stop(error)) return;
    {
        const std::lock_guard guard(lock_);
        if (error_ == nullptr)
            error_ = std::move(error);
        else
            others_.add(std::move(error));
    }
    (void)stop_.request_stop();
}

void scope_state::close() noexcept {
    const std::lock_guard guard(lock_);
    is_closed_ = true;
}

void scope_state::unlink(scope_ticket& ticket) noexcept {
    if (ticket.next_ != nullptr) ticket.next_->prev_ = ticket.prev_;
    (ticket.prev_ != nullptr ? ticket.prev_->next_ : first_) = ticket.next_;
}

// ---- the scope's end

void scope_state::leave() noexcept {
    const tear_down::record how = tear_down::here();
    if (how.ending != nullptr) destroy_children(how.ending->context());
    if (how.is_here) {
        (void)stop_.request_stop(); // stops the children that are left
        stop_.leave_parent();       // the parent may be destroyed before these children
    }
    std::unique_lock guard(lock_);
    if (!how.is_here) {
        sys::expects(count_ == 0, "async_scope: destroyed while children run; co_await wait() first");
        sys::expects(is_waited_for_, "async_scope: destroyed without a wait(); co_await wait() first");
    }
    is_alone_ = true;
    end_of_use(std::move(guard));
}

/// Destroys the children if they were spawned on `ending`. No thread runs coroutines of this context any
/// more, so all these children are suspended. All children are spawned on the same context. Children of
/// another context may run, so this function must not access them.
void scope_state::destroy_children(const execution_context& ending) noexcept {
    for (;;) {
        scope_ticket* one = nullptr;
        {
            const std::lock_guard guard(lock_);
            one = first_;
        }
        if (one == nullptr || &env_.executor.context() != &ending) return;
        one->promise_->end_frame(); // also removes the ticket from the list
    }
}

// ---- wait

bool scope_wait_awaiter::begin() noexcept {
    const std::lock_guard guard(scope_.lock_);
    ++scope_.waiters_;
    keeps_scope_ = true;
    if (scope_.count_ == 0) {
        scope_.is_closed_ = scope_.is_waited_for_ = true;
        return false;
    }
    next_ = scope_.waiting_;
    scope_.waiting_ = this;
    return true;
}

void scope_wait_awaiter::await_resume() {
    std::unique_lock guard(scope_.lock_);
    std::exception_ptr error = std::exchange(scope_.error_, nullptr);
    std::vector<std::exception_ptr> others = scope_.others_.take();
    keeps_scope_ = false;
    --scope_.waiters_;
    scope_.end_of_use(std::move(guard));
    replace_suppressed(std::move(others)); // must not run under the lock, because it destroys exceptions
    if (error != nullptr) std::rethrow_exception(std::move(error));
}

scope_wait_awaiter::~scope_wait_awaiter() {
    if (!keeps_scope_) return; // the coroutine has resumed, or has not begun to wait
    std::unique_lock guard(scope_.lock_);
    scope_wait_awaiter** at = &scope_.waiting_;
    while (*at != nullptr && *at != this) at = &(*at)->next_;
    if (*at == this) *at = next_;
    --scope_.waiters_;
    scope_.end_of_use(std::move(guard));
}

void scope_wait_awaiter::refuse_child(coroutine_promise& asking) const {
    for (coroutine_promise* above = &asking; above != nullptr;) {
        if (above->link != nullptr) {
            above = above->link->parent;
        } else if (group* const members = group_member::promise_type::group_of(*above)) {
            above = members->parent();
        } else {
            if (above->env().stop != &scope_.stop_) return;
            throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                    "ekiden: async_scope: wait() is awaited by a child of the scope, which "
                                    "would wait for itself");
        }
    }
}

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
