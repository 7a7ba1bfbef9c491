/// The state of the checker: one execution of one model, and the choices that lead through it.
///
/// Part: check (engine), private. All data of the engine is in one heap object. An execution accesses this
/// object only through the engine's code. So restoring the model's static variables does not affect the
/// engine.
///
/// memory.cpp: which values a load may return, and where a store may go.   scheduler.cpp: which thread is
/// next. sync.cpp: futexes, threads, clock.   execution.cpp: one execution.   explorer.cpp: all executions.
#pragma once

#include <check/engine/access.hpp>
#include <check/engine/arena.hpp>
#include <check/engine/fiber.hpp>
#include <check/engine/model.hpp>
#include <check/engine/view.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace ekiden::check {

inline constexpr std::uint16_t no_location = 0xFFFF;
inline constexpr std::uint32_t no_event = ~std::uint32_t{0};
// stands for the creator of objects that existed before the execution began
inline constexpr std::uint8_t nobody = 0xFF;

/// One value in the modification order of a location.
struct message {
    std::uint64_t value;
    carried_view carried;
    std::uint32_t event;   // index of the store in the trace, if a trace is recorded
    std::uint16_t created; // number of this message within the location, in the order of execution
    std::uint8_t thread;
    stamp cause[max_threads]; // see `cause` in model_thread
    effects kept;             // the loads that no machine reorders with this store
    bool modifies;            // whether a read-modify-write of the previous message wrote this message
};

/// An atomic object that has been accessed.
struct location {
    const void* address;
    message* messages; // in modification order
    std::uint16_t count;
    std::uint16_t capacity;
    std::uint16_t id;
    std::uint8_t size;
    bool dead;
    stamp woken;                 // the newest position that any caller of futex_wake had seen
    stamp accessed[max_threads]; // the epoch of each thread's last access
    stamp loaded[max_threads];   // the epoch of each thread's last load; 0 if there is none
    bool acquired[max_threads];  // whether the last load of each thread is an acquire
};

/// A cell that has been accessed.
struct plain {
    std::uint8_t writer;
    stamp written;
    stamp read[max_threads];
};

/// The engine's data about an address that holds an atomic or a cell.
struct object {
    const void* address;
    void* record; // points to a location or a plain; null until the first access
    std::uint32_t execution;
    stamp epoch; // epoch of the creator when the object was created
    std::uint8_t creator;
    bool is_atomic;
    bool dead;
};

enum class kind : std::uint8_t { none, load, store, modify, fence, light, heavy, wait, wake, look };

/// The operation that a thread is about to execute.
struct operation {
    kind what = kind::none;
    bool sequential = false; // seq_cst
    std::uint16_t at = no_location;
    const void* address = nullptr; // for wait and wake
};

enum class status : std::uint8_t { runnable, waiting, joining, finished };

struct model_thread {
    context where;
    std::unique_ptr<stack> memory;
    view current;  // everything that the thread has seen
    view acquired; // the views that its relaxed loads have read, for a later acquire fence
    view released; // everything that the thread had seen at its last release fence
    view lit;      // everything that the thread had seen at its last light fence
    // Epochs of all operations that this thread's past may depend on, through program order and reads-from of
    // any memory order.
    stamp cause[max_threads];
    // `kept` contains the loads in `cause` that every machine completes before this thread's next operation.
    // `kept_by_release` contains the loads that every machine completes before this thread's next release or
    // fence. Acquires, releases and fences preserve the order of a load and a later store.
    effects kept;
    effects kept_by_release;
    stamp fenced; // the epoch of this thread's last fence
    status state;
    // The search has explored this thread at an earlier choice. It wakes if its load can read a new message.
    bool asleep;
    bool restricted;     // The thread has woken for its load, which may read only new messages.
    bool queued;         // whether the thread is in the queue of a futex
    bool spinning;       // The thread waits until another thread changes a location in `reads`.
    bool changed;        // whether the thread wrote a new value after its last spin hint
    bool past_end;       // whether its exit actions have run
    std::uint16_t since; // number of messages of the location when the thread fell asleep
    // The number of further spin hints after which the thread may read the same values again: see spin().
    std::uint16_t repeat;
    std::array<unsigned, 32> loaded_lines; // the lines of source code of the last loads
    unsigned loads; // the number of loads after the last spin hint, that is, in the last round of the loop
    unsigned spin_line;
    unsigned yields;     // number of consecutive yields at spin_line
    unsigned operations; // number of operations that this thread has executed
    unsigned yielded_at; // the value of `operations` at its last yield
    operation pending;
    wait_result result;
    const void* queue; // address of a futex
    std::uint64_t deadline;
    unsigned join_target;
    int priority; // for the random search
    void (*run)(void*);
    void* argument;
    std::vector<std::uint16_t> reads; // locations that the thread has read after its last spin hint
    std::vector<std::pair<void (*)(void*), void*>> at_exit;
    std::vector<std::pair<const void*, void*>> locals;
    site last_site;
};

struct choice {
    unsigned count;
    unsigned taken;
};

/// One line of the table that explains a failure.
struct event {
    unsigned thread;
    std::string what;
    std::string value;
    std::string why;
    std::string file;
    unsigned line;
};

/// A place in the source code where a memory order can be weakened.
struct order_site {
    std::string file;
    unsigned line;
    unsigned column;
    std::string what; // load, store, …
    order how;
    bool on_failure; // whether it is the failure order of a compare_exchange
    auto operator<=>(const order_site&) const = default;
};

/// A deliberate change of the tested code: a different memory order at a site, or a logic mutant with a name.
struct mutation {
    std::string name; // the name of the logic mutant; empty for a change of a memory order
    order_site at{};
    order becomes{};
    bool removed = false; // whether a fence is removed
};

/// The failures, outcomes and sites of all executions of a model.
struct findings {
    std::string failure;
    std::string failure_file;
    unsigned failure_line = 0;
    std::set<std::string> outcomes;
    std::set<order_site> sites;
    std::set<std::string> logic;
};

class engine {
public:
    engine();

    // execution.cpp
    enum class ending : std::uint8_t { finished, failed, redundant };
    ending execute(const model& m);
    [[noreturn]] void fail(std::string_view what, const site& where);
    [[noreturn]] void fail_at(std::string_view what, std::string_view file, unsigned line);
    [[noreturn]] void abandon(); // for an execution that adds nothing to the search
    unsigned choose(unsigned count);
    std::uint64_t random() noexcept;
    [[nodiscard]] bool in_statics(const void* at) const noexcept;
    void keep_statics();
    void put_back_statics() noexcept;

    // memory.cpp
    object* find(const void* at) noexcept;
    object& remember(const void* at, bool is_atomic) noexcept;
    location& locate(const void* at, unsigned size, const site& where);
    plain& cell(const void* at, const site& where);
    std::uint64_t load(location& l, order how, const site& where);
    void store(location& l, std::uint64_t value, order how, const site& where);
    std::uint64_t modify(location& l, arithmetic what, std::uint64_t operand, order how, const site& where);
    bool compare_exchange(location& l, std::uint64_t& expected, std::uint64_t desired, order success,
                          order failure, bool weak, const site& where);
    void fence(order how, const site& where);
    void light_fence(const site& where);
    void heavy_fence(const site& where);
    void ended(const void* at, const site& where);
    void race(const plain& p, bool writing, const site& where);

    // scheduler.cpp
    void point(const operation& next, const site& where);
    void done(const operation& op) noexcept;
    void leave();
    void spin(bool may_be_bounded, const site& where);
    void progressed(location& l) noexcept;
    void note_read(std::uint16_t at);
    model_thread& self() noexcept { return threads[running]; }

    // sync.cpp
    wait_result wait_on(location& l, std::uint64_t expected, std::uint64_t deadline, const site& where);
    int wake(const void* at, unsigned count, const site& where, std::string_view called);
    void lock(location& mutex, const site& where);
    void unlock(location& mutex, const site& where);
    wait_result wait_unlocked(const void* condition, location& mutex, std::uint64_t deadline,
                              const site& where);
    unsigned start(void (*run)(void*), void* argument, const site& where);
    void join(unsigned target, const site& where);
    [[nodiscard]] std::string whereabouts() const;
    const model_thread& look_at(unsigned thread, const site& where);
    void finish_thread();

    // standard_library.cpp
    bool begin_once(location& guard); // Returns true if the caller must run the initialization.
    void end_once(location& guard, bool is_made);
    void count_released(const void* at);
    void count_is_zero(const void* at) noexcept;

    // trace.cpp
    void record(std::string what, std::string value, std::string why, const site& where);
    [[nodiscard]] std::string name_of(const location& l) const;
    [[nodiscard]] std::string why_visible(const location& l, unsigned position, unsigned low) const;

    /// Returns whether this part of the engine is switched off, to test the comparison with the enumerator
    /// (check/differential).
    [[nodiscard]] bool lacks(std::string_view part) const noexcept {
        return !broken.empty() && broken == part;
    }
    [[nodiscard]] bool watching() const noexcept { return mutate_order || discovering; }
    order mutated(order how, const site& where, const char* what, bool on_failure = false);

    // The settings of the search. The explorer sets these.
    const model* subject = nullptr;
    std::vector<choice> path;
    std::size_t position = 0;
    bool randomly = false;
    bool tracing = false;
    bool discovering = false;
    bool weak = true;
    bool reducing = true;
    unsigned bound = 0;             // largest number of preemptions
    unsigned old_bound = unbounded; // largest number of old values
    std::uint64_t random_state = 1;
    std::vector<unsigned> change_points;
    std::optional<mutation> mutant;
    bool mutate_order = false;
    std::string_view broken;
    findings found;
    // A cache of found.sites.
    std::set<std::tuple<const char*, unsigned, unsigned, const char*, order, bool>> known_sites;
    std::vector<event> events;
    struct {
        unsigned allowed_ms;
        std::uint32_t execution;
        unsigned steps;
        unsigned ticks; // number of ticks since the last step
    } silence{};        // watch.cpp uses this

    // The state of one execution.
    bool active = false; // whether the model's code is running
    std::uint32_t number = 0;
    bool failed = false;
    bool redundant = false;
    bool limited_here = false; // whether the bound of preemptions has excluded a choice
    std::array<model_thread, max_threads> threads{};
    unsigned thread_count = 0;
    unsigned running = 0;
    unsigned preemptions = 0;
    unsigned old_values = 0;
    unsigned spurious = 0;
    unsigned weak_failures = 0;
    unsigned timeouts = 0;
    unsigned steps = 0;
    unsigned idle = 0;   // number of spins that were released without progress
    unsigned lonely = 0; // consecutive spins while all other threads are asleep
    bool clock_used = false;
    std::uint64_t now = 0;
    view sequential; // positions that all seq_cst accesses and fences have seen
    view heavy;      // positions that all heavy fences have seen
    unsigned location_count = 0;
    std::array<location*, max_locations> locations{};
    context outside;
    bump records;
    tracked_heap heap;

private:
    struct candidate {
        std::uint16_t position;
        bool succeeds;
    };

    unsigned low(const location& l, bool sequential_access) const noexcept;
    bool allowed(const location& l, unsigned position) const noexcept;
    candidate pick(const location& l, std::size_t spurious_from);
    void read(location& l, unsigned position, order how) noexcept;
    void refuse_load_buffering(const location& l, order how, const site& where);
    void note_cause(const message& m, order how) noexcept;
    void pass_on_cause(message& m, order how) noexcept;
    void keep_order() noexcept;
    std::uint16_t insert(location& l, unsigned position, std::uint64_t value, order how,
                         const message* modified, const site& where);
    void carry(message& m, order how, const carried_view* also);
    void shift(std::uint16_t at, unsigned from) noexcept;
    void gather(const location& l, bool modify, bool sequential_access);
    std::string_view queue_up(const void* at, std::uint64_t deadline);
    wait_result leave_queue(const site& where);
    void wait_while(location& l, std::uint64_t value, std::string_view what, const site& where);
    bool eligible(unsigned thread) const noexcept;
    bool preemptible(const operation& next) const noexcept;
    void turn_to(unsigned thread);
    void turn_back(const operation& next, const site& where);
    bool release_stuck();
    bool advance_spinner(model_thread& t);
    bool run_out(model_thread& t, bool may_be_bounded);
    void note_load(model_thread& t, unsigned line) noexcept;
    void give_way(model_thread& t);
    bool loops(const model_thread& t) const noexcept;
    void be_fair(model_thread& t, const site& where);
    [[nodiscard]] const tracked_heap::block* lost_block();
    unsigned pick_turn();
    void stuck();
    void clear_execution();
    void set_up_random();
    static void enter();

    static constexpr unsigned table_size = 1U << 14;
    std::vector<object> table_;
    unsigned table_used_ = 0;
    std::vector<candidate> candidates_;
    std::vector<unsigned> turns_;
    struct static_copy;
    std::shared_ptr<static_copy> statics_;

    friend class explorer;
};

/// The only engine of this process. Null until it is first needed.
extern engine* instance;
[[nodiscard]] engine& make_engine();
[[nodiscard]] inline engine& the_engine() { return instance != nullptr ? *instance : make_engine(); }

/// A scope in which the engine's own code runs. In this scope, operator new does not use the model's heap.
struct inside {
    inside() noexcept : e(the_engine()) { e.active = false; }
    ~inside() { e.active = true; }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    engine& e;
};

} // namespace ekiden::check
