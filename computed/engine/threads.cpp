// The threads of the computed machine, and the scheduler of its operating system.
//
// The scheduler has one queue of ready threads for all cores. A core that becomes free takes the thread with
// the least virtual time. A thread that wakes up takes an idle core, if possible its last one or one near it.
// If no core is idle, it takes the core of a thread that is ahead of it by half a slice, or waits.
#include <computed/engine/engine.hpp>
#include <computed/engine/heap.hpp>

#include <sys/single_threaded.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ekiden::computed {

engine::thread& engine::new_thread(void (*entry)(void*), void* argument) {
    if (threads_.size() == arena::most_threads) {
        std::fputs("ekiden: computed machine: too many threads\n", stderr);
        std::abort();
    }
    thread& made = threads_.emplace_back();
    made.number = static_cast<unsigned>(threads_.size() - 1);
    made.run = entry;
    made.argument = argument;
    made.memory = std::make_unique<check::stack>(arena::stack_size, arena::stack_of(made.number));
    made.place = made.memory->prepare(&engine::begin);
    return made;
}

void engine::run(std::function<void()> program) {
    heap::prepare();
    __libc_single_threaded = 0; // or the counts of std::shared_ptr would not be atomic
    program_ = std::move(program);
    thread& first = new_thread([](void* at) { static_cast<engine*>(at)->program_(); }, this);
    put_on(cores_[0], first, 0);
    running = nullptr;
    dispatch(); // continues here when thread 0 has ended
    running = nullptr;
}

namespace {
engine* starting = nullptr; // the engine whose fiber begins
} // namespace

void engine::begin() noexcept {
    engine& mine = *starting;
    thread& self = *mine.self_;
    running = &mine;
    self.run(self.argument);
    while (!self.exits.empty()) {
        const auto [action, argument] = self.exits.back();
        self.exits.pop_back();
        action(argument);
    }
    running = nullptr;
    mine.end_thread();
}

void engine::end_thread() noexcept {
    synchronize();
    if (self_->number == 0) {
        self_->now = state::ended;
        thread* const last = std::exchange(self_, nullptr);
        check::switch_context(last->place, host_);
    }
    thread* const ended = self_;
    const picoseconds time = here_->clock;
    leave_core(state::ended);
    if (const auto joining = words_.find(ended); joining != words_.end()) {
        for (thread* const one : joining->second.queue) wake_one(*one, time, machine_.wake);
        words_.erase(joining);
    }
    dispatch();
    std::abort(); // an ended thread does not continue
}

unsigned engine::start_thread(void (*entry)(void*), void* argument) {
    here_->clock += machine_.create;
    synchronize();
    thread& made = new_thread(entry, argument);
    made.core = here_->number;
    made.virtual_time = self_->virtual_time;
    wake_one(made, here_->clock, machine_.wake);
    return made.number;
}

void engine::join(unsigned number) noexcept {
    synchronize();
    thread& other = threads_[number];
    if (other.now == state::ended) return;
    here_->clock += machine_.futex_wait;
    words_[&other].queue.push_back(self_);
    self_->word = nullptr;
    leave_core(state::waiting);
    dispatch();
}

void engine::at_exit(void (*action)(void*), void* argument) { self_->exits.emplace_back(action, argument); }

void* engine::local(const void* key, std::size_t size, std::size_t alignment, void (*make)(void*)) {
    here_->clock += machine_.access;
    auto& mine = self_->locals;
    for (std::size_t i = 0; i != mine.size(); ++i) {
        if (mine[i].first != key) continue;
        if (i != 0) std::swap(mine[i], mine[i - 1]);
        return mine[i != 0 ? i - 1 : 0].second;
    }
    // The objects of a thread lie in lines of their own, as the storage of a real thread does.
    void* const at = heap::allocate(size, std::max<std::size_t>(alignment, arena::line_size), self_->number);
    make(at);
    mine.emplace_back(key, at);
    return at;
}

picoseconds engine::cpu_of(unsigned number) const noexcept {
    const thread& it = threads_[number];
    return it.used + (it.now == state::running ? cores_[it.core].clock - it.began : 0);
}

bool engine::is_asleep(unsigned number) const noexcept { return threads_[number].now == state::waiting; }

// ---- sleeping and waking

engine::woken engine::wait(const void* word, bool (*is_unchanged)(const void*, std::uint32_t),
                           std::uint32_t expected, std::uint64_t deadline) noexcept {
    let_go();
    here_->clock += machine_.futex_wait;
    synchronize();
    here_->clock = std::max(here_->clock, words_[word].free);
    atomic_load(word);
    synchronize();
    if (is_unchanged != nullptr && !is_unchanged(word, expected)) return woken::unequal;
    thread& self = *self_;
    words_[word].queue.push_back(&self);
    self.word = word;
    self.timed_out = false;
    ++self.sleeps;
    if (deadline != never) {
        const picoseconds end = deadline > first_ns ? (deadline - first_ns) * 1000 : 0;
        schedule(std::max(end, here_->clock), what::time_out, self.number, self.sleeps);
    }
    leave_core(state::waiting);
    dispatch();
    return self.timed_out ? woken::by_time : woken::by_thread;
}

int engine::wake(const void* word, unsigned count) noexcept {
    let_go();
    here_->clock += machine_.futex_wake;
    synchronize();
    const auto found = words_.find(word);
    if (found == words_.end()) return 0;
    here_->clock = std::max(here_->clock, found->second.free);
    found->second.free = here_->clock + machine_.futex_wake / 2; // the wake-ups come after the kernel's lock
    int count_woken = 0;
    auto& queue = found->second.queue;
    while (count-- != 0 && !queue.empty()) {
        thread& one = *queue.front();
        queue.pop_front();
        here_->clock += idle_core_near(one.core) != nullptr ? machine_.wake_each : machine_.wake_queue;
        wake_one(one, here_->clock, machine_.wake);
        ++count_woken;
    }
    return count_woken;
}

/// The time that it takes longer to start a core that was idle for `idle`. A core goes to deeper and deeper
/// states of sleep, and a hypervisor gives it to other machines. Measured: the time grows with the logarithm.
picoseconds engine::deep_wake(picoseconds idle) const noexcept {
    if (machine_.deep_after == 0 || idle <= machine_.deep_after) return 0;
    const double depth = std::log(static_cast<double>(idle) / static_cast<double>(machine_.deep_after));
    return static_cast<picoseconds>(static_cast<double>(machine_.wake_deep)
                                    * std::min(1.0, depth / std::log(50)));
}

/// The kernel chooses an idle core at once.
void engine::wake_one(thread& it, picoseconds time, picoseconds latency) {
    it.now = state::ready;
    it.word = nullptr;
    if (core* const idle = idle_core_near(it.core)) {
        it.has_core = idle->expects = true;
        it.core = idle->number;
        if (time > idle->idle_since) latency += deep_wake(time - idle->idle_since);
    }
    schedule(time + lines_.varied(latency), what::arrive, it.number);
}

// ---- the scheduler

void engine::yield() noexcept {
    let_go();
    here_->clock += machine_.yield;
    synchronize();
    if (!ready_.empty()) give_up_core();
}

/// Puts the running thread behind the ready threads.
void engine::give_up_core() noexcept {
    thread& self = *self_;
    core& at = *here_;
    thread* const next = take_ready(); // before this thread is ready, so that another one runs
    self.used += at.clock - self.began;
    self.virtual_time += at.clock - self.began;
    self.now = state::ready;
    at.awaited = at.held = nullptr;
    ready_.push_back(&self);
    put_on(at, *next, at.clock + machine_.context_switch);
    dispatch();
}

void engine::leave_core(state next) noexcept {
    thread& self = *self_;
    core& at = *here_;
    self.used += at.clock - self.began;
    self.virtual_time += at.clock - self.began;
    self.now = next;
    at.running = nullptr;
    at.held = nullptr;
    at.idle_since = at.clock;
    if (thread* const other = take_ready()) put_on(at, *other, at.clock + machine_.context_switch);
}

engine::thread* engine::take_ready() noexcept {
    if (ready_.empty()) return nullptr;
    const auto least =
        std::min_element(ready_.begin(), ready_.end(), [](const thread* one, const thread* other) {
            return one->virtual_time < other->virtual_time;
        });
    thread* const taken = *least;
    ready_.erase(least);
    return taken;
}

void engine::put_on(core& where, thread& it, picoseconds time) {
    where.clock = std::max(where.clock, time);
    where.running = &it;
    where.slice_end = where.clock + machine_.slice;
    it.core = where.number;
    it.began = where.clock;
    it.now = state::running;
    starting = this;
    schedule(where.clock, what::resume, where.number);
}

engine::core* engine::idle_core_near(unsigned wanted) noexcept {
    core* best = nullptr;
    int best_rank = 4;
    for (core& one : cores_) {
        if (one.running != nullptr || one.expects) continue;
        const int rank =
            one.number == wanted ? 0 : 1 + static_cast<int>(machine_.between(wanted, one.number));
        if (rank < best_rank) best = &one, best_rank = rank;
    }
    return best;
}

void engine::place(thread& arrived, picoseconds time) {
    // A thread that slept for long has no claim to more than half a slice.
    picoseconds least = arrived.virtual_time;
    for (const core& one : cores_)
        if (one.running != nullptr) least = std::max(least, one.running->virtual_time);
    const picoseconds claim = machine_.slice / 2;
    arrived.virtual_time = std::max(arrived.virtual_time, least > claim ? least - claim : 0);
    core* const idle = arrived.has_core ? &cores_[arrived.core] : idle_core_near(arrived.core);
    if (idle != nullptr) {
        arrived.has_core = idle->expects = false;
        put_on(*idle, arrived, time);
        return;
    }
    arrived.now = state::ready;
    ready_.push_back(&arrived);
    core* ahead = nullptr;
    picoseconds most = arrived.virtual_time + claim;
    for (core& one : cores_) {
        if (one.running == nullptr) continue; // it expects a thread
        const picoseconds ran =
            one.running->virtual_time + (one.clock > one.running->began ? one.clock - one.running->began : 0);
        if (ran > most) ahead = &one, most = ran;
    }
    if (ahead != nullptr) ahead->slice_end = 0;
}

} // namespace ekiden::computed
