#include "consume.hpp"

#include "cluster.hpp"
#include "process.hpp"

#include <algorithm>
#include <array>

namespace sim_kafka {

using namespace std::chrono_literals;
using ekiden::sim::choose;
using ekiden::sim::expect;
using ekiden::sim::reached;

namespace {

constexpr std::array<const char*, 3> names{"worker 1", "worker 2", "worker 3"};

core::core_options drawn_options() {
    core::core_options chosen;
    chosen.topic = "in";
    chosen.is_transactional = choose(3) != 0;
    chosen.limits.window = 4U << choose(5);
    chosen.limits.held = 2 + choose(10);
    chosen.commit_every = std::chrono::milliseconds(20 + 60 * choose(3));
    chosen.revoke_limit = std::chrono::milliseconds(500 << choose(5));
    chosen.transaction_limit = std::chrono::milliseconds(2000 << choose(2));
    chosen.call_back_off = 50ms;
    chosen.retry.attempts = 1 + choose(3);
    chosen.retry.delay = std::chrono::milliseconds(10 << choose(4));
    chosen.retry.longest_delay = 500ms;
    constexpr std::array policies{ekiden::records::on_failure::stop, ekiden::records::on_failure::dead_letter,
                                  ekiden::records::on_failure::park_key};
    chosen.retry.then = policies[choose(3)];
    if (chosen.retry.then != ekiden::records::on_failure::stop) chosen.retry.dead_letters = "dead";
    return chosen;
}

class world {
public:
    world(ekiden::sim_context& outside, std::size_t partitions, core::core_options chosen)
        : outside_(outside), broker_({.name = "broker"}), cluster_(broker_, partitions),
          options_(std::move(chosen)) {}

    void make_input(std::size_t most);
    void add_worker() {
        const std::size_t i = places_.size();
        places_.push_back(std::make_unique<place_of_worker>(cluster_, names[i]));
        workers_.emplace_back();
        begin(i);
        ekiden::sim::crash_and_restart(names[i], [this, i] { kill(i); }, [this, i] { begin(i); });
    }
    void begin(std::size_t i) {
        if (is_closing_ || (workers_[i] && !workers_[i]->is_over())) return;
        core::core_options mine = options_;
        mine.id = names[i];
        workers_[i] = std::make_shared<process>(cluster_, *places_[i], seen_, mine);
        workers_[i]->start();
    }
    void kill(std::size_t i) {
        if (!workers_[i] || workers_[i]->is_over()) return;
        reached("killed");
        workers_[i]->kill();
        workers_[i].reset();
    }
    void run();
    void check();
    /// Returns whether the partitions from `first` on are committed to their ends.
    [[nodiscard]] bool is_consumed(std::size_t first = 0) const;

    ekiden::sim_context& outside_;
    ekiden::sim_context broker_;
    cluster cluster_;
    const core::core_options options_;
    observations seen_;
    std::vector<std::unique_ptr<place_of_worker>> places_;
    std::vector<std::shared_ptr<process>> workers_;
    unsigned rounds_ = 0;
    unsigned troubles_ = 0;
    bool is_closing_ = false;
    std::function<bool()> is_done_;

private:
    void each_round();
    void trouble();
    void stall();
    void check_once(const std::vector<const output_entry*>& results) const;
    template <class F>
    void after(std::chrono::nanoseconds delay, F&& f) {
        const auto timer = std::make_shared<ekiden::steady_timer>(outside_, delay);
        timer->async_wait([timer, f = std::forward<F>(f)](std::error_code) { f(); });
    }
};

void world::make_input(std::size_t most) {
    const unsigned keys = 1 + choose(4);
    for (std::size_t p = 0; p != cluster_.input.size(); ++p) {
        std::int64_t offset = 0;
        const std::size_t count = 1 + choose(static_cast<std::uint32_t>(most));
        for (std::size_t i = 0; i != count; ++i) {
            offset += choose(12) == 0 ? choose(2) * 5 + choose(60) : 0; // removed by compaction
            input_entry one{offset++, "k" + std::to_string(choose(keys)), choose(10) == 0, 0};
            if (!one.is_hole && choose(12) == 0) {
                const bool is_poison =
                    options_.retry.then != ekiden::records::on_failure::stop && choose(3) == 0;
                seen_.failures_left[{static_cast<std::int32_t>(p), one.offset}] =
                    is_poison ? 1000 : 1 + choose(3);
            }
            cluster_.input[p].push_back(std::move(one));
        }
        cluster_.visible[p] = choose(static_cast<std::uint32_t>(count + 1));
    }
    troubles_ = choose(8);
}

bool world::is_consumed(std::size_t first) const {
    for (std::size_t p = first; p != cluster_.input.size(); ++p) {
        const std::int64_t end = cluster_.input[p].back().offset + 1;
        if (cluster_.stored(static_cast<std::int32_t>(p)).offset != end) return false;
    }
    return !cluster_.has_open_transactions();
}

void world::trouble() {
    const std::size_t i = choose(static_cast<std::uint32_t>(workers_.size()));
    switch (choose(6)) {
    case 0:
        if (workers_[i] && !workers_[i]->is_over())
            workers_[i]->pause(std::chrono::milliseconds(1000 + 4000 * choose(6)));
        break;
    case 1:
        if (workers_[i]) kill(i);
        break;
    case 2:
        if (workers_[i]) workers_[i]->close();
        break;
    default:
        reached("moved");
        broker_.get_executor().post([this] { cluster_.rebalance(); });
    }
}

/// The connections of a worker stand still, each for a time of its own.
void world::stall() {
    const std::size_t i = choose(static_cast<std::uint32_t>(workers_.size()));
    for (connection& wire : places_[i]->wires)
        broker_.get_executor().post(
            [this, &wire, seconds = choose(7)] { wire.stall(broker_, std::chrono::seconds(seconds)); });
}

void world::each_round() {
    ++rounds_;
    broker_.get_executor().post([this] {
        cluster_.expire_members();
        cluster_.expire_transactions();
        for (std::size_t p = 0; p != cluster_.input.size(); ++p)
            cluster_.visible[p] = std::min(cluster_.visible[p] + 2 + choose(6), cluster_.input[p].size());
    });
    if (rounds_ == 60) outside_.end_faults();
    if (troubles_ != 0 && choose(4) == 0) {
        --troubles_;
        trouble();
    }
    if (rounds_ < 60 && choose(6) == 0) stall();
    if (!is_closing_) {
        for (std::size_t i = 0; i != workers_.size(); ++i)
            if ((!workers_[i] || workers_[i]->is_over()) && (rounds_ > 60 || choose(4) == 0)) begin(i);
    }
    const bool is_over = std::all_of(workers_.begin(), workers_.end(),
                                     [](const auto& w) { return w == nullptr || w->is_over(); });
    if (!is_closing_ && troubles_ == 0 && (is_done_ ? is_done_() : is_consumed())) {
        is_closing_ = true;
        outside_.end_faults();
        for (const auto& w : workers_)
            if (w) w->close();
    } else if (is_closing_ && is_over) {
        return;
    }
    after(500ms, [this] { each_round(); });
}

void world::run() {
    after(500ms, [this] { each_round(); });
    outside_.run();
    workers_.clear();
    expect(seen_.payloads == 0, "the memory of all records is freed");
}

void world::check_once(const std::vector<const output_entry*>& results) const {
    std::set<std::pair<std::int32_t, std::int64_t>> once;
    std::map<std::pair<std::int32_t, std::string>, std::int64_t> last;
    std::set<std::pair<std::int32_t, std::string>> parked;
    for (const output_entry* const o : results) {
        expect(once.emplace(o->partition, o->offset).second, "the result of a record is seen once");
        std::int64_t& before = last.try_emplace({o->partition, o->key}, -1).first->second;
        expect(o->offset > before, "the results of a key are seen in the order of its records");
        before = o->offset;
        if (options_.retry.then != ekiden::records::on_failure::park_key) continue;
        const bool is_parked = parked.contains({o->partition, o->key});
        expect(!is_parked || o->topic == "dead", "all later records of a parked key are dead letters");
        if (o->topic == "dead") parked.emplace(o->partition, o->key);
    }
}

void world::check() {
    std::vector<const output_entry*> results;
    std::set<std::pair<std::int32_t, std::int64_t>> handled;
    for (const output_entry& o : cluster_.output) {
        if (o.topic == "dead.parked" || !cluster_.is_visible(o)) continue;
        results.push_back(&o);
        handled.emplace(o.partition, o.offset);
    }
    for (std::size_t p = 0; p != cluster_.input.size(); ++p) {
        for (const input_entry& one : cluster_.input[p]) {
            if (!one.is_hole && !handled.contains({static_cast<std::int32_t>(p), one.offset}))
                ekiden::sim::note("not handled: " + std::to_string(p) + ":" + std::to_string(one.offset));
            expect(one.is_hole || handled.contains({static_cast<std::int32_t>(p), one.offset}),
                   "no record is lost");
        }
    }
    if (options_.is_transactional) check_once(results);
    if (seen_.repeated != 0) reached("handled again");
    reached(options_.is_transactional ? "exactly once" : "at least once");
    for (const output_entry* const o : results)
        if (o->topic == "dead") return reached("dead letters");
}

} // namespace

void consume(ekiden::sim_context& outside) {
    world all(outside, 1 + choose(3), drawn_options());
    all.make_input(25);
    const unsigned workers = 2 + choose(2);
    for (unsigned i = 0; i != workers; ++i) all.add_worker();
    all.run();
    all.check();
}

void refuse(ekiden::sim_context& outside) {
    core::core_options chosen = drawn_options();
    world all(outside, 2, chosen);
    all.make_input(20);
    all.troubles_ = 0;
    const std::array<std::string, 4> foreign{"bUFzdAEC", "not base64", core::to_metadata({0, {false, true}}),
                                             "ZWsCAAAAAAAAAAAC"}; // Parallel Consumer, other, moved, newer
    const stored_offset before{3, foreign[choose(4)]};
    all.cluster_.store_foreign(0, before);
    all.add_worker();
    all.is_done_ = [&] { return all.is_consumed(1) && all.rounds_ > 60; };
    all.run();
    const stored_offset& after = all.cluster_.stored(0);
    expect(after.offset == before.offset && after.metadata == before.metadata, "a foreign commit stays");
    for (const auto& [partition, offset] : all.seen_.seen)
        expect(partition != 0, "no function runs in a partition with a foreign commit");
    reached("refused");
}

void stick(ekiden::sim_context& outside) {
    core::core_options chosen = drawn_options();
    chosen.retry.then = ekiden::records::on_failure::stop;
    chosen.limits.held = 20;
    chosen.limits.window = 25;
    world all(outside, 2, chosen);
    for (std::size_t p = 0; p != 2; ++p) {
        for (std::int64_t offset = 0; offset != 60; ++offset)
            all.cluster_.input[p].push_back(
                {offset, offset == 3 ? "stuck" : "k" + std::to_string(offset % 5)});
        all.cluster_.visible[p] = 60;
    }
    all.seen_.failures_left[{0, 3}] = 1000;
    all.add_worker();
    const auto is_saved = [&] {
        const stored_offset& now = all.cluster_.stored(0);
        const auto done = core::from_metadata(now.offset, now.metadata);
        for (std::int64_t offset = 4; offset != 3 + 25; ++offset)
            if (!done || !done->has(offset)) return false;
        return now.offset == 3; // the stuck record is not committed
    };
    all.is_done_ = [&] { return all.is_consumed(1) && is_saved() && all.rounds_ > 80; };
    all.run();
    expect(is_saved(), "everything in the window is committed, except the stuck record");
    for (std::int64_t offset = 0; offset != 60; ++offset)
        expect(all.seen_.seen.contains({0, offset}) == (offset < 3 + 25),
               "behind a stuck record, other keys continue to the end of the window, and no further");
    reached("stuck");
}

ekiden::sim::options options_of(std::uint64_t seeds) {
    using ekiden::sim::fault;
    ekiden::sim::options chosen;
    chosen.seeds = seeds;
    chosen.faults = {fault::late_task, fault::late_timer, fault::throwing,     fault::link_delay,
                     fault::link_drop, fault::duplicate,  fault::crash_restart};
    chosen.max_steps = 500'000;
    chosen.prints = false;
    return chosen;
}

} // namespace sim_kafka
