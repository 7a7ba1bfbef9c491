#include <lab/harness/cell.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace lab {

const char* to_string(scale s) {
    switch (s) {
    case scale::smoke:
        return "smoke";
    case scale::quick:
        return "quick";
    case scale::full:
        return "full";
    }
    return "?";
}

cell::cell(settings asked, int report_descriptor)
    : asked_(std::move(asked)), report_descriptor_(report_descriptor), cpus_(usable_cpus()) {}

std::size_t cell::pick(std::size_t smoke, std::size_t quick, std::size_t full) const {
    switch (asked_.scale) {
    case scale::smoke:
        return smoke;
    case scale::quick:
        return quick;
    case scale::full:
        return full;
    }
    return smoke;
}

bool cell::again(unsigned done) const {
    constexpr double next_to_nothing_s = 0.12;
    constexpr unsigned most = 5;
    return done < asked_.repetitions
           || (asked_.scale != scale::smoke && done < most * asked_.repetitions
               && measured_s_ < next_to_nothing_s);
}

void cell::bind_if_asked() {
    if (!asked_.pinned || bound_) return;
    bind_all_threads(cpus_);
    bound_ = true;
}

void cell::place_this_thread(unsigned index) const {
    if (asked_.pinned) bind_this_thread(cpus_, index);
}

void cell::report(const repetition& done) const {
    for (const auto& [name, value] : done.figures) { // JSON cannot represent infinity or NaN
        if (!std::isfinite(value)) fail("the figure " + name + " is no number: " + std::to_string(value));
    }
    const nlohmann::json line = {{"repetition",
                                  {{"wall_s", done.used.wall_s},
                                   {"user_s", done.used.user_s},
                                   {"system_s", done.used.system_s},
                                   {"voluntary_switches", done.used.voluntary_switches},
                                   {"involuntary_switches", done.used.involuntary_switches},
                                   {"figures", done.figures},
                                   {"series", done.series}}}};
    send(line.dump());
}

void cell::fail(const std::string& reason) const {
    send(nlohmann::json{{"failed", reason}}.dump());
    _exit(0);
}

void cell::not_applicable(const std::string& reason) const {
    send(nlohmann::json{{"not applicable", reason}}.dump());
    _exit(0);
}

void cell::send(const std::string& line) const {
    const std::string text = line + '\n';
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t n = write(report_descriptor_, text.data() + sent, text.size() - sent);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(3); // the driver has terminated
        sent += static_cast<std::size_t>(n);
    }
}

} // namespace lab
