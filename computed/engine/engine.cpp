// Time, memory and events. The threads are in threads.cpp.
#include <computed/engine/engine.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ekiden::computed {

engine* running = nullptr;

engine::engine(const machine& of, unsigned cores, unsigned seed)
    : machine_(of), lines_(machine_, seed), cores_(cores) {
    for (unsigned number = 0; number != cores; ++number) {
        cores_[number].number = number;
        cores_[number].stores.assign(of.store_buffer, 0);
    }
}

engine::~engine() = default;

// ---- memory

void engine::load(line& it) noexcept {
    synchronize();
    if (!it.readable_by(here_->number)) take(it, false);
}

/// Waits until the line is served. Another event may change the state of the line before the request begins.
void engine::take(line& it, bool is_write) noexcept {
    core& at = *here_;
    const picoseconds since = at.clock;
    const void* const site = self_->site;
    const line_table::service request = lines_.reserve(
        it, at.number, at.clock, is_write ? line_table::request::modify : line_table::request::read);
    if (request.start > at.clock) {
        at.clock = request.start;
        at.awaited = &it;
        synchronize();
    }
    core& mine = *here_; // the thread may have another core now
    mine.awaited = nullptr;
    line_table::give(it, mine.number, is_write);
    mine.clock += request.length;
    mine.held = request.hold != 0 ? &it : nullptr;
    mine.held_until = mine.clock + request.hold;
    if (profiles_) note(&it, site, since);
}

void engine::let_go() noexcept {
    core& at = *here_;
    if (at.held == nullptr) return;
    if (at.held->last != at.number) synchronize(); // another core may wait
    line* const it = std::exchange(at.held, nullptr);
    if (it == nullptr || here_ != &at || at.held_until <= at.clock) return;
    const picoseconds early = at.held_until - at.clock;
    it->free -= early;
    for (core& other : cores_) {
        if (other.awaited != it) continue;
        other.clock -= early;
        schedule(other.clock, what::resume, other.number);
    }
}

void engine::note(const line* it, const void* site, picoseconds since) noexcept {
    stall& sum = stalls_[{it, site}];
    ++sum.count;
    sum.length += here_->clock - since;
}

std::vector<engine::stall> engine::stalls() const {
    std::vector<stall> found;
    for (const auto& [key, sum] : stalls_)
        found.push_back({key.first != nullptr ? lines_.address_of(*key.first) : nullptr, key.second,
                         sum.count, sum.length});
    return found;
}

/// The store waits in the buffer for its line, and the core goes on.
void engine::store(line& it) noexcept {
    synchronize();
    core& at = *here_;
    if (it.owned_by(at.number)) return;
    picoseconds& oldest = at.stores[at.next_store];
    if (oldest > at.clock) {
        at.clock = oldest;
        synchronize();
    }
    if (it.owned_by(here_->number)) return;
    const line_table::service request =
        lines_.reserve(it, here_->number, here_->clock, line_table::request::write);
    line_table::give(it, here_->number, true);
    if (request.length == 0) return;
    core& mine = *here_;
    mine.last_store = std::max(mine.last_store, request.start + request.length); // in order
    mine.last_line = &it;
    mine.stores[mine.next_store] = mine.last_store;
    mine.next_store = (mine.next_store + 1) % mine.stores.size();
}

void engine::atomic_load(const void* at) noexcept {
    synchronize();
    line* const it = lines_.find(at);
    here_->clock += machine_.atomic;
    if (it != nullptr && !it->readable_by(here_->number)) take(*it, false);
}

void engine::atomic_store(const void* at) noexcept {
    synchronize();
    line* const it = lines_.find(at);
    here_->clock += machine_.atomic;
    if (it != nullptr && !it->owned_by(here_->number)) store(*it);
}

void engine::drain() noexcept {
    core& at = *here_;
    if (at.last_store <= at.clock) return;
    const picoseconds since = std::exchange(at.clock, at.last_store);
    if (profiles_) note(at.last_line, self_->site, since);
}

void engine::modify(const void* at) noexcept {
    drain();
    synchronize();
    line* const it = lines_.find(at);
    if (it != nullptr && !it->owned_by(here_->number)) take(*it, true);
    here_->clock += machine_.locked;
}

void engine::full_fence() noexcept {
    drain();
    here_->clock += machine_.fence;
    synchronize();
}

/// Linux makes one such fence at a time, and interrupts each core that runs a thread.
void engine::heavy_fence() noexcept {
    drain();
    const picoseconds since = here_->clock;
    const void* const site = self_->site;
    here_->clock += machine_.membarrier;
    synchronize();
    core& at = *here_;
    std::uint64_t others = 0;
    for (const core& other : cores_) others += &other != &at && other.running != nullptr;
    if (others == 0) return; // no core has to answer
    const picoseconds length = machine_.answer + others * machine_.answer_each;
    at.clock = std::max(at.clock, fence_free_);
    fence_free_ = at.clock + length;
    synchronize();
    here_->clock += length;
    if (profiles_) note(nullptr, site, since);
    for (core& other : cores_)
        if (&other != here_ && other.running != nullptr) other.clock += machine_.interrupt;
}

// ---- time and events

void engine::work(picoseconds length) noexcept {
    let_go();
    spend(length);
    synchronize(); // an interrupt may come meanwhile
}

void engine::spend(picoseconds length) noexcept {
    while (length != 0) {
        const core& at = *here_;
        const picoseconds left = at.slice_end > at.clock ? at.slice_end - at.clock : length;
        const picoseconds part = std::min(length, std::max<picoseconds>(left, 1));
        here_->clock += part;
        length -= part;
        if (length != 0) synchronize();
    }
}

picoseconds engine::busy() const noexcept {
    picoseconds sum = 0;
    for (const thread& one : threads_) sum += cpu_of(one.number);
    return sum;
}

void engine::schedule(picoseconds time, what kind, unsigned number, std::uint64_t sleep) {
    if (kind == what::resume) cores_[number].resumes = created_;
    events_.push_back({time, created_++, kind, number, sleep});
    std::push_heap(events_.begin(), events_.end());
    next_time_ = events_.front().time;
}

void engine::synchronize() noexcept {
    for (;;) {
        core& at = *here_;
        if (at.clock >= at.slice_end && !ready_.empty()) {
            give_up_core();
            continue;
        }
        if (at.clock <= next_time_) return;
        schedule(at.clock, what::resume, at.number);
        dispatch();
    }
}

/// Handles events until one of them lets a fiber run.
void engine::dispatch() noexcept {
    for (;;) {
        if (events_.empty()) {
            std::fputs("ekiden: computed machine: every thread sleeps, and no thread can wake another one\n",
                       stderr);
            std::abort();
        }
        std::pop_heap(events_.begin(), events_.end());
        const event next = events_.back();
        events_.pop_back();
        next_time_ = events_.empty() ? never : events_.front().time;
        if (happens(next)) return;
    }
}

/// Returns true after a fiber has run, that is, when this fiber continues.
bool engine::happens(const event& next) {
    if (next.kind == what::resume) {
        core& at = cores_[next.number];
        if (next.order != at.resumes) return false; // there is an earlier one
        // An interrupt may have moved the clock meanwhile.
        if (at.clock > next.time && at.clock > next_time_) {
            schedule(at.clock, what::resume, at.number);
            return false;
        }
        thread* const before = self_;
        here_ = &at;
        self_ = at.running;
        if (self_ != before) {
            check::context& saved = before != nullptr ? before->place : host_;
            check::switch_context(saved, self_->place);
        }
        return true;
    }
    thread& it = threads_[next.number];
    if (next.kind == what::arrive) {
        place(it, next.time);
        return false;
    }
    if (it.now != state::waiting || it.sleeps != next.sleep || it.word == nullptr) return false;
    auto& queue = words_[it.word].queue;
    queue.erase(std::find(queue.begin(), queue.end(), &it));
    it.timed_out = true;
    wake_one(it, next.time, 0);
    return false;
}

} // namespace ekiden::computed
