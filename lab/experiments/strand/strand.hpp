/// Experiment strand: the cost of posting a handler to a context and running it, with and without a strand in
/// between.
///
/// As in the source, a thread posts all handlers beforehand and then runs the context to its end. Each
/// handler knows its number and checks that it runs in its turn. A strand, and a context with one thread,
/// must keep the order.
#pragma once

#include <lab/harness/cell.hpp>

#include <cstdint>
#include <string>

namespace lab::strand {

/// Counts the handlers as they run. Not thread-safe: the strand or the single thread must serialize them.
class line {
public:
    void arrive(std::uint64_t number) noexcept {
        if (number != arrived_ && first_wrong_ == none) first_wrong_ = number;
        ++arrived_;
    }

    /// Fails the cell unless exactly the handlers 0 to `count` - 1 have run, in order.
    void check(const cell& c, std::uint64_t count) const {
        if (first_wrong_ != none) c.fail("handler " + std::to_string(first_wrong_) + " came out of turn");
        if (arrived_ != count)
            c.fail(std::to_string(arrived_) + " handlers ran where " + std::to_string(count)
                   + " were posted");
    }

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    std::uint64_t arrived_ = 0;
    std::uint64_t first_wrong_ = none;
};

struct handler {
    line* of;
    std::uint64_t number;
    void operator()() const noexcept { of->arrive(number); }
};

/// The old style: the context runs this, which passes the handler to the strand.
template <class Library>
struct wrapped {
    typename Library::strand to;
    handler inner;
    void operator()() { Library::dispatch(to, inner); }
};

/// Posts `count` handlers in the way `way`.
template <class Library>
void post_all(const std::string& way, typename Library::context& context, typename Library::strand& strand,
              line& all, std::uint64_t count) {
    if (way == "none")
        for (std::uint64_t i = 0; i < count; ++i) Library::post(context, handler{&all, i});
    else if (way == "strand")
        for (std::uint64_t i = 0; i < count; ++i) Library::post(strand, handler{&all, i});
    else if (way == "bind")
        for (std::uint64_t i = 0; i < count; ++i)
            Library::post(context, Library::bind(strand, handler{&all, i}));
    else
        for (std::uint64_t i = 0; i < count; ++i) Library::post(context, wrapped<Library>{strand, {&all, i}});
}

template <class Library>
void run(cell& c) {
    const std::uint64_t count = c.pick(20'000, 1'000'000, 10'000'000);
    typename Library::context context(1);
    auto strand = Library::strand_of(context);
    const auto each = [count](const usage& used) { return used.wall_s * 1e9 / static_cast<double>(count); };
    // The first round proves the order and lets the library allocate all the memory that it needs.
    for (unsigned r = 0; r == 0 || c.again(r - 1); ++r) {
        line all;
        repetition found;
        const auto post = [&] { post_all<Library>(c.asked().variant, context, strand, all, count); };
        const auto go = [&] { context.run(); };
        if (r == 0) {
            post();
            go();
        } else {
            const usage posted = c.measure(post);
            const usage ran = c.measure(go);
            found.used = {.wall_s = posted.wall_s + ran.wall_s,
                          .user_s = posted.user_s + ran.user_s,
                          .system_s = posted.system_s + ran.system_s,
                          .voluntary_switches = posted.voluntary_switches + ran.voluntary_switches,
                          .involuntary_switches = posted.involuntary_switches + ran.involuntary_switches};
            found.figures = {{"ns_per_handler", each(found.used)},
                             {"post_ns", each(posted)},
                             {"run_ns", each(ran)},
                             {"cpu_ns", found.used.cpu_s() * 1e9 / static_cast<double>(count)}};
        }
        context.restart();
        all.check(c, count);
        if (r > 0) c.report(found);
    }
}

} // namespace lab::strand
