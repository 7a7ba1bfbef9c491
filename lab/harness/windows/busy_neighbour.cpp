#include <lab/harness/busy.hpp>
#include <lab/harness/busy_neighbour.hpp>
#include <lab/harness/system.hpp>
#include <lab/harness/windows/process.hpp>

#include <cstdlib>
#include <stdexcept>

namespace lab {
namespace {

// There is no fork(), so a busy neighbor is the program of the cell again, with this argument.
constexpr const char* option = "--busy-neighbour";

} // namespace

busy_neighbour::busy_neighbour(int processor) {
    const started_process started =
        start_process(own_program().string(), {option, std::to_string(processor)}, {});
    if (started.process == nullptr) throw std::runtime_error("lab: no process for a busy neighbour");
    process_ = reinterpret_cast<std::intptr_t>(new started_process(started));
}

busy_neighbour::~busy_neighbour() {
    auto* const started = reinterpret_cast<started_process*>(process_);
    end_process(*started);
    delete started;
}

bool is_busy_neighbour(int argc, char** argv) {
    if (argc != 3 || std::string_view(argv[1]) != option) return false;
    bind_this_thread({std::atoi(argv[2])}, 0);
    for (;;) static_cast<void>(turn(1'000'000, 1));
}

} // namespace lab
