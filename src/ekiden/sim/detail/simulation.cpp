#include <ekiden/sim/detail/simulation.hpp>

#include <ekiden/async/await_chain.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/future/detail/completion.hpp>
#include <ekiden/sim/sim_context.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/call_stack.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/parker.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sim {

namespace {

constexpr std::size_t most_depth = 16;
// Without an explorer, the text of a failure shows this number of steps.
constexpr std::size_t shown_steps = 40;
constexpr std::uint32_t test_chain = 1; // the chain of the test itself; chain 0 is time
constexpr std::uint32_t delays = 25;    // number of possible delays: none, 1 us, 2 us, 4 us, and so on

} // namespace

void check_options(const options& chosen) {
    if (chosen.max_steps == 0)
        sys::refuse_argument("sim::options", "max_steps", chosen.max_steps, "1 or more");
    if (chosen.max_time.count() <= 0) {
        sys::refuse_argument("sim::options", "max_time", std::to_string(chosen.max_time.count()) + " ns",
                             "1 ns or more");
    }
    if (chosen.watch.count() < 0) {
        sys::refuse_argument("sim::options", "watch", std::to_string(chosen.watch.count()) + " ms",
                             "0 ms (none) or more");
    }
}

bool sim_role::wait_for(completion& awaited, const wait_limit* limit) noexcept {
    return world_.wait_for(awaited, limit, helps_);
}
bool sim_role::begin_blocking(const char* what) noexcept { world_.blocked(what); }

/// The scope of a running step. A step can run in the middle of other steps.
class simulation::step_scope {
public:
    step_scope(simulation& world, const current& step) : world_(world), outer_(world.running_) {
        world_.stack_.push_back(step);
        world_.running_ = step.context;
        ++world_.depth_;
        if (step.context != nullptr) ++step.context->inside_;
    }
    ~step_scope() {
        if (world_.running_ != nullptr) --world_.running_->inside_;
        --world_.depth_;
        world_.running_ = outer_;
        world_.stack_.pop_back();
    }
    step_scope(const step_scope&) = delete;
    step_scope& operator=(const step_scope&) = delete;

private:
    simulation& world_;
    sim_context* const outer_;
    const hidden_scopes strands_; // Hides the strands and lanes of the outer step.
};

simulation::simulation(std::uint64_t seed, std::uint32_t expected, const options& chosen)
    : plan_(std::in_place, seed, chosen, expected), options_(chosen), last_chain_(test_chain),
      role_(nullptr, *this, true), scope_(role_) {
    tape_.faults = plan_->faults();
    begin();
}

simulation::simulation(const tape& played, const options& chosen)
    : played_(played), options_(chosen), last_chain_(test_chain), role_(nullptr, *this, true), scope_(role_) {
    tape_.faults = played_.faults;
    begin();
}

void simulation::begin() noexcept {
    sys::expects(simulation_here() == nullptr, "a simulation begins inside of another one");
    thread_record::here().simulation = this;
}

simulation::~simulation() {
    thread_record::here().simulation = nullptr;
    if (on_give_up_ || is_failure_told_) return;
    // If an exception ends the simulation, that exception has already told the test about the failure.
    if (std::uncaught_exceptions() != exceptions_at_begin_) return;
    settle();
    if (failure_.kind != verdict::none) end_program();
}

// ---- contexts

void simulation::remove(sim_context& ended) noexcept { std::erase(contexts_, &ended); }

std::uint32_t simulation::chain_of(const task& given, task_order order, std::uint32_t line) {
    if (line != 0) return line_chains_[line - 1];
    // A task that requeues itself keeps its chain. Examples are a strand with more tasks and a coroutine that
    // yields.
    if (const coroutine_promise* const of = coroutine_promise::of(given)) {
        const environment& env = of->env();
        const bool begins = of->link == nullptr && of->line() == 0 && &env != &default_environment();
        // The promise of a root coroutine contains the environment. Other coroutines contain a copy of the
        // environment, or a reference to the environment.
        if (env.chain == 0 && begins) const_cast<environment&>(env).chain = ++last_chain_; // NOLINT
        return env.chain != 0 ? env.chain : ++last_chain_;
    }
    if ((order == task_order::last || order == task_order::deferred) && !stack_.empty()
        && stack_.back().type == given.type())
        return stack_.back().chain;
    return ++last_chain_;
}

void simulation::put(task* given, sim_context& where, task_order order, std::uint32_t line,
                     std::int64_t delay) {
    const bool is_timer = is_ringing_;
    const fault late = is_timer ? fault::late_timer : fault::late_task;
    if (delay == 0)
        delay = choose_delay(late, described_type(given->type()(given, task_request::describe)).data());
    queued_.push_back({given, &where, now_ns_ + delay, line, chain_of(*given, order, line)});
}

task* simulation::take_any(const sim_context& where) noexcept {
    return take(std::find_if(queued_.begin(), queued_.end(),
                             [&where](const queued& q) { return q.where == &where; }));
}

task* simulation::take_line(std::uint32_t line) noexcept {
    return take(
        std::find_if(queued_.begin(), queued_.end(), [line](const queued& q) { return q.line == line; }));
}

task* simulation::take(std::vector<queued>::iterator found) noexcept {
    if (found == queued_.end()) return nullptr;
    task* const taken = found->what;
    log(step_kind::dropped, {found->where, taken->type(), found->chain, coroutine_promise::of(*taken)});
    queued_.erase(found);
    return taken;
}

// ---- choices

template <class Draw>
std::uint32_t simulation::choose(stream of, std::uint32_t range, fault kind, Draw&& draw) noexcept {
    if (range < 2) return 0;
    std::uint32_t value = 0;
    if (plays()) {
        const std::vector<choice>& from = played_.of(of);
        std::size_t& at = played_up_to_[static_cast<std::size_t>(of)];
        if (at < from.size()) value = from[at++].value % range;
    } else {
        value = draw();
    }
    tape_.of(of).push_back({range, value, kind});
    return value;
}

std::uint32_t simulation::choose_data(std::uint32_t range) {
    return choose(stream::data, range, fault{}, [&] { return plan_->pick_data(range); });
}

std::uint32_t simulation::choose_next(std::uint32_t count) noexcept {
    return choose(stream::schedule, count, fault{}, [&] { return plan_->pick_lane(count); });
}

std::uint32_t simulation::choose_fault(fault kind, std::uint32_t range, const char* what) noexcept {
    if (!tape_.faults.has(kind) || faults_are_over_ || failure_.kind != verdict::none) return 0;
    const std::uint32_t value =
        choose(stream::faults, range, kind, [&] { return plan_->pick_fault(kind, range); });
    if (value != 0) log(step_kind::fault, {}, std::string(name_of(kind)) + ": " + what);
    return value;
}

std::int64_t simulation::choose_delay(fault kind, const char* what) noexcept {
    const std::uint32_t value = choose_fault(kind, delays, what);
    return value == 0 ? 0 : std::int64_t{1000} << (value - 1);
}

void simulation::at_any_time(const char* name, std::function<void()> action) {
    if (tape_.faults.has(fault::ending)) endings_.push_back({name, std::move(action)});
}

void simulation::crash_and_restart(const char* name, std::function<void()> crash,
                                   std::function<void()> restart) {
    if (tape_.faults.has(fault::crash_restart))
        processes_.push_back({name, std::move(crash), std::move(restart)});
}

// ---- the run

std::int64_t simulation::next_event() const noexcept {
    std::int64_t next = never;
    for (const sim_context* const c : contexts_) {
        if (c->alarm_ != nullptr) next = std::min(next, c->alarm_->next_ns());
    }
    for (const queued& q : queued_) {
        if (q.not_before > now_ns_) next = std::min(next, q.not_before);
    }
    for (const process& p : processes_) {
        if (p.restart_at > now_ns_) next = std::min(next, p.restart_at);
    }
    return next;
}

/// Gathers all tasks that can run, oldest first.
void simulation::gather() {
    candidates_.clear();
    chains_.clear();
    blocked_lines_.clear();
    for (std::size_t i = 0; i != queued_.size(); ++i) {
        const queued& q = queued_[i];
        if (q.line != 0) {
            const bool is_behind =
                std::find(blocked_lines_.begin(), blocked_lines_.end(), q.line) != blocked_lines_.end();
            if (is_behind) continue;
            blocked_lines_.push_back(q.line);
        }
        if (q.not_before > now_ns_) continue;
        candidates_.push_back(i);
        chains_.push_back(q.chain);
    }
}

std::uint32_t simulation::pick(bool can_jump) {
    if (can_jump) chains_.push_back(0);
    const auto range = static_cast<std::uint32_t>(chains_.size());
    return choose(stream::schedule, range, fault{}, [&] { return plan_->pick(chains_); });
}

bool simulation::step(std::int64_t until) {
    settle();
    if (failure_.kind != verdict::none) return false;
    if (steps_ >= options_.max_steps || now_ns_ - epoch > options_.max_time.count()) {
        // The reason must not contain numbers that differ between runs. Otherwise the shrinker would not
        // recognize the same failure in a smaller run.
        fail(verdict::no_progress,
             "no end within " + std::to_string(options_.max_steps) + " steps and "
                 + time_text(options_.max_time.count()) + " of virtual time",
             "  it had " + std::to_string(steps_) + " steps and " + time_text(now_ns_ - epoch) + "\n");
        return false;
    }
    restart_due();
    offer_ending();
    offer_crash();
    if (failure_.kind != verdict::none) return false;
    gather();
    const std::int64_t next = next_event();
    const bool can_jump = next != never && next <= until;
    if (candidates_.empty() && !can_jump) return false;
    ++steps_;
    const std::uint32_t picked = pick(can_jump);
    if (picked < candidates_.size())
        run_queued(candidates_[picked]);
    else
        jump(next);
    return true;
}

void simulation::jump(std::int64_t to) noexcept {
    now_ns_ = std::max(now_ns_, to);
    log(step_kind::time, {});
    is_ringing_ = true;
    for (std::size_t i = 0; i != contexts_.size(); ++i) {
        alarm_clock* const alarm = contexts_[i]->alarm_;
        if (alarm != nullptr && alarm->next_ns() <= now_ns_) alarm->ring();
    }
    is_ringing_ = false;
}

/// Runs a step. A step that throws an exception is a failure.
template <class Step>
void simulation::run_guarded(Step&& body, const char* who) {
    try {
        body();
        settle();
    } catch (const run_ended&) { // the failure is recorded already
    } catch (const std::exception& error) {
        fail(verdict::exception, std::string(who) + " has thrown: " + error.what());
    } catch (...) {
        fail(verdict::exception, std::string(who) + " has thrown something that is no std::exception");
    }
}

void simulation::run_queued(std::size_t index) {
    const queued taken = queued_[index];
    queued_.erase(queued_.begin() + static_cast<std::ptrdiff_t>(index));
    const current step{taken.where, taken.what->type(), taken.chain, coroutine_promise::of(*taken.what)};
    log(step_kind::task, step);
    if (pulse_ != nullptr) { // Relaxed is enough: the other thread only displays these values.
        pulse_->type.store(step.type, sys::relaxed);
        pulse_->steps.store(pulse_->steps.load(sys::relaxed) + 1, sys::relaxed);
    }
    const step_scope here(*this, step);
    const role_scope role(*taken.where->role_);
    run_guarded([&] { taken.what->run(); }, "a handler");
}

/// If no step is running and the fault `ending` occurs, calls an action of at_any_time().
void simulation::offer_ending() {
    if (endings_.empty() || depth_ != 0) return;
    for (std::size_t i = 0; i != endings_.size(); ++i) {
        if (choose_fault(fault::ending, 2, endings_[i].name) == 0) continue;
        const ending chosen = std::move(endings_[i]);
        endings_.erase(endings_.begin() + static_cast<std::ptrdiff_t>(i));
        run_action(chosen.action, chosen.name);
        return;
    }
}

void simulation::run_action(const std::function<void()>& action, const char* name) {
    const step_scope here(*this, current{nullptr, nullptr, ++last_chain_});
    run_guarded([&] { action(); }, name);
}

/// If no step is running and the fault `crash_restart` occurs, crashes a process of crash_and_restart().
void simulation::offer_crash() {
    if (depth_ != 0) return;
    // Iterates by index, because an action may register another process.
    for (std::size_t i = 0; i != processes_.size(); ++i) {
        if (processes_[i].restart_at != never) continue;
        const std::int64_t delay = choose_delay(fault::crash_restart, processes_[i].name);
        if (delay == 0) continue;
        processes_[i].restart_at = now_ns_ + delay;
        const std::function<void()> crash = processes_[i].crash;
        run_action(crash, processes_[i].name);
        return;
    }
}

void simulation::restart_due() {
    for (std::size_t i = 0; i != processes_.size() && failure_.kind == verdict::none; ++i) {
        if (processes_[i].restart_at > now_ns_) continue;
        processes_[i].restart_at = never;
        note(std::string(processes_[i].name) + " starts again");
        const std::function<void()> restart = processes_[i].restart;
        run_action(restart, processes_[i].name);
    }
}

std::size_t simulation::run_until(std::int64_t until) {
    sys::expects(depth_ == 0, "a task runs the simulation that it is in");
    has_run_ = true;
    std::size_t count = 0;
    while (step(until)) ++count;
    throw_if_failed();
    if (until != never) now_ns_ = std::max(now_ns_, until);
    return count;
}

std::size_t simulation::run() {
    const std::size_t count = run_until(never);
    check_rest();
    throw_if_failed();
    return count;
}

void simulation::point() {
    while (depth_ < most_depth && failure_.kind == verdict::none) {
        if (steps_ >= options_.max_steps) return;
        gather();
        const std::int64_t next = next_event();
        if (candidates_.empty() && next == never) return;
        chains_.insert(chains_.begin(), stack_.empty() ? test_chain : stack_.back().chain);
        const std::uint32_t picked = pick(next != never);
        if (picked == 0) return; // The running step continues.
        ++steps_;
        if (picked <= candidates_.size())
            run_queued(candidates_[picked - 1]);
        else
            jump(next);
    }
    throw_if_failed();
}

bool simulation::wait_for(completion& awaited, const wait_limit* limit, bool helps) noexcept {
    if (awaited.is_ready()) return true;
    if (!helps) blocked("a result");
    has_run_ = true;
    while (!awaited.is_ready()) {
        if (limit != nullptr && limit->is_reached()) return false; // A step may have requested the stop.
        std::int64_t until = never;
        if (limit != nullptr && limit->is_timed()) {
            const sys::clock::duration since_epoch = limit->deadline().time_since_epoch();
            until = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
        }
        if (step(until)) continue;
        if (failure_.kind != verdict::none || until == never) {
            give_up(verdict::stuck,
                    depth_ == 0 ? "the test waits for a result that nobody brings"
                                : "a task waits for a result that nobody brings",
                    waiting_text());
        }
        now_ns_ = until;
    }
    return true;
}

void simulation::blocked(const char* what) noexcept {
    give_up(verdict::blocking, std::string("it waits for ") + what,
            running_text() + "  called from:\n" + sys::call_stack("    "));
}

// ---- failures

void simulation::log(step_kind kind, const current& of, std::string text) {
    const char* what = of.type != nullptr ? of.type(nullptr, task_request::describe) : "";
    const char* file = nullptr;
    std::uint32_t line = 0;
    if (of.coroutine != nullptr) {
        const std::source_location& where = of.coroutine->where();
        what = where.function_name();
        file = where.file_name();
        line = of.coroutine->line() != 0 ? of.coroutine->line() : where.line();
    }
    log_.add({kind, static_cast<std::uint8_t>(depth_), of.chain, now_ns_ - epoch, what, file, line,
              of.context != nullptr ? of.context->name() : "", std::move(text)});
}

void simulation::fail(verdict kind, std::string why, std::string details) noexcept {
    if (failure_.kind != verdict::none) return;
    failure_ = {kind, std::move(why), std::move(details)};
    log(step_kind::note, {}, std::string("FOUND: ") + failure_.why);
}

void simulation::fail_at_end(verdict kind, std::string why, std::string details) noexcept {
    const int exceptions = std::uncaught_exceptions();
    if (exceptions == exceptions_at_begin_) return fail(kind, std::move(why), std::move(details));
    if (unwound_.kind != verdict::none) return;
    unwound_ = {kind, std::move(why), std::move(details)};
    exceptions_at_end_ = exceptions;
}

/// Records the finding of fail_at_end() if the program has caught the exception that was in flight during
/// that call.
void simulation::settle() noexcept {
    if (unwound_.kind == verdict::none || std::uncaught_exceptions() >= exceptions_at_end_) return;
    const finding caught = std::exchange(unwound_, {});
    fail(caught.kind, caught.why, caught.details);
}

void simulation::throw_failure() {
    if (depth_ == 0) {
        tear_down();
        is_failure_told_ = true;
    }
    throw run_ended(failure_text());
}

void simulation::refuse(const char* why) {
    if (failure_.kind != verdict::none) return; // A destructor that runs after the failure must not throw.
    fail(verdict::real, why);
    throw_failure();
}

/// Returns the failure as text. Without an explorer, the text includes the last steps.
std::string simulation::failure_text() const {
    std::string text = "ekiden: simulation: " + std::string(name_of(failure_.kind)) + ": " + failure_.why;
    if (!on_give_up_) text += "\n" + log_.text(shown_steps) + failure_.details;
    return text;
}

void simulation::end_program() const noexcept {
    std::fprintf(stderr, "%s", failure_text().c_str());
    std::abort();
}

void simulation::give_up(verdict kind, std::string why, std::string details) noexcept {
    fail(kind, std::move(why), std::move(details));
    if (on_give_up_) {
        on_give_up_();
        sys::parker nobody;
        for (;;) nobody.park();
    }
    end_program();
}

std::string simulation::running_text() const {
    std::string text = stack_.empty() ? "  in the test itself\n" : std::string();
    for (std::size_t i = stack_.size(); i-- != 0;) {
        const current& c = stack_[i];
        text += i + 1 == stack_.size() ? "  in " : "  which came in the middle of ";
        text += c.type != nullptr ? std::string(described_type(c.type(nullptr, task_request::describe)))
                                  : std::string("what may come at any time");
        text += "\n";
    }
    return text;
}

std::string simulation::waiting_text() {
    std::string text = running_text();
    for (sim_context* const c : contexts_) {
        if (c->work_ > 0)
            text += std::string("  ") + c->name() + ": " + std::to_string(c->work_) + " outstanding work\n";
        for (const std::string& chains = await_chains(*c); !chains.empty();) {
            text += "  coroutines of " + std::string(c->name()) + ":\n" + chains;
            break;
        }
    }
    for (const once& o : onces_) {
        if (o.is_open && !o.is_done) text += "  not done: " + o.name + "\n";
    }
    return text;
}

void simulation::tear_down() noexcept {
    // Iterates by index, because end_early() may create or destroy contexts.
    for (std::size_t i = 0; i != contexts_.size(); ++i) contexts_[i]->end_early();
}

/// Checks for pending work. The simulation calls this function when no task can run any more.
void simulation::check_rest() {
    bool waits = false;
    for (const sim_context* const c : contexts_) waits = waits || (!c->is_stopped() && c->work_ > 0);
    for (const once& o : onces_) waits = waits || (o.is_open && !o.is_done);
    if (waits) fail(verdict::stuck, "nothing can run, and somebody waits", waiting_text());
}

std::size_t simulation::expect_once(std::string name) {
    onces_.push_back({std::move(name)});
    return onces_.size() - 1;
}

void simulation::done_once(std::size_t number) {
    once& of = onces_[number];
    if (!std::exchange(of.is_done, true) || failure_.kind != verdict::none) return;
    fail(verdict::count, of.name);
    throw_if_failed();
}

void simulation::drop_once(std::size_t number) noexcept {
    once& of = onces_[number];
    of.is_open = false;
    if (!of.is_done) fail_at_end(verdict::lost, "never done: " + of.name);
}

} // namespace ekiden::inline EKIDEN_ABI::sim
