#include <lab/experiments/tracing/ekiden_programs.hpp>
#include <lab/harness/registry.hpp>

#include <ekiden/observe/trace.hpp>

namespace lab::tracing {
namespace {

template <bool IsOn>
class ekiden_trace : public whole_programs {
public:
    using whole_programs::whole_programs;

    static void begin() {
        if constexpr (IsOn) ekiden::trace::start();
    }
    static void end() { ekiden::trace::stop(); }

    static void moments(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) ekiden::trace::mark("moment", static_cast<std::uint32_t>(i));
    }
    static void intervals(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) const ekiden::trace::span here("interval");
    }

    /// Checks that the events were recorded, and that none was recorded while tracing was off.
    static void verify(const cell& c) {
        std::size_t found = 0;
        for (const auto& track : ekiden::trace::take().tracks) found += track.events.size();
        const bool records = IsOn && !c.asked().variant.ends_with("lock"); // no wait need occur in these
        if ((records && found == 0) || (!IsOn && found != 0))
            c.fail(std::to_string(found) + " events are in the trace");
    }
};

const bool added_off = add(implementation{.experiment = "tracing",
                                          .name = "ekiden-off",
                                          .title = "ekiden, off",
                                          .run = &run<ekiden_trace<false>>,
                                          .order = 1,
                                          .ranked = false});
const bool added_on = add(implementation{.experiment = "tracing",
                                         .name = "ekiden",
                                         .title = "ekiden",
                                         .run = &run<ekiden_trace<true>>,
                                         .order = 0});

} // namespace
} // namespace lab::tracing
