#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/system_executor.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/stack.hpp>
#include <ekiden/sys/thread.hpp>

#include <new>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

namespace {

/// The thread-local data of a thread that runs coroutines. A compiler may keep the address of thread-local
/// data across a suspension. So a coroutine, or a function that is inlined into a coroutine, must not use
/// this record.
struct resume_record {
    const char* base = nullptr;     ///< the stack address of the innermost resume loop, or null
    std::coroutine_handle<> next;   ///< the coroutine that the loop resumes next, or null
    std::uint32_t left = 0;         ///< number of awaits until the clock is read again
    std::uint64_t slice_began = 0;  ///< time in ns of the first reading of the clock in this slice, or 0
    const void* foreign = nullptr;  ///< the await_link for which another library began this loop, or null
    bool foreign_has_ended = false; ///< true if the coroutine that `foreign` awaits has ended
};

/// The number of bytes of stack above the resume loop up to which a coroutine continues directly with another
/// coroutine. On a deeper stack, the loop resumes the other coroutine.
constexpr std::size_t direct_range = 16 * 1024;
/// The number of awaits between two readings of the clock.
constexpr std::uint32_t clock_every = 32;
/// The time slice in nanoseconds. After this time, a coroutine is posted again, so that other tasks of its
/// executor can run.
constexpr std::uint64_t slice_ns = 100'000;

/// Calls `accept()`, which passes a coroutine to an executor.
template <class Accept>
void post_by(Accept accept) noexcept {
    const posting_scope here;
    try {
        accept();
    } catch (...) { // the executor has abandoned the coroutine
    }
}

/// Posts a coroutine to its executor.
void post_home(task& going, const any_executor& home, task_order order) noexcept {
    post_by([&] { accept_task(home, &going, order); });
}

/// Called if an executor has refused a coroutine. Posts the coroutine to the context of its root. The context
/// runs `refused`, which destroys the coroutine. If this context refuses the coroutine as well, the coroutine
/// is added to the context's list of buried coroutines.
void end_at_root(task& refused, const environment& env, bool is_refused_by_root) noexcept {
    coroutine_service* const keeper = environment_access::keeper(env);
    // If there is no keeper, the coroutine has no root of this library, and another library owns its frame.
    if (keeper == nullptr) return;
    if (!is_refused_by_root && !EKIDEN_MUTANT(suspension_is_only_buried))
        post_by([&refused, keeper] { keeper->end_soon(refused); });
    else if (!EKIDEN_MUTANT(suspension_is_not_buried))
        keeper->bury(refused);
}

/// Returns whether a coroutine that is being abandoned must not be destroyed on this stack.
bool is_refused_here() noexcept {
    return posting_scope::is_here() && !EKIDEN_MUTANT(suspension_destroys_when_refused);
}

/// Runs coroutines like run_coroutines(). `foreign` is the await of a coroutine of another library, or null.
/// Returns whether the awaited coroutine has ended.
bool run_loop(std::coroutine_handle<> first, const void* foreign) noexcept {
    resume_record& here = sys::local<resume_record>();
    const resume_record outer = here;
    here = {};
    here.base = reinterpret_cast<const char*>(sys::stack_address());
    here.left = clock_every;
    here.foreign = foreign;
    thread_record& record = thread_record::here();
    const bool ran_coroutines = std::exchange(record.runs_coroutines, true);
    const bool was_posting = std::exchange(record.is_posting, false);
    first.resume();
    while (here.next) std::exchange(here.next, nullptr).resume();
    const bool has_ended = here.foreign_has_ended;
    here = outer;
    record.runs_coroutines = ran_coroutines;
    record.is_posting = was_posting;
    return has_ended;
}

/// Returns whether the time slice is over. Called every clock_every awaits.
EKIDEN_NOINLINE bool read_clock(resume_record& here) noexcept {
    here.left = clock_every;
    const std::uint64_t now = now_here_ns();
    if (here.slice_began == 0) here.slice_began = now;
    if (now - here.slice_began < slice_ns) return false;
    here.slice_began = 0;
    return true;
}

/// Returns `to` if the stack is near the resume loop. Otherwise passes `to` to the loop. This function must
/// be inlined, so that sys::stack_address() is in the frame of the function that a coroutine has called.
EKIDEN_ALWAYS_INLINE inline std::coroutine_handle<> go_to(std::coroutine_handle<> to,
                                                          resume_record& here) noexcept {
    const auto* const top = reinterpret_cast<const char*>(sys::stack_address());
    if (static_cast<std::size_t>(here.base - top) < direct_range) [[likely]]
        return to;
    here.next = to;
    return std::noop_coroutine();
}

/// Continues with `to`, or posts `to` if the time slice is over. Called every clock_every awaits.
EKIDEN_NOINLINE std::coroutine_handle<> read_clock_and_go_to(coroutine_promise& to) noexcept {
    resume_record& here = sys::local<resume_record>();
    if (read_clock(here) && &to.env() != &default_environment()) {
        to.post(task_order::deferred);
        return std::noop_coroutine();
    }
    return go_to(to.handle(), here);
}

/// Called at the end of a coroutine if the awaiting coroutine has another environment, or belongs to another
/// library.
EKIDEN_NOINLINE std::coroutine_handle<> end_elsewhere(coroutine_promise& ended) noexcept {
    const await_link& link = *ended.link;
    resume_record& here = sys::local<resume_record>();
    if (coroutine_promise* const parent = link.parent) {
        if (!(parent->env().executor == ended.env().executor)) {
            parent->post(task_order::usual);
            return std::noop_coroutine();
        }
    } else if (here.foreign == &link) {
        here.foreign_has_ended = true; // the await_suspend() is still active on this stack
        return std::noop_coroutine();
    }
    return go_to(link.waiting, here);
}

} // namespace

EKIDEN_NOINLINE posting_scope::posting_scope(bool is_posting) noexcept
    : outer_(std::exchange(thread_record::here().is_posting, is_posting)) {}
EKIDEN_NOINLINE posting_scope::~posting_scope() { thread_record::here().is_posting = outer_; }
EKIDEN_NOINLINE bool posting_scope::is_here() noexcept { return thread_record::here().is_posting; }

EKIDEN_NOINLINE void run_coroutines(std::coroutine_handle<> first) noexcept {
    (void)run_loop(first, nullptr);
}

EKIDEN_NOINLINE bool run_for_foreign(const await_link& link) noexcept { return run_loop(link.child, &link); }

// The next three functions are called for each await. Their rare paths are separate functions, so that the
// common path saves no registers.

EKIDEN_NOINLINE std::coroutine_handle<> transfer(std::coroutine_handle<> to) noexcept {
    return go_to(to, sys::local<resume_record>());
}

EKIDEN_NOINLINE std::coroutine_handle<> transfer_counted(coroutine_promise& to) noexcept {
    resume_record& here = sys::local<resume_record>();
    if (--here.left == 0) [[unlikely]]
        return read_clock_and_go_to(to);
    return go_to(to.handle(), here);
}

EKIDEN_NOINLINE bool is_slice_over() noexcept {
    resume_record& here = sys::local<resume_record>();
    return --here.left == 0 && read_clock(here);
}

EKIDEN_NOINLINE std::coroutine_handle<> end_of(coroutine_promise& ended) noexcept {
    const await_link& link = *ended.link;
    coroutine_promise* const parent = link.parent;
    if (parent == nullptr) [[unlikely]]
        return end_elsewhere(ended);
    parent->child = nullptr;
    // This case is rare, because a coroutine usually inherits the environment of its parent.
    if (&parent->env() != &ended.env()) [[unlikely]]
        return end_elsewhere(ended);
    return go_to(link.waiting, sys::local<resume_record>());
}

} // namespace detail

void coroutine_promise::post(task_order order) noexcept { detail::post_home(*this, env_->executor, order); }

void suspension::resume(task_order order) noexcept {
    // The caller may hold a lock, or may have to tell other waiters. So a full lane must not let it wait.
    bool& is_resuming = thread_record::here().is_resuming;
    const bool outer = std::exchange(is_resuming, true);
    detail::post_home(*this, env().executor, order);
    is_resuming = outer;
}

void suspension::resume_at(const any_executor& where, task_order order) noexcept {
    detail::post_home(*this, where, order);
}

void suspension::give_up() noexcept {
    const bool is_refused_by_root = std::exchange(waiting_, nullptr) == nullptr;
    detail::end_at_root(*this, env(), is_refused_by_root);
}

void coroutine_promise::give_up() noexcept {
    const bool is_refused_by_root = std::exchange(is_given_up_, true);
    detail::end_at_root(*this, env(), is_refused_by_root);
}

const char* coroutine_promise::answer_as_coroutine(task* self, task_request request) {
    if (request == task_request::describe) return type_description<coroutine_promise>();
    auto& own = *static_cast<coroutine_promise*>(self);
    if (request == task_request::dispose)
        own.handle().destroy();
    else if (request == task_request::run && !own.is_given_up_) [[likely]]
        detail::run_coroutines(own.handle());
    else if (request == task_request::abandon && detail::is_refused_here())
        own.give_up();
    else
        own.abandon_chain();
    return nullptr;
}

const char* suspension::answer(task* self, task_request request) {
    if (request == task_request::describe) return type_description<suspension>();
    auto& own = *static_cast<suspension*>(self);
    if (request == task_request::run && own.waiting_) [[likely]] {
        trace::detail::moment(trace::kind::resumed, own.waiting_.address());
        detail::run_coroutines(own.waiting_);
    } else if (own.promise_ != nullptr) {
        if (request == task_request::abandon && detail::is_refused_here())
            own.give_up();
        else
            own.promise_->abandon_chain();
    }
    return nullptr;
}

const coroutine_promise* coroutine_promise::of(const task& queued) noexcept {
    if (queued.type() == &suspension::answer) return static_cast<const suspension&>(queued).promise_;
    if (queued.type() == &answer_as_coroutine
        || queued.type() == &detail::root_coroutine::promise_type::answer)
        return static_cast<const coroutine_promise*>(&queued);
    return nullptr;
}

void coroutine_promise::abandon_chain() noexcept {
    const detail::tear_down here(nullptr);
    coroutine_promise* leaf = this;
    while (leaf->link != nullptr) {
        detail::await_link& above = *leaf->link;
        coroutine_promise* const parent = above.parent;
        if (parent == nullptr) return; // the frame of another library's coroutine owns the chain.
        // The destructor of the awaiter must not destroy the frame, because a long chain would overflow the
        // stack.
        parent->child = nullptr;
        std::exchange(above.child, nullptr).destroy();
        leaf = parent;
    }
    leaf->type()(leaf, task_request::dispose);
}

/// Destroys each frame in a loop. The destructors of the awaiters would overflow the stack if the chain is
/// long.
void coroutine_promise::destroy_chain_below() noexcept {
    coroutine_promise* leaf = this;
    while (leaf->child != nullptr) leaf = leaf->child;
    while (leaf != this) {
        detail::await_link& above = *leaf->link;
        leaf = above.parent;
        leaf->child = nullptr;
        std::exchange(above.child, nullptr).destroy();
    }
}

void detail::await_link::destroy_awaited_by_child() const noexcept {
    std::coroutine_handle<coroutine_promise>::from_address(child.address()).promise().destroy_awaited();
}

void coroutine_promise::make_environment() {
    env_ = recycler::create<detail::hopped_environment>(detail::hopped_environment{*env_, {}});
    owns_environment_ = true;
}

void coroutine_promise::drop_environment() noexcept { recycler::destroy(&own_environment()); }

void coroutine_promise::mark_turn(turn_record& wanted) {
    environment& own = own_environment();
    own.turns = own.turns.with(wanted);
}

void detail::refuse_to_move(const environment& from, const void* lanes) {
    if (lanes == nullptr || !from.turns.has_turn(lanes)) return;
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "ekiden: resume_on: the executor of a lane, called during a turn in the same lanes; "
        "the coroutine could wait for the end of its own turn");
}

const environment& default_environment() noexcept {
    // This object is never destroyed, because coroutines may end after the destruction of static objects.
    alignas(environment) static std::byte place[sizeof(environment)];
    static const environment& made = *::new (place) environment(system_executor());
    return made;
}

any_executor at_priority(const any_executor& where, priority level) {
    if (const auto* const pool = where.target<thread_pool::executor_type>())
        return pool->context().get_executor(level);
    return where;
}

} // namespace ekiden::inline EKIDEN_ABI
