#include <lab/experiments/latency/latency.hpp>
#include <lab/harness/affinity.hpp>
#include <lab/peers/row.hpp>

#include <atomic>
#include <thread>

namespace lab::latency {
namespace {

/// The lower bound for any hand-over to another thread and back on this machine: two threads that poll a flag
/// of the other one all the time.
class two_flags {
public:
    static constexpr peers::row row{"two-flags", "two flags", 89};

    explicit two_flags(unsigned) : thread_([this] { answer(); }) {}
    ~two_flags() {
        call_ = nullptr;
        asked_.fetch_add(1, std::memory_order_release);
        thread_.join();
    }
    two_flags(const two_flags&) = delete;
    two_flags& operator=(const two_flags&) = delete;

    template <class F>
    auto call(F f) {
        struct request {
            F& f;
            decltype(f()) result;
        } self{f, {}};
        argument_ = &self;
        call_ = [](void* at) {
            auto* const asked = static_cast<request*>(at);
            asked->result = asked->f();
        };
        const unsigned number = asked_.load(std::memory_order_relaxed) + 1;
        asked_.store(number, std::memory_order_release);
        while (answered_.load(std::memory_order_acquire) != number) {
        }
        return self.result;
    }

private:
    void answer() {
        for (unsigned number = 1;; ++number) {
            while (asked_.load(std::memory_order_acquire) != number) {
            }
            if (call_ == nullptr) return;
            call_(argument_);
            answered_.store(number, std::memory_order_release);
        }
    }

    alignas(128) std::atomic<unsigned> asked_{0};
    void (*call_)(void*) = nullptr; // both on the cache line of the flag that announces them
    void* argument_ = nullptr;
    alignas(128) std::atomic<unsigned> answered_{0};
    std::thread thread_;
};

void run_awake(cell& c) {
    if (c.asked().variant != "awake") c.not_applicable("both threads look all the time");
    if (usable_cpus().size() < 2) c.not_applicable("needs a processor for each of the two threads");
    run<two_flags>(c);
}

const bool added =
    peers::add_row<two_flags>("latency", &run_awake, "the floor: no queue, nobody ever sleeps", false);

} // namespace
} // namespace lab::latency
