#include "account.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace pool_random {

namespace {

std::uint64_t replay_seed = 0;
std::atomic<std::uint64_t> replay_round{0};
std::atomic<std::uint64_t> progress{0};

struct place {
    std::atomic<bool> is_taken{false};
    std::atomic<const char*> what{nullptr};
};
std::array<place, 512> places;

/// A thread's place in the list, until the thread ends. Actions after that are not shown.
struct occupant {
    occupant() noexcept {
        for (place& p : places) {
            if (!p.is_taken.load(std::memory_order_relaxed) && !p.is_taken.exchange(true)) {
                here = &p;
                return;
            }
        }
    }
    ~occupant() {
        if (here == nullptr) return;
        here->what = nullptr;
        here->is_taken = false;
        here = nullptr;
    }
    static thread_local constinit place* here;
};
thread_local constinit place* occupant::here = nullptr;

place* place_here() noexcept {
    static thread_local const occupant mine;
    (void)mine;
    return occupant::here;
}

void report() {
    std::fprintf(stderr, "pool_random: run this round again with: pool_random %llu --round %llu\n",
                 static_cast<unsigned long long>(replay_seed),
                 static_cast<unsigned long long>(replay_round.load()));
    for (const place& p : places) {
        if (const char* const what = p.what.load()) std::fprintf(stderr, "  a thread does: %s\n", what);
    }
    std::fflush(stderr);
}

} // namespace

void fail(const char* what, long got, long wanted) {
    std::fprintf(stderr, "pool_random: WRONG: %s (%ld, %ld)\n", what, got, wanted);
    report();
    std::abort();
}

doing::doing(const char* what) noexcept {
    progress.fetch_add(1, std::memory_order_relaxed);
    if (place* const here = place_here()) before_ = here->what.exchange(what, std::memory_order_relaxed);
}

doing::~doing() {
    progress.fetch_add(1, std::memory_order_relaxed);
    if (place* const here = place_here()) here->what.store(before_, std::memory_order_relaxed);
}

void set_replay(std::uint64_t seed, std::uint64_t round) noexcept {
    replay_seed = seed;
    replay_round = round;
}

void start_watchdog(unsigned seconds) {
    if (seconds == 0) return;
    std::thread([seconds] {
        std::uint64_t seen = 0;
        for (unsigned quiet = 0;;) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
            const std::uint64_t now = progress.load();
            quiet = now == seen ? quiet + 1 : 0;
            seen = now;
            if (quiet < seconds) continue;
            std::fprintf(stderr, "pool_random: WRONG: nothing has happened for %u s\n", seconds);
            report();
            std::abort();
        }
    }).detach();
}

// ---- ledger

record* ledger::add(tally& origin, const std::atomic<bool>& stopped, bool must_run) noexcept {
    const std::size_t index = used_.fetch_add(1, std::memory_order_relaxed);
    if (index >= records_.size()) return nullptr;
    record& made = records_[index];
    made.origin = &origin;
    made.stopped = &stopped;
    made.must_run = must_run;
    return &made;
}

void ledger::check() const {
    for (std::size_t i = 0; i != size(); ++i) {
        const record& r = records_[i];
        require(r.alive == 0, "a callable was never destroyed", r.alive);
        require(r.runs <= 1, "a task ran twice", r.runs);
        if (r.told == fate::refused) require(r.runs == 0, "a task ran that was refused", r.runs);
        if (r.told == fate::accepted && r.must_run && !r.stopped->load())
            require(r.runs == 1, "an accepted task did not run", r.runs, 1);
    }
}

} // namespace pool_random
