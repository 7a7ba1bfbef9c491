/// Experiment io-models: ways to distribute handlers over contexts and threads.
///
/// Modeled on the source: handlers that run an empty loop, and the time until the last one has run. A model
/// exists for one repetition: construct it, call post() from outside or beforehand, and call run() in each of
/// its threads.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/tally.hpp>
#include <lab/harness/together.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lab::io_models {

/// Contexts with several threads each.
template <class Library>
class contexts {
public:
    contexts(unsigned count, unsigned threads_each) : threads_each_(threads_each) {
        for (unsigned i = 0; i < count; ++i) {
            contexts_.emplace_back(static_cast<int>(threads_each));
            guards_.emplace_back(Library::keep(contexts_.back()));
        }
    }

    [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(contexts_.size()) * threads_each_; }

    /// Posts a handler, or starts a chain, with this number. Any thread.
    template <class F>
    void post(std::uint64_t number, F f) {
        Library::post(contexts_[number % contexts_.size()], std::move(f));
    }

    /// No more handlers come from outside, so the threads may end when all have run.
    void close() {
        for (auto& guard : guards_) guard.reset();
    }

    void run(unsigned thread) { contexts_[thread / threads_each_].run(); }

private:
    unsigned threads_each_;
    std::deque<typename Library::context> contexts_;
    std::vector<std::optional<decltype(Library::keep(std::declval<typename Library::context&>()))>> guards_;
};

template <class Library>
struct shared : contexts<Library> {
    explicit shared(unsigned threads) : contexts<Library>(1, threads) {}
};

template <class Library>
struct per_thread : contexts<Library> {
    explicit per_thread(unsigned threads) : contexts<Library>(threads, 1) {}
};

/// Two contexts with half of the threads each, for four threads.
template <class Library>
struct hybrid : contexts<Library> {
    explicit hybrid(unsigned threads) : contexts<Library>(2, threads / 2) {}
};

/// One context with one thread, which passes the work of each handler to a pool of the other threads. Needs
/// at least two threads.
template <class Library>
class half_sync {
public:
    explicit half_sync(unsigned threads) : context_(1), guard_(Library::keep(context_)), pool_(threads - 1) {}

    [[nodiscard]] unsigned threads() const { return 1; } // the threads that call run()

    template <class F>
    void post(std::uint64_t, F f) {
        Library::post(context_, [this, f = std::move(f)] { Library::post(pool_, f); });
    }

    void close() { guard_.reset(); }

    void run(unsigned) {
        context_.run();
        Library::join(pool_);
    }

private:
    typename Library::context context_;
    std::optional<decltype(Library::keep(std::declval<typename Library::context&>()))> guard_;
    typename Library::pool pool_;
};

/// The meaning of a variant's name: "beforehand, 1,000 turns, 2 threads".
struct setting {
    enum class way { beforehand, produced, chained };
    way how = way::beforehand;
    std::uint64_t turns = 0;
    unsigned threads = 1;
};

inline setting parse(const std::string& variant) {
    setting s;
    s.how = variant.starts_with("beforehand") ? setting::way::beforehand
            : variant.starts_with("produced") ? setting::way::produced
                                              : setting::way::chained;
    s.turns = variant.find("5,000") != std::string::npos ? 5'000 : 1'000;
    s.threads = static_cast<unsigned>(variant[variant.find(" thread") - 1] - '0');
    return s;
}

/// A handler that runs an empty loop.
struct looping {
    std::uint64_t turns;
    void operator()() const {
        empty_loop(turns);
        tally::instance().hit();
    }
};

/// A handler that runs an empty loop, then posts the next one of its chain. The end of the last chain closes
/// the model.
template <class Model>
struct chained {
    Model* model;
    std::atomic<std::uint32_t>* chains;
    std::uint32_t chain;
    std::uint32_t left;
    std::uint64_t turns;

    void operator()() const {
        empty_loop(turns);
        tally::instance().hit();
        if (left > 0)
            model->post(chain, chained{model, chains, chain, left - 1, turns});
        else if (chains->fetch_sub(1) == 1)
            model->close();
    }
};

constexpr std::uint32_t chains = 64;

/// Runs one repetition with about `count` handlers. Returns its figures.
template <class Model>
repetition once(cell& c, const setting& s, std::uint64_t count) {
    Model model(s.threads);
    const std::uint64_t before = tally::instance().count();
    const std::uint64_t each = count / chains;
    std::atomic<std::uint32_t> open{chains};
    repetition found;
    const auto post_all = [&] {
        for (std::uint64_t i = 0; i < each * chains; ++i) model.post(i, looping{s.turns});
        model.close();
    };
    const double begin_s = usage_now().wall_s;
    if (s.how == setting::way::beforehand)
        post_all();
    else if (s.how == setting::way::chained)
        for (std::uint32_t i = 0; i < chains; ++i)
            model.post(i, chained<Model>{&model, &open, i, static_cast<std::uint32_t>(each - 1), s.turns});
    const double posted_s = usage_now().wall_s - begin_s;
    found.used = together(
        c, model.threads(), [&](unsigned thread) { model.run(thread); },
        [&] {
            if (s.how == setting::way::produced) post_all();
        });
    tally::instance().check(c, before + each * chains);
    const auto handlers = static_cast<double>(each * chains);
    found.figures = {{"ns_per_handler", found.used.wall_s * 1e9 / handlers},
                     {"cpu_ns", found.used.cpu_s() * 1e9 / handlers}};
    if (s.how == setting::way::beforehand) found.figures["post_ns"] = posted_s * 1e9 / handlers;
    return found;
}

/// Returns the number of handlers of a repetition.
inline std::uint64_t handlers(const cell& c) { return c.pick(6'400, 200'000, 1'000'000); }

template <class Model>
void run(cell& c) {
    const setting s = parse(c.asked().variant);
    once<Model>(c, s, handlers(c) / 4);
    for (unsigned r = 0; c.again(r); ++r) c.report(once<Model>(c, s, handlers(c)));
}

/// The loops without any context, distributed over the threads. No model can be faster.
inline void run_loops_alone(cell& c) {
    const setting s = parse(c.asked().variant);
    const std::uint64_t each = handlers(c) / s.threads;
    for (unsigned r = 0; c.again(r); ++r) {
        const std::uint64_t before = tally::instance().count();
        repetition found;
        found.used = together(c, s.threads, [&](unsigned) {
            for (std::uint64_t i = 0; i < each; ++i) looping{s.turns}();
        });
        tally::instance().check(c, before + each * s.threads);
        const auto loops = static_cast<double>(each * s.threads);
        found.figures = {{"ns_per_handler", found.used.wall_s * 1e9 / loops},
                         {"cpu_ns", found.used.cpu_s() * 1e9 / loops}};
        c.report(found);
    }
}

} // namespace lab::io_models
