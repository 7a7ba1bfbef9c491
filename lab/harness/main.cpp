#include <lab/harness/busy_neighbour.hpp>
#include <lab/harness/cell_process.hpp>
#include <lab/harness/command_line.hpp>
#include <lab/harness/registry.hpp>
#include <lab/replay/command_line.hpp>
#include <lab/replay/make_trace.hpp>

#include <algorithm>
#include <string_view>

namespace {

/// Returns whether the arguments are "replay FILE". Otherwise "replay" is one of the experiments, followed by
/// others and by options.
bool asks_for_replay(int argc, char** argv) {
    if (argc < 3 || std::string_view(argv[1]) != "replay") return false;
    const std::string_view next = argv[2];
    const auto known = lab::experiments();
    return next == "--help"
           || (!next.starts_with('-')
               && std::none_of(known.begin(), known.end(), [&](const auto& e) { return e.name == next; }));
}

} // namespace

int main(int argc, char** argv) {
    if (lab::is_busy_neighbour(argc, argv)) return 0;
    if (argc == 3 && std::string_view(argv[1]) == lab::cell_option) return lab::run_cell(argv[2]);
    if (argc >= 2 && std::string_view(argv[1]) == "make-trace")
        return lab::replay::make_trace_command(argc - 1, argv + 1);
    if (asks_for_replay(argc, argv)) return lab::replay::command_line(argc - 1, argv + 1);
    return lab::command_line(argc, argv);
}
