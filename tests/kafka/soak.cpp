// The soak of Kafka: real brokers, worker processes that are killed, stopped and restarted, and a count of
// what became of each record.
//
//   kafka_soak --brokers B --worker "PROGRAM ARGUMENT..." [--mode exactly_once|at_least_once|effects]
//              [--script tools/kafka.sh --cluster DIR] [--records N] ... (books.hpp lists all)
//
// Any program can be the worker. It gets the arguments that chaos.cpp lists, and reports to journal.hpp. The
// exit status is 0 if the run kept the promise of the mode, and 1 otherwise.

#include <tests/kafka/chaos.hpp>
#include <tests/kafka/traffic.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

namespace kafka_soak {
namespace {

using namespace std::chrono_literals;

// The first exception of the threads.
class first_error {
public:
    template <class F>
    void guard(F&& f) {
        try {
            f();
        } catch (const std::exception& error) {
            const std::lock_guard lock(mutex_);
            if (text_.empty()) text_ = error.what();
            has_.store(true);
        }
    }
    [[nodiscard]] bool has() const { return has_.load(); }
    [[nodiscard]] std::string text() const {
        const std::lock_guard lock(mutex_);
        return text_;
    }

private:
    mutable std::mutex mutex_;
    std::string text_;
    std::atomic<bool> has_ = false;
};

struct verdict {
    std::vector<std::string> wrong;
    void demand(bool holds, const std::string& what) {
        if (!holds) wrong.push_back(what);
    }
};

class soak {
public:
    explicit soak(const plan& p) : all_(p), journal_path_("/tmp/ekiden-soak-" + std::to_string(::getpid())) {}

    int run() {
        const plan& p = all_.asked();
        create_topics(p);
        disturb_until_all_is_visible();
        if (error_.has()) {
            std::printf("kafka_soak: the run failed: %s\n", error_.text().c_str());
            return 1;
        }
        report();
        return judge();
    }

private:
    [[nodiscard]] bool has_effects() const { return all_.asked().mode == "effects"; }

    // In the mode `effects`, the reports of the workers are the effects, and the outputs have no meaning.
    void see(const input& what, bool is_dead) {
        if (!has_effects() || is_dead) all_.effect(what, is_dead);
    }

    void disturb_until_all_is_visible() {
        const plan& p = all_.asked();
        const journal_server journal(journal_path_,
                                     [this](const journal_entry& e) { return all_.reported(e); });
        crew workers(all_, journal_path_);
        std::atomic<unsigned> posting = p.posters;
        std::atomic<bool> ended = false;
        std::jthread reader([&] {
            error_.guard([&] {
                read_outputs(
                    p, [this](const input& what, bool is_dead) { see(what, is_dead); },
                    [&] { return ended.load(); });
            });
        });
        std::vector<std::jthread> posters;
        for (std::uint32_t i = 0; i < p.posters; ++i)
            posters.emplace_back([&, i](const std::stop_token& stop) {
                error_.guard([&] { post_all(all_, i, stop); });
                --posting;
            });
        for (std::size_t w = 0; w < workers.size(); ++w) workers.start(w);
        chaos trouble(all_, workers);
        progress_at_ = std::chrono::steady_clock::now();
        error_.guard([&] { trouble.run([&] { return error_.has() || is_over(posting == 0); }); });
        for (auto& poster : posters) poster.request_stop();
        posters.clear();
        if (!error_.has()) error_.guard([&] { wait_for_commits(); });
        end_workers(workers);
        std::this_thread::sleep_for(1s); // what the workers committed last
        ended = true;
        reader.join();
        events_ = trouble.events();
        revived_ = trouble.revived();
        cpu_s_ = workers.cpu_s();
    }

    // The run is over if all records are visible, or if it makes no progress any more.
    bool is_over(bool all_posted) {
        const plan& p = all_.asked();
        const auto now = std::chrono::steady_clock::now();
        const std::size_t visible = all_.visible();
        if (visible != std::exchange(last_visible_, visible)) progress_at_ = now;
        if (is_over_ || (all_posted && all_.waiting() == 0)) return true;
        const seconds stands = now - progress_at_;
        if (stands > p.stall_bound() + 3s) return is_over_ = true; // the worker hangs
        if (!all_posted || stands < 5s || now < next_check_) return false;
        next_check_ = now + 2s;
        return is_over_ = lag_of(p) == 0; // The group has committed what is not visible, so it is lost.
    }

    // A record that was repeated after a rebalance may still run, although its effect is visible.
    void wait_for_commits() {
        const auto until = std::chrono::steady_clock::now() + all_.asked().stall_bound();
        while (lag_of(all_.asked()) > 0 && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(200ms);
    }

    void end_workers(crew& workers) {
        for (std::size_t w = 0; w < workers.size(); ++w) workers.signal(w, SIGTERM);
        for (std::size_t w = 0; w < workers.size(); ++w)
            closed_ = workers.wait(w, 60s) && workers.last_status(w) == 0 && closed_;
    }

    void report() {
        const plan& p = all_.asked();
        counts_ = all_.count();
        lag_ = lag_of(p);
        for (const auto& [name, e] : events_) {
            worst_.merge(e.worst);
            std::printf("  %-8s x%-3zu longest stall: all %5.1f s, kept partition %5.1f s, heir %5.1f s; "
                        "doubled %zu, "
                        "run again %zu\n",
                        name.c_str(), e.count, e.worst.whole.count(), e.worst.kept.count(),
                        e.worst.heir.count(), e.doubled, e.again);
        }
        std::printf("%-14s %9s %6s %8s %6s %7s %9s %8s %7s %7s %9s %8s\n", "mode", "records", "lost",
                    "doubled", "order", "twice", "overlaps", "stall_s", "bound_s", "ended", "cpu_us", "rate");
        const auto n = static_cast<double>(counts_.visible);
        std::printf("%-14s %9zu %6zu %8zu %6zu %7zu %9zu %8.1f %7.1f %7zu %9.1f %8.0f\n", p.mode.c_str(),
                    counts_.sent, counts_.lost, counts_.doubled, counts_.order_violations, counts_.again,
                    counts_.overlaps, worst_.longest().count(), p.stall_bound().count(), revived_,
                    n > 0 ? cpu_s_ / n * 1e6 : 0, all_.usual_rate());
    }

    int judge() {
        const plan& p = all_.asked();
        verdict v;
        v.demand(counts_.lost == 0, "lost records");
        v.demand(counts_.acknowledged == counts_.sent, "records that the brokers did not confirm");
        v.demand(counts_.order_violations == 0, "violations of the order of a key");
        v.demand(counts_.overlaps == 0, "functions of one key that overlap");
        v.demand(counts_.unknown == 0, "effects that no poster sent");
        v.demand(counts_.misplaced == 0, "dead letters that are none, or the reverse");
        if (p.mode == "exactly_once") v.demand(counts_.dead_doubled == 0, "doubled dead letters");
        if (p.mode == "at_least_once")
            v.demand(counts_.doubled <= doubled_bound(),
                     "more doubled records than the workers had not committed");
        else
            v.demand(counts_.doubled == 0, "doubled effects");
        v.demand(worst_.longest() <= p.stall_bound(), "a stall longer than its bound");
        v.demand(closed_, "a worker that did not end well after SIGTERM");
        v.demand(lag_ == 0,
                 "records that the group has not committed after the end: " + std::to_string(lag_));
        for (const std::string& what : v.wrong) std::printf("WRONG: %s\n", what.c_str());
        return v.wrong.empty() ? 0 : 1;
    }

    // Each disturbance repeats at most what the workers held then.
    [[nodiscard]] std::size_t doubled_bound() const {
        std::size_t count = revived_;
        for (const auto& [name, e] : events_) count += name == "rolling" ? 0 : e.count;
        return count * all_.asked().held * all_.asked().partitions;
    }

    books all_;
    std::string journal_path_;
    first_error error_;
    std::map<std::string, event_summary> events_;
    std::size_t revived_ = 0;
    std::size_t last_visible_ = 0;
    time_point progress_at_, next_check_;
    double cpu_s_ = 0;
    bool is_over_ = false, closed_ = true;
    stalls worst_;
    std::int64_t lag_ = 0;
    books::counts counts_{};
};

} // namespace
} // namespace kafka_soak

int main(int count, char** words) try {
    std::signal(SIGPIPE, SIG_IGN);
    return kafka_soak::soak(kafka_soak::plan(kafka_soak::arguments(count, words))).run();
} catch (const std::exception& error) {
    std::fprintf(stderr, "kafka_soak: %s\n", error.what());
    return 2;
}
