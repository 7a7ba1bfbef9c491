/// Systems that break the rules in one way each, under the real workloads: the lab must say so.
#include <lab/experiments/latency/latency.hpp>
#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/shared_queue.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace lab {

const std::vector<missing_implementation>& missing_implementations() {
    static const std::vector<missing_implementation> all{{"faulty", "absent", "no-such-package"}};
    return all;
}

const std::vector<peer>& known_peers() {
    static const std::vector<peer> all{{"absent", "no-such-package", "not installed"}};
    return all;
}

namespace {

enum class fault { none, loses, doubles, doubles_and_loses, crashes, hangs, throws, wrong_result };

template <fault Kind>
class faulty : public peers::shared_queue {
public:
    using peers::shared_queue::shared_queue;

    template <class F>
    void post(F f) {
        const bool now = count_.fetch_add(1) == 1'000;
        if (now && Kind == fault::crashes) std::abort();
        if (now && Kind == fault::throws) throw std::runtime_error("on purpose");
        while (now && Kind == fault::hangs) std::this_thread::yield();
        if (now && (Kind == fault::loses || Kind == fault::doubles_and_loses)) {
            lose_next_ = Kind == fault::doubles_and_loses;
            if (!lose_next_) return;
        } else if (std::exchange(lose_next_, false)) {
            return;
        }
        if (now && (Kind == fault::doubles || Kind == fault::doubles_and_loses)) peers::shared_queue::post(f);
        peers::shared_queue::post(std::move(f));
    }

    template <class F>
    auto call(F f) {
        const auto result = peers::shared_queue::call(f);
        return result + (Kind == fault::wrong_result && result == 100 ? 1 : 0);
    }

private:
    std::atomic<std::size_t> count_{0};
    bool lose_next_ = false;
};

const bool added_experiments =
    add(experiment{.name = "faulty",
                   .title = "Faulty systems",
                   .about = "Each breaks the rules in one way.",
                   .figures = {{.name = "ns_per_task", .title = "time per task", .unit = "ns"}},
                   .variants = {{.name = "1 producer", .title = "1 producer"}}})
    && add(experiment{.name = "faulty-results",
                      .title = "Wrong results",
                      .about = "Returns one wrong result.",
                      .figures = {{.name = "p50", .title = "P50", .unit = "ns"}},
                      .variants = {{.name = "awake", .title = "awake"}}});

// One cell that is measured at once and, behind it, one that does not end: for the test that interrupts.
const bool added_slow = add(experiment{.name = "slow",
                                       .title = "Slow systems",
                                       .about = "The second one does not end.",
                                       .figures = {{.name = "t", .title = "time", .unit = "ns"}},
                                       .variants = {{.name = "v", .title = "v", .headline = "a rest"}},
                                       .for_tests = true});

void report_once(cell& c) {
    repetition found;
    found.used = c.measure([] {});
    found.figures["t"] = 1;
    c.report(found);
}

void sleep_for_ever(cell& c) {
    report_once(c); // of a cell that is interrupted not even this counts
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

bool add_faulty(const char* experiment, const char* name, void (*run)(cell&), const char* program = "") {
    return add(implementation{
        .experiment = experiment, .name = name, .title = name, .run = run, .program = program});
}

const bool added =
    add_faulty("faulty", "right", &throughput::run<faulty<fault::none>>)
    && add_faulty("faulty", "loses", &throughput::run<faulty<fault::loses>>)
    && add_faulty("faulty", "doubles", &throughput::run<faulty<fault::doubles>>)
    && add_faulty("faulty", "doubles-and-loses", &throughput::run<faulty<fault::doubles_and_loses>>)
    && add_faulty("faulty", "crashes", &throughput::run<faulty<fault::crashes>>)
    && add_faulty("faulty", "hangs", &throughput::run<faulty<fault::hangs>>)
    && add_faulty("faulty", "throws", &throughput::run<faulty<fault::throws>>)
    && add_faulty("faulty", "not-built", nullptr, "no-such-program")
    && add_faulty("slow", "first", &report_once) && add_faulty("slow", "sleeps", &sleep_for_ever)
    && add_faulty("faulty-results", "right", &latency::run<faulty<fault::none>>)
    && add_faulty("faulty-results", "wrong", &latency::run<faulty<fault::wrong_result>>);

} // namespace
} // namespace lab
