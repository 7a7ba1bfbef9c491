/// The engine of the computed machine: a simulation of cores, each with a clock of its own.
///
/// Part: computed (engine). The threads of a program are fibers of one real thread. A thread goes on until
/// the clock of its core is later than the time of the next event. Then the fiber of that event continues. So
/// all operations that other cores can see happen in the order of the clocks (a conservative simulation).
/// Equal programs with equal tables give equal runs.
///
/// The compiler calls hooks.cpp at each access to memory (-fsanitize=thread, without the library of
/// ThreadSanitizer). The names of src/ekiden/sys that concern time and threads call runtime.cpp. Both call
/// this class.
#pragma once

#include <check/engine/fiber.hpp>
#include <computed/engine/lines.hpp>
#include <computed/engine/machine.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ekiden::computed {

class engine {
public:
    /// The program runs on the first `cores` cores of the machine. `seed` selects the variation.
    engine(const machine& of, unsigned cores, unsigned seed = 0);
    ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Calls `program` as thread 0 on core 0, and returns when the program has returned. Threads that still
    /// run then are abandoned. Only one call in a process is allowed.
    void run(std::function<void()> program);

    // ---- memory. The caller makes the access itself, right after the call.
    void plain(const void* at, bool is_write) noexcept {
        core& here = *here_;
        line* const it = lines_.find(at);
        here.clock += machine_.access;
        if (it == nullptr || (is_write ? it->owned_by(here.number) : it->readable_by(here.number))) [[likely]]
            return;
        is_write ? store(*it) : load(*it);
    }
    void called() noexcept { here_->clock += machine_.call; }
    void atomic_load(const void* at) noexcept;
    void atomic_store(const void* at) noexcept;
    void modify(const void* at) noexcept; ///< a read-modify-write, which also waits for the earlier stores
    void full_fence() noexcept;
    void heavy_fence() noexcept;

    /// The time for which a place in the program has waited for a line or in heavy fences, summed over the
    /// cores.
    struct stall {
        const void* line = nullptr; ///< its first byte, or null for heavy fences
        const void* site = nullptr; ///< the return address of the access
        std::uint64_t count = 0;
        picoseconds length = 0;
    };
    /// From now on, waits for lines are counted.
    void profile() noexcept { profiles_ = true; }
    [[nodiscard]] std::vector<stall> stalls() const;

    // ---- time
    void work(picoseconds length) noexcept;  ///< of the program
    void spend(picoseconds length) noexcept; ///< of the allocator
    void pause() noexcept {
        let_go();
        here_->clock += lines_.varied(machine_.pause);
    }
    void yield() noexcept;
    [[nodiscard]] std::uint64_t now_ns() noexcept {
        here_->clock += machine_.clock;
        return first_ns + here_->clock / 1000;
    }
    /// Returns the sum of the times that the cores have run threads, in picoseconds.
    [[nodiscard]] picoseconds busy() const noexcept;

    // ---- threads
    unsigned start_thread(void (*run)(void*), void* argument);
    void join(unsigned thread) noexcept;
    void at_exit(void (*action)(void*), void* argument);
    [[nodiscard]] unsigned current() const noexcept { return self_->number; }
    [[nodiscard]] void* local(const void* key, std::size_t size, std::size_t alignment, void (*make)(void*));
    [[nodiscard]] picoseconds cpu_of(unsigned thread) const noexcept;
    [[nodiscard]] bool is_asleep(unsigned thread) const noexcept;

    /// Sleeps while nothing has woken the word. `is_unchanged` is called in the moment in which the thread
    /// would fall asleep. `deadline` is on the clock of now_ns(), or `never`.
    enum class woken : std::uint8_t { unequal, by_thread, by_time };
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    woken wait(const void* word, bool (*is_unchanged)(const void*, std::uint32_t), std::uint32_t expected,
               std::uint64_t deadline) noexcept;
    int wake(const void* word, unsigned count) noexcept;

    [[nodiscard]] const machine& table() const noexcept { return machine_; }
    [[nodiscard]] unsigned cores() const noexcept { return static_cast<unsigned>(cores_.size()); }

private:
    friend class inside;
    static constexpr std::uint64_t first_ns = 1'000'000'000; // the clock begins here, because 0 has meanings

    enum class state : std::uint8_t { ready, running, waiting, ended };
    struct thread {
        unsigned number = 0;
        state now = state::ready;
        bool timed_out = false;
        bool has_core = false; // a core expects it
        unsigned core = 0;
        picoseconds virtual_time = 0; // the processor time, corrected after sleeps as in fair schedulers
        picoseconds used = 0;
        picoseconds began = 0;    // when it last got a core
        std::uint64_t sleeps = 0; // counts sleeps, so that an old timeout is not taken for a new one
        const void* word = nullptr;
        const void* site = nullptr; // of its last access
        void (*run)(void*) = nullptr;
        void* argument = nullptr;
        check::context place;
        std::unique_ptr<check::stack> memory;
        std::vector<std::pair<void (*)(void*), void*>> exits;
        std::vector<std::pair<const void*, void*>> locals;
    };
    struct core {
        picoseconds clock = 0;
        unsigned number = 0;
        thread* running = nullptr;
        picoseconds slice_end = 0;
        picoseconds idle_since = 0;
        std::vector<picoseconds> stores; // a ring: when each of the last stores completes
        std::size_t next_store = 0;
        picoseconds last_store = 0;
        const line* last_line = nullptr; // of that store
        line* held = nullptr;            // see let_go()
        picoseconds held_until = 0;
        const line* awaited = nullptr; // the core waits until this line is served
        std::uint64_t resumes = 0;     // the order of its only valid event
        bool expects = false;          // idle, but a thread is on its way
    };
    enum class what : std::uint8_t { resume, arrive, time_out };
    struct event {
        picoseconds time;
        std::uint64_t order; // events of one time happen in the order of their creation
        what kind;
        unsigned number; // of the core or the thread
        std::uint64_t sleep;
        [[nodiscard]] bool
        operator<(const event& other) const noexcept { // the heap has the greatest in front
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    struct sleepers {
        std::deque<thread*> queue;
        picoseconds free = 0; // the kernel handles one call for a word at a time
    };

    void synchronize() noexcept; ///< Runs all events that come before the clock of this core.
    void load(line& it) noexcept;
    void store(line& it) noexcept;
    void take(line& it, bool is_write) noexcept;
    void drain() noexcept;
    /// Ends the hold of a line, because the core has no more locked operations under way.
    void let_go() noexcept;
    void note(const line* it, const void* site, picoseconds since) noexcept;

    void schedule(picoseconds time, what kind, unsigned number, std::uint64_t sleep = 0);
    void dispatch() noexcept;
    bool happens(const event& next);
    void place(thread& arrived, picoseconds time);
    void put_on(core& where, thread& it, picoseconds time);
    void leave_core(state next) noexcept;
    void give_up_core() noexcept;
    [[nodiscard]] picoseconds deep_wake(picoseconds idle) const noexcept;
    core* idle_core_near(unsigned wanted) noexcept;
    thread* take_ready() noexcept;
    void wake_one(thread& it, picoseconds time, picoseconds latency);
    static void begin() noexcept;
    void end_thread() noexcept;
    thread& new_thread(void (*run)(void*), void* argument);

    const machine machine_;
    line_table lines_;
    std::vector<core> cores_;
    std::deque<thread> threads_;
    std::vector<thread*> ready_;
    std::vector<event> events_; // a heap
    picoseconds next_time_ = never;
    std::uint64_t created_ = 0;
    std::unordered_map<const void*, sleepers> words_;
    picoseconds fence_free_ = 0; // the next heavy fence begins then
    bool profiles_ = false;
    std::map<std::pair<const line*, const void*>, stall> stalls_;
    core* here_ = nullptr;
    thread* self_ = nullptr;
    check::context host_;
    std::function<void()> program_;
};

/// The engine while a program of the computed machine runs and the engine itself does not. Otherwise null.
/// The hooks do nothing while it is null.
extern engine* running;

/// Keeps `running` null while the engine works.
class inside {
public:
    inside() noexcept : it(*running) { running = nullptr; }
    explicit inside(const void* site) noexcept : inside() { it.self_->site = site; }
    ~inside() { running = &it; }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

    engine& it;
};

} // namespace ekiden::computed
