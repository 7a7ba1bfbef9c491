#include <ekiden/observe/detail/recorder.hpp>

#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/ticks.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::trace {

constinit sys::atomic<std::uint32_t> detail::state{0};

namespace {

/// Holds the lock of the recorder during a fork(). Without this, a thread that does not exist in the child
/// process could hold the lock there forever.
[[maybe_unused]] const bool is_held_across_forks =
    sys::at_fork([] { recorder::instance().before_fork(); }, [] { recorder::instance().after_fork(false); },
                 [] { recorder::instance().after_fork(true); });

/// The data of each thread. The type is trivially destructible, so the data is usable until the thread's last
/// instruction.
struct here {
    thread_trace* mine = nullptr;
    bool has_ended = false;
    std::uint32_t refused_in = 0; // number of the recording that had no memory left for this thread
};

std::uint64_t now(std::uint32_t state) noexcept { return sys::ticks((state & detail::by_counter) != 0); }

/// One moment on both clocks.
struct clock_reading {
    std::uint64_t ns = 0;
    std::uint64_t ticks = 0;
};

/// Reads both clocks. Returns the most precise of several attempts, because the thread may lose its processor
/// between two readings.
clock_reading read_clocks(std::uint32_t state) noexcept {
    clock_reading best;
    std::uint64_t least = ~std::uint64_t{0};
    for (int attempts = 0; attempts != 20 && least > 1000; ++attempts) {
        const std::uint64_t before = sys::now_ns();
        const std::uint64_t ticks = now(state);
        const std::uint64_t apart = sys::now_ns() - before;
        if (apart >= least) continue;
        least = apart;
        best = {before + apart / 2, ticks};
    }
    return best;
}

} // namespace

recorder& recorder::instance() noexcept {
    alignas(recorder) static std::byte memory[sizeof(recorder)];
    static recorder& made = *::new (memory) recorder;
    return made;
}

// ---- a recording begins and ends

void recorder::start(const options& chosen) {
    if (chosen.events == 0 || chosen.events > std::size_t{1} << 24)
        sys::refuse_argument("trace::start", "events", chosen.events, "1 to 2^24");
    if (chosen.threads == 0 || chosen.threads > 65'536)
        sys::refuse_argument("trace::start", "threads", chosen.threads, "1 to 65536");
    const std::lock_guard guard(lock_);
    options_ = chosen;
    const std::uint32_t number = (state_ & ~(detail::recording - 1)) + detail::recording;
    state_ = number | detail::on | (sys::has_even_counter() ? detail::by_counter : 0);
    const clock_reading begun = read_clocks(state_);
    begun_ns_ = begun.ns;
    begun_ = begun.ticks;
    ended_ = 0;
    ns_a_tick_ = 0;
    lost_.store(0, sys::relaxed);
    // Relaxed is enough. A thread that reads the state uses only its own data and data that the lock
    // protects.
    detail::state.store(state_, sys::relaxed);
}

void recorder::stop() noexcept {
    const std::lock_guard guard(lock_);
    if (detail::state.exchange(0, sys::relaxed) != 0) ended_ = now(state_);
}

void recorder::after_fork(bool is_child) noexcept {
    if (is_child) {
        detail::state.store(0, sys::relaxed);
        for (const auto& one : threads_) one->has_ended = one.get() != sys::local<here>().mine;
    }
    lock_.unlock();
}

// ---- threads and names

thread_trace* recorder::of_this_thread(std::uint32_t now_on) noexcept {
    here& self = sys::local<here>();
    if (self.mine == nullptr && !self.has_ended && self.refused_in != now_on) {
        try {
            self.mine = enlist();
        } catch (...) { // no memory, so the thread is not recorded
        }
        if (self.mine == nullptr) self.refused_in = now_on;
    }
    return self.mine;
}

/// Allocates a trace, which the calling thread owns until the thread ends. Returns null if no trace is left.
thread_trace* recorder::enlist() {
    std::string name = sys::this_thread_name();
    const std::lock_guard guard(lock_);
    thread_trace* found = nullptr;
    if (threads_.size() < options_.threads) {
        threads_.reserve(threads_.size() + 1);
        threads_.push_back(std::make_unique<thread_trace>(options_.events));
        found = threads_.back().get();
        found->has_ended = true; // until the trace is assigned below
    } else {
        for (const auto& one : threads_) {
            // Reuses the trace of the thread that ended first.
            if (one->has_ended && (found == nullptr || one->left_at < found->left_at)) found = one.get();
        }
        if (found == nullptr) return nullptr;
    }
    if (!sys::at_thread_exit(
            [](void* mine) {
                sys::local<here>() = {nullptr, true, 0};
                instance().leave(*static_cast<thread_trace*>(mine));
            },
            found)) {
        sys::local<here>().has_ended = true;
        return nullptr;
    }
    found->has_ended = false;
    found->thread_id = sys::system_thread_id();
    found->thread_name = std::move(name);
    found->of.store(0, sys::relaxed);
    found->depth = 0;
    for (auto& word : found->open) word.store(0, sys::relaxed);
    return found;
}

void recorder::leave(thread_trace& mine) noexcept {
    const std::lock_guard guard(lock_);
    mine.has_ended = true;
    mine.left_at = ++leavers_;
}

std::uint32_t recorder::number_of(const void* key, detail::text_of text) noexcept {
    const std::lock_guard guard(lock_);
    try {
        const auto known = numbers_.find(key);
        if (known != numbers_.end()) return known->second;
        if (names_.size() == packed::most_names) return 0;
        const auto fresh = static_cast<std::uint32_t>(names_.size());
        names_.push_back(text(key));
        numbers_.emplace(key, fresh);
        return fresh;
    } catch (...) { // no memory
        return 0;
    }
}

const char* recorder::keep(const char* text) noexcept {
    const std::lock_guard guard(lock_);
    try {
        const auto known = kept_.find(std::string_view(text));
        if (known != kept_.end()) return known->c_str();
        return kept_.size() < packed::most_names ? kept_.emplace(text).first->c_str() : "?";
    } catch (...) { // no memory
        return "?";
    }
}

// ---- events

const char* detail::kept(const char* text) noexcept {
#if defined(EKIDEN_CHECKING)
    return text; // keeps models of other protocols small, like in is_on()
#else
    return recorder::instance().keep(text);
#endif
}

namespace detail {
namespace {

/// Prepares the calling thread's trace for its first record of this recording. Returns null if the thread has
/// no trace.
EKIDEN_NOINLINE thread_trace* first_of(std::uint32_t now_on) noexcept {
    thread_trace* const mine = recorder::instance().of_this_thread(now_on);
    if (mine == nullptr) {
        recorder::instance().lose();
        return nullptr;
    }
    mine->base.store(mine->ring.written(), sys::relaxed);
    mine->of.store(
        now_on,
        sys::release); // [TR3] Release: publishes `base`. Pairs with the acquire in recorder::take()
    return mine;
}

/// Returns the calling thread's trace, ready for a record of this recording. Returns null if the thread has
/// no trace.
thread_trace* writer(std::uint32_t now_on) noexcept {
    thread_trace* const mine = sys::local<here>().mine;
    if (mine != nullptr && mine->of.load(sys::relaxed) == now_on) [[likely]]
        return mine;
    return first_of(now_on);
}

std::uint32_t name_of(thread_trace& mine, const void* key, text_of text) noexcept {
    const auto hash = reinterpret_cast<std::uintptr_t>(key) * 0x9e3779b97f4a7c15U >> 58;
    thread_trace::known_name& known = mine.names[hash];
    if (known.key != key) [[unlikely]]
        known = {key, recorder::instance().number_of(key, text)};
    return known.number;
}

} // namespace

std::uint64_t begin(kind what, const void* key, text_of text) noexcept {
    const std::uint32_t now_on = state.load(sys::relaxed);
    thread_trace* const mine = now_on != 0 ? writer(now_on) : nullptr;
    if (mine == nullptr) return nothing;
    const std::uint32_t number = name_of(*mine, key, text);
    const std::uint64_t begun = packed::first(now(now_on), what, number);
    if (mine->depth < thread_trace::most_open) mine->open[mine->depth].store(begun, sys::relaxed);
    ++mine->depth;
    return begun;
}

void end(std::uint64_t begun, std::uint64_t id) noexcept {
    thread_trace* const mine = sys::local<here>().mine;
    if (mine == nullptr) return;
    if (mine->depth != 0) --mine->depth;
    if (mine->depth < thread_trace::most_open) mine->open[mine->depth].store(0, sys::relaxed);
    const std::uint32_t now_on = state.load(sys::relaxed);
    if (now_on == 0 || mine->of.load(sys::relaxed) != now_on) return;
    const std::uint64_t length = (now(now_on) - begun) & packed::time_mask;
    mine->ring.write({begun, packed::second(length, id)});
}

void record(kind what, std::uint64_t id, const void* key, text_of text) noexcept {
    const std::uint32_t now_on = state.load(sys::relaxed);
    thread_trace* const mine = now_on != 0 ? writer(now_on) : nullptr;
    if (mine == nullptr) return;
    const std::uint32_t number = key != nullptr ? name_of(*mine, key, text) : 0;
    mine->ring.write({packed::first(now(now_on), what, number), packed::second(0, id)});
}

} // namespace detail

// ---- snapshots

struct recorder::calibration {
    std::uint64_t begun;  // in ticks
    std::uint64_t length; // length of the recording until now, in ticks
    double ns_a_tick;

    /// Returns the time of a record since the start of the recording. If the record is older than the start,
    /// the result is near the end of the range.
    [[nodiscard]] std::uint64_t since_start(std::uint64_t first) const noexcept {
        return (packed::time(first) - begun) & packed::time_mask;
    }
    [[nodiscard]] static bool is_before_start(std::uint64_t since_start) noexcept {
        return since_start > packed::time_mask / 2;
    }
    [[nodiscard]] std::int64_t ns(std::uint64_t ticks) const noexcept {
        return static_cast<std::int64_t>(std::floor(static_cast<double>(ticks) * ns_a_tick));
    }
};

/// Converts a record to an event. Returns false if the event ended before the recording began, or if the
/// event began after the recording ended.
bool recorder::read(trace_record from, const calibration& times, event& to) const {
    std::uint64_t begin = times.since_start(from.first);
    std::uint64_t length = packed::length(from.second);
    if (times.is_before_start(begin)) {
        const std::uint64_t early = packed::time_mask + 1 - begin;
        if (early >= length) return false;
        begin = 0;
        length -= early;
    }
    if (begin > times.length) return false; // the event began after the end of the recording
    const std::uint64_t end = std::min(begin + length, times.length);
    to.kind = packed::what(from.first);
    to.name = names_[packed::name(from.first)];
    to.id = packed::id(from.second);
    to.begin = times.ns(begin);
    to.length = times.ns(end) - to.begin;
    return true;
}

void recorder::read(const thread_trace& from, const calibration& times, track& to) const {
    // Reads the open intervals before the records. If an interval ends between the two reads, the interval is
    // among the records and is not shown as open.
    std::array<std::uint64_t, thread_trace::most_open> open{};
    for (std::size_t i = 0; i != open.size(); ++i) open[i] = from.open[i].load(sys::relaxed);

    const std::uint64_t base = from.base.load(sys::relaxed);
    std::vector<trace_record> records;
    const std::uint64_t first = from.ring.copy(base, records);
    to.thread_id = from.thread_id;
    to.thread_name = from.thread_name;
    to.overwritten = first - base;
    to.events.reserve(records.size() + open.size());
    event next{};
    for (const trace_record& record : records) {
        for (std::uint64_t& word : open) word = word == record.first ? 0 : word;
        if (read(record, times, next)) to.events.push_back(next);
    }
    for (const std::uint64_t word : open) {
        if (word == 0) continue;
        const std::uint64_t begin = times.since_start(word);
        // The length is also correct if the interval began before the start of the recording.
        const std::uint64_t length = (times.length - begin) & packed::time_mask;
        if (!times.is_before_start(begin) && begin > times.length) continue;
        if (!read({word, packed::second(length, 0)}, times, next)) continue;
        next.is_open = true;
        to.events.push_back(next);
    }
}

snapshot recorder::take(std::uint64_t newest_ns) {
    // The shortest measured time in nanoseconds. The two clocks are read about 50 ns apart, so a rate that is
    // measured over 5 ms is precise enough.
    constexpr std::uint64_t enough = 5'000'000;
    while (sys::now_ns() - begun_ns() < enough) sys::yield();
    snapshot copy;
    const std::lock_guard guard(lock_);
    if (state_ == 0) return copy;
    const clock_reading taken = read_clocks(state_);
    const double rate = ns_a_tick_ != 0 ? ns_a_tick_
                                        : static_cast<double>(taken.ns - begun_ns_)
                                              / static_cast<double>(taken.ticks - begun_);
    if (ended_ != 0) ns_a_tick_ = rate;
    const std::uint64_t end = ended_ != 0 ? ended_ : taken.ticks;
    const std::uint64_t length = packed::snapshot_length(static_cast<double>(newest_ns) / rate, end - begun_);
    const calibration times{end - length, length, rate};
    copy.length = times.ns(times.length);
    copy.lost = lost_.load(sys::relaxed);
    for (const auto& one : threads_) {
        // [TR3] Acquire: makes `base` visible. Pairs with the release in first_of().
        if (one->of.load(sys::acquire) != state_) continue;
        read(*one, times, copy.tracks.emplace_back());
    }
    return copy;
}

std::uint64_t recorder::begun_ns() const noexcept {
    const std::lock_guard guard(lock_);
    return begun_ns_;
}

// ---- public functions

void start(const options& chosen) { recorder::instance().start(chosen); }
void stop() noexcept { recorder::instance().stop(); }
snapshot take() { return recorder::instance().take(~std::uint64_t{0}); }
snapshot take(std::chrono::nanoseconds newest) {
    return recorder::instance().take(static_cast<std::uint64_t>(std::max<std::int64_t>(newest.count(), 0)));
}

} // namespace ekiden::inline EKIDEN_ABI::trace
