/// Contexts, strands and keyed systems that break the rules in one way each, under the real workloads.
#include <lab/experiments/io-models/io_models.hpp>
#include <lab/experiments/lanes/lanes.hpp>
#include <lab/experiments/strand/strand.hpp>
#include <lab/experiments/strands-hop/strands_hop.hpp>
#include <lab/harness/registry.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace lab {
namespace {

enum class mishap_kind { none, loses, doubles, reorders };

/// What becomes of the 1,000th task: run(f) runs a task or queues it.
template <mishap_kind Kind>
class mishap {
public:
    template <class Run>
    void pass(std::function<void()> f, Run run) {
        ++count_;
        if (count_ == 1'000 && Kind == mishap_kind::loses) return;
        if (count_ == 1'000 && Kind == mishap_kind::doubles) run(f);
        if (count_ == 1'000 && Kind == mishap_kind::reorders) {
            kept_ = f;
            return;
        }
        run(f);
        if (kept_) run(std::exchange(kept_, nullptr));
    }

private:
    std::uint64_t count_ = 0;
    std::function<void()> kept_;
};

/// A context with one queue, in the names of peers/asio.hpp. Its strands are the context itself: they are
/// right with one thread.
template <mishap_kind Kind>
struct toy {
    class context {
    public:
        explicit context(int) {}
        void restart() {}

        void run() {
            std::unique_lock lock(mutex_);
            for (;;) {
                if (queue_.empty() && (work_ == 0)) break;
                if (queue_.empty()) {
                    changed_.wait(lock);
                    continue;
                }
                const std::function<void()> f = std::move(queue_.front());
                queue_.pop_front();
                ++work_;
                lock.unlock();
                f();
                lock.lock();
                if (--work_ == 0) changed_.notify_all();
            }
        }

        void post(std::function<void()> f) {
            const std::lock_guard lock(mutex_);
            mishap_.pass(std::move(f), [this](const std::function<void()>& g) { queue_.push_back(g); });
            changed_.notify_one();
        }

        void work(int more) {
            const std::lock_guard lock(mutex_);
            if ((work_ += more) == 0) changed_.notify_all();
        }

    private:
        std::mutex mutex_;
        std::condition_variable changed_;
        std::deque<std::function<void()>> queue_;
        mishap<Kind> mishap_;
        int work_ = 0;
    };

    struct strand {
        context* of;
        void post(std::function<void()> f) { of->post(std::move(f)); }
    };

    struct guard {
        context* of;
        explicit guard(context& c) : of(&c) { of->work(1); }
        guard(guard&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
        ~guard() {
            if (of) of->work(-1);
        }
    };

    static strand strand_of(context& c) { return {&c}; }
    template <class Where, class F>
    static void post(Where& where, F f) {
        where.post(std::move(f));
    }
    template <class F>
    static void dispatch(strand&, F f) {
        f();
    }
    template <class F>
    static auto bind(strand, F f) {
        return f;
    }
    static guard keep(context& c) { return guard(c); }
};

/// Runs what it gets at once, under a mutex.
template <mishap_kind Kind>
class toy_lanes {
public:
    static constexpr bool keeps_order = true;
    toy_lanes(unsigned, std::size_t) {}

    template <class F>
    void post(std::uint64_t, F f) {
        const std::lock_guard lock(mutex_);
        mishap_.pass(std::move(f), [](const std::function<void()>& g) { g(); });
    }

private:
    std::mutex mutex_;
    mishap<Kind> mishap_;
};

bool add_experiment(const char* name, const char* variant, const char* figure) {
    return add(experiment{.name = name,
                          .title = name,
                          .about = "Each system breaks the rules in one way.",
                          .figures = {{.name = figure, .title = "time", .unit = "ns"}},
                          .variants = {{.name = variant, .title = variant}}});
}

bool add_mishap(const char* experiment, const char* name, void (*run)(cell&)) {
    return add(implementation{.experiment = experiment, .name = name, .title = name, .run = run});
}

const bool added_strands =
    add_experiment("faulty-strand", "strand", "ns_per_handler")
    && add_mishap("faulty-strand", "right", &strand::run<toy<mishap_kind::none>>)
    && add_mishap("faulty-strand", "loses", &strand::run<toy<mishap_kind::loses>>)
    && add_mishap("faulty-strand", "doubles", &strand::run<toy<mishap_kind::doubles>>)
    && add_mishap("faulty-strand", "reorders", &strand::run<toy<mishap_kind::reorders>>);

const bool added_hops = add_experiment("faulty-hops", "1 thread", "ns_per_hop")
                        && add_mishap("faulty-hops", "right", &strands_hop::run<toy<mishap_kind::none>>)
                        && add_mishap("faulty-hops", "loses", &strands_hop::run<toy<mishap_kind::loses>>)
                        && add_mishap("faulty-hops", "doubles", &strands_hop::run<toy<mishap_kind::doubles>>);

const bool added_lanes =
    add_experiment("faulty-lanes", "Zipf, 10,000 keys, 4 producers", "ns_per_task")
    && add_mishap("faulty-lanes", "right", &lanes::run_posts<toy_lanes<mishap_kind::none>>)
    && add_mishap("faulty-lanes", "loses", &lanes::run_posts<toy_lanes<mishap_kind::loses>>)
    && add_mishap("faulty-lanes", "doubles", &lanes::run_posts<toy_lanes<mishap_kind::doubles>>);

using right_model = io_models::shared<toy<mishap_kind::none>>;
using losing_model = io_models::per_thread<toy<mishap_kind::loses>>;

const bool added_models =
    add_experiment("faulty-models", "produced, 1,000 turns, 2 threads", "ns_per_handler")
    && add_mishap("faulty-models", "right", &io_models::run<right_model>)
    && add_mishap("faulty-models", "loses", &io_models::run<losing_model>);

} // namespace
} // namespace lab
