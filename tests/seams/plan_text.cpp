/// Writes plans as text.
#include "plan.hpp"

#include <array>
#include <string>

namespace seams {

namespace {

void print(std::string& out, const plan& p, const std::vector<action>& all, unsigned depth) {
    for (const action& a : all) {
        if (!chosen().is_on(a)) continue;
        out += std::string(4 + 2 * depth, ' ') + std::to_string(a.index) + ": ";
        out += std::string(name_of(a.what)) + " place " + std::to_string(a.place) + ", context "
               + std::to_string(a.context) + ", number " + std::to_string(a.number);
        if (a.throws) out += ", throws";
        if (a.calls_back) out += ", its destructor posts";
        out += "\n";
        print(out, p, a.body, depth + 1);
    }
}

std::string text_of(const context_plan& c) {
    constexpr std::array<const char*, 4> types{"pool", "loop", "loop pool", "simulated"};
    std::string out = types[static_cast<unsigned>(c.what)];
    out += " threads=" + std::to_string(c.threads);
    if (c.max_threads != 0)
        out += " max_threads=" + std::to_string(c.max_threads) + " keep_alive="
               + std::to_string(c.keep_alive_ms) + "ms watch=" + std::to_string(c.watch_ms) + "ms";
    if (c.what == context_plan::type::loop) out += c.hint == 1 ? " hint=1" : " hint=many";
    if (c.spin_us != 0) out += " spin";
    out += c.is_graceful ? ", ends when idle" : ", ends by stop()";
    if (c.ends_early) out += ", may end early";
    if (c.is_paused) out += ", is paused";
    out += c.joins_first ? ", join()" : ", destructor";
    return out;
}

} // namespace

std::string text_of(const plan& p) {
    std::string out = "  contexts:\n";
    for (unsigned i = 0; i != p.contexts.size(); ++i)
        out += "    " + std::to_string(i) + ": " + text_of(p.contexts[i]) + "\n";
    constexpr std::array<const char*, 4> policies{"reject", "block", "drop_oldest", "drop_newest"};
    out += "  places:\n";
    for (unsigned i = 0; i != p.places.size(); ++i) {
        const place_plan& at = p.places[i];
        out += "    " + std::to_string(i) + ": ";
        if (at.what == place_plan::type::plain) out += "plain, thread " + std::to_string(at.number);
        if (at.what == place_plan::type::strand) out += "strand";
        if (at.what == place_plan::type::lane) {
            const lanes_plan& g = p.groups[at.number];
            out += "lane " + std::to_string(at.key) + " of lanes " + std::to_string(at.number)
                   + ", lane_capacity=" + std::to_string(g.lane_capacity) + " capacity="
                   + std::to_string(g.capacity) + " " + policies[static_cast<unsigned>(g.policy)];
            if (g.fails_each != 0) out += ", executor throws each " + std::to_string(g.fails_each);
            if (g.keys_call_back) out += ", destructors of keys post";
        }
        out += ", on context " + std::to_string(at.context) + "\n";
    }
    for (unsigned i = 0; i != p.drivers.size(); ++i) {
        out += "  driver " + std::to_string(i) + ":\n";
        print(out, p, p.drivers[i], 0);
    }
    return out;
}

} // namespace seams
