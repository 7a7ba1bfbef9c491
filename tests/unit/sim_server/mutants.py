"""Writes the ordered server's logic with mutants that can be switched on: mutants.py SOURCES OUT

Each mutant has a name, a file, a text that occurs there exactly once, and its replacement. MUTANT in the replacement is
true if this mutant is on. So the sources themselves contain no mutants. If a text has changed, this script reports an
error.
"""

import os
import sys

MUTANTS = [
    ("a request that is run on the spot overtakes those of its key", "connection.cpp",
     "(busiest == nullptr || busiest->under_way == 0)",
     "(MUTANT || busiest == nullptr || busiest->under_way == 0)"),
    ("a connection asks for room without its turn", "connection.cpp",
     "if (turn_ != nullptr && place(*unplaced_))",
     "if ((MUTANT ? unplaced_ != nullptr : turn_ != nullptr) && place(*unplaced_))"),
    ("two writes are in flight", "connection.cpp",
     "if (is_sending_ || is_closed()) return;",
     "if ((!MUTANT && is_sending_) || is_closed()) return;"),
    ("two reads are in flight", "connection.cpp",
     "if (is_receiving_ || is_closed()",
     "if ((!MUTANT && is_receiving_) || is_closed()"),
    ("input that waits for room is read over", "connection.cpp",
     "|| !input_.empty()) return;\n    if (phase_ == phase::open",
     "|| (!MUTANT && !input_.empty())) return;\n    if (phase_ == phase::open"),
    ("requests are taken after the end has begun", "connection.cpp",
     "    if (phase_ == phase::open) {\n        progress_",
     "    if (MUTANT || phase_ == phase::open) {\n        progress_"),
    ("a connection ends with requests under way", "connection.cpp",
     "!requests_.empty() || !output_.empty()",
     "(!MUTANT && !requests_.empty()) || !output_.empty()"),
    ("a connection ends with replies that are partly sent", "connection.cpp",
     "|| !sending_.empty()) return;\n    if (has_client_ended_)",
     "|| (!MUTANT && !sending_.empty())) return;\n    if (has_client_ended_)"),
    ("a connection is closed at once, not by turns", "connection.cpp",
     "if (has_client_ended_) return abort();",
     "if (MUTANT || has_client_ended_) return abort();"),
    ("a partial write counts as a whole one", "connection.cpp",
     "sent_ += bytes;",
     "sent_ += MUTANT ? sending_.size() - sent_ : bytes;"),
    ("room for replies is told to nobody", "connection.cpp",
     "may not have been read\n    proceed();",
     "may not have been read\n    MUTANT ? (send(), end_if_done(), receive(), watch()) : proceed();"),
    ("the end closes instead of finishing", "server.cpp",
     "one->finish();",
     "MUTANT ? one->abort() : one->finish();"),
    ("a connection that is closed is never forgotten", "connection.cpp",
     "if (is_closed() && under_way_ == 0) server_.forget(*this);",
     "if (!MUTANT && is_closed() && under_way_ == 0) server_.forget(*this);"),
    ("room in a lane is told to nobody", "server.cpp",
     "while (!of.waiting.empty()) {",
     "while (!MUTANT && !of.waiting.empty()) {"),
    ("room in a lane is given to a connection that is closed", "server.cpp",
     "if (!next || next->is_closed()) continue;",
     "if (!next || (!MUTANT && next->is_closed())) continue;"),
    ("a client is given up while the server works", "connection.cpp",
     "if (!requests_.empty()) return time_point::max();",
     "if (!MUTANT && !requests_.empty()) return time_point::max();"),
    ("QUIT is not the last request", "connection.cpp",
     "if (asked.what == verb::quit) refuse_more();",
     "if (!MUTANT && asked.what == verb::quit) refuse_more();"),
    ("a reply that is known already overtakes others", "connection.cpp",
     "    r.is_done = true;\n    request_bytes_ += r.bytes();\n",
     "    if (MUTANT) output_ += std::exchange(r.text, {});\n    r.is_done = true;\n    request_bytes_ += r.bytes();\n"),
    ("a request that comes back wakes nobody", "desk.cpp",
     "if (before == nullptr) network_.post",
     "if (before == nullptr && !(MUTANT && done.what == verb::work)) network_.post"),
    ("collected requests are not looked at", "desk.cpp",
     "if (!canceled) drain();",
     "if (!canceled && !MUTANT) drain();"),
    ("requests of one key are on two lanes", "desk.cpp",
     "        return log_ ? lanes_.post(r.of, log_->wrap(r.of->key, work)) : lanes_.post(r.of, work);",
     "        static account other(\"\", 1);\n        return lanes_.post(MUTANT && r.what == verb::work ? &other : r.of, work);"),
    ("a request is run on the spot although it shares a key with one under way", "connection.cpp",
     "a.under_way > busiest->under_way) busiest = &a;",
     "(!MUTANT && a.under_way > busiest->under_way)) busiest = &a;"),
    ("a request with several keys has only one", "desk.cpp",
     "{ keys.push_back(&a); });",
     "{ if (!MUTANT || keys.empty()) keys.push_back(&a); });"),
    ("requests that write are posted as readers", "desk.cpp",
     "r.what == verb::mget ?",
     "MUTANT || r.what == verb::mget ?"),
    ("a WAIT leaves its lane while it waits", "desk.cpp",
     "        ekiden::spawn_in_turn(lanes_, r.of, wait, back,",
     "        const auto options = ekiden::spawn_options().stop(get_stop_token());\n"
     "        if (MUTANT) return ekiden::co_spawn(lanes_.get_executor(r.of), wait, back, options), true;\n"
     "        ekiden::spawn_in_turn(lanes_, r.of, wait, back,"),
    ("a WAIT does not ask for room in its lane", "desk.cpp",
     "if (lanes_.depth(r.of) >= capacity_)",
     "if (!MUTANT && lanes_.depth(r.of) >= capacity_)"),
    ("a WAIT is not told of the end", "desk.cpp",
     "ekiden::spawn_options().stop(get_stop_token()));",
     "MUTANT ? ekiden::spawn_options() : ekiden::spawn_options().stop(get_stop_token()));"),
    ("a WAIT that is stopped does not come back", "desk.cpp",
     "{ ended(r, failure); }",
     "{ if (!MUTANT || failure == nullptr) ended(r, failure); }"),
    ("a WAIT is run on the spot", "connection.cpp",
     "if (r.what == verb::wait) return false;",
     "if (!MUTANT && r.what == verb::wait) return false;"),
    ("a write has less time if the server has taken its own", "connection.cpp",
     "    progress_ = clock::now(); // until now",
     "    if (!MUTANT) progress_ = clock::now(); // until now"),
    ("a request has less time if the server has not read it", "connection.cpp",
     "    begun_ = progress_ = clock::now();",
     "    (MUTANT ? progress_ : begun_) = progress_ = clock::now();"),
]


def main(sources, out):
    texts = {}
    for number, (name, file, before, after) in enumerate(MUTANTS):
        if file not in texts:
            with open(os.path.join(sources, file), encoding="utf-8") as source:
                texts[file] = source.read()
        if texts[file].count(before) != 1:
            sys.exit(f"mutants.py: '{name}': this stands in {file} {texts[file].count(before)} times, not once: {before}")
        texts[file] = texts[file].replace(before, after.replace("MUTANT", f"(sim_server::mutant == {number})"))
    for file, text in texts.items():
        with open(os.path.join(out, file), "w", encoding="utf-8") as target:
            target.write("namespace sim_server {\nextern int mutant;\n}\n" + text)
    with open(os.path.join(out, "mutants.inc"), "w", encoding="utf-8") as target:
        target.writelines(f'"{name}",\n' for name, *_ in MUTANTS)


main(*sys.argv[1:])
