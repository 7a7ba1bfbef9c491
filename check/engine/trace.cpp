// The trace of a failing execution for the table, and the memory orders that a mutant changes.
#include <check/engine/engine.hpp>
#include <check/engine/text.hpp>

#include <string_view>

namespace ekiden::check {

void engine::record(std::string what, std::string value, std::string why, const site& where) {
    events.push_back(
        {running, std::move(what), std::move(value), std::move(why), where.file_name(), where.line()});
}

std::string engine::name_of(const location& l) const { return "a" + std::to_string(l.id); }

std::string engine::why_visible(const location& l, unsigned at, unsigned lowest) const {
    const auto author = [&](unsigned position_of) {
        const message& m = l.messages[position_of];
        if (m.event == no_event) return std::string("initial");
        return "#" + std::to_string(m.event) + " by T" + std::to_string(m.thread);
    };
    std::string why = author(at);
    if (at + 1U == l.count) {
        if (lowest == at && l.count > 1) why += ", must be seen";
        return why;
    }
    return why + "; newer " + author(l.count - 1U) + " is not ordered before this";
}

order engine::mutated(order how, const site& where, const char* what, bool on_failure) {
    if (discovering) {
        if (how == order::relaxed) return how;
        // Most accesses come from a known site. Comparing strings for each of them would take half of the
        // search time.
        const std::tuple key(where.file_name(), where.line(), where.column(), what, how, on_failure);
        if (known_sites.insert(key).second)
            found.sites.insert({where.file_name(), where.line(), where.column(), what, how, on_failure});
        return how;
    }
    const order_site& at = mutant->at;
    if (where.line() != at.line || where.column() != at.column || on_failure != at.on_failure
        || how != at.how)
        return how;
    return at.file == where.file_name() && at.what == what ? mutant->becomes : how;
}

} // namespace ekiden::check
