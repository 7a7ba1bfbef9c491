#include <ekiden/async/async_scope.hpp>

#include <ekiden/async/coroutine_service.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>

#include <mutex>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI {

async_scope::async_scope(const environment& outer)
    : state_(recycler::create<detail::scope_state>(outer, outer.stop)) {}

async_scope::async_scope(const any_executor& where, stop_state* parent, int)
    : state_(recycler::create<detail::scope_state>(environment{.executor = where}, parent)) {}

namespace detail {

static_assert(sizeof(scope_state) <= recycler::max_node);

// ---- children

scope_ticket::~scope_ticket() {
    if (scope_ != nullptr) scope_->child_ended(*this);
}

scope_state::scope_state(const environment& outer, stop_state* parent) : env_(outer), stop_(parent) {
    env_.stop = &stop_;
}

std::size_t scope_state::size() noexcept {
    const std::lock_guard guard(lock_);
    return count_;
}

bool scope_state::admit() noexcept {
    const std::lock_guard guard(lock_);
    if (is_closed_ && !EKIDEN_MUTANT(scope_admits_after_close)) return false;
    ++count_;
    is_joined_ = false;
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
    // A copy: the child may have ended, and the scope with it, before this returns.
    const any_executor where = env_.executor;
    fresh.begin(where, spawn_options().name(env_.name));
}

/// The last one lets those go on that join; then the scope may be gone.
void scope_state::child_ended(scope_ticket& ticket) noexcept {
    join_awaiter* joining = nullptr;
    bool is_last = false;
    {
        const std::lock_guard guard(lock_);
        if (ticket.promise_ != nullptr) unlink(ticket);
        if (--count_ != 0) return;
        if (tear_down::here().is_here) is_joined_ = true; // by the end of its context
        joining = std::exchange(joining_, nullptr);
        if (joining != nullptr) is_closed_ = is_joined_ = true;
        is_last = is_alone_;
        for (join_awaiter* one = joining; one != nullptr; one = one->next_) one->is_waiting_ = false;
    }
    while (joining != nullptr) {
        join_awaiter& one = *joining;
        joining = one.next_; // before the coroutine, which may end the awaiter
        one.home_.resume();
    }
    if (is_last) recycler::destroy(this);
}

void scope_state::failed() noexcept {
    std::exception_ptr error = std::current_exception();
    if (is_of_stop(error)
        && (stop_.stop_requested()
            || (env_.deadline != sys::clock::time_point::max() && now_here<sys::clock>() >= env_.deadline)))
        return;
    {
        const std::lock_guard guard(lock_);
        if (error_ == nullptr) error_ = std::move(error);
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
    if (how.ending != nullptr) destroy_children(*how.ending);
    if (how.is_here) (void)stop_.request_stop(); // those that are left
    std::unique_lock guard(lock_);
    if (!how.is_here) {
        sys::expects(count_ == 0, "async_scope: destroyed while children run; co_await join() first");
        sys::expects(is_joined_, "async_scope: destroyed without a join(); co_await join() first");
    }
    is_alone_ = true;
    const bool is_last = count_ == 0;
    guard.unlock();
    if (is_last) recycler::destroy(this);
}

/// No thread runs coroutines of the context any more: all of it that have not ended wait.
void scope_state::destroy_children(const coroutine_service& ending) noexcept {
    for (;;) {
        scope_ticket* one = nullptr;
        {
            const std::lock_guard guard(lock_);
            one = first_;
            while (one != nullptr && one->promise_->env().keeper != &ending) one = one->next_;
        }
        if (one == nullptr) return;
        one->promise_->destroy_awaited();
        one->promise_->handle().destroy(); // takes itself out
    }
}

// ---- join

bool join_awaiter::begin() noexcept {
    const std::lock_guard guard(scope_.lock_);
    if (scope_.count_ == 0) {
        scope_.is_closed_ = scope_.is_joined_ = true;
        return false;
    }
    next_ = scope_.joining_;
    scope_.joining_ = this;
    is_waiting_ = true;
    return true;
}

void join_awaiter::await_resume() {
    std::exception_ptr error;
    {
        const std::lock_guard guard(scope_.lock_);
        error = std::exchange(scope_.error_, nullptr);
    }
    if (error != nullptr) std::rethrow_exception(std::move(error));
}

join_awaiter::~join_awaiter() {
    if (!is_waiting_) return; // nearly always: it has gone on
    const std::lock_guard guard(scope_.lock_);
    join_awaiter** at = &scope_.joining_;
    while (*at != nullptr && *at != this) at = &(*at)->next_;
    if (*at == this) *at = next_;
}

void join_awaiter::refuse_child(coroutine_promise& asking) const {
    for (coroutine_promise* above = &asking; above != nullptr;) {
        if (above->link != nullptr) {
            above = above->link->parent;
        } else if (group* const members = group_member::promise_type::group_of(*above)) {
            above = members->parent();
        } else {
            if (above->env().stop != &scope_.stop_) return;
            throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                    "ekiden: async_scope: join() is awaited by a child of the scope, which "
                                    "would wait for itself");
        }
    }
}

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
