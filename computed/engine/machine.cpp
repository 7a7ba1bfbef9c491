#include <computed/engine/machine.hpp>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

namespace ekiden::computed {

machine read_machine(const std::string& file) {
    machine made;
    std::map<std::string, std::function<void(double)>> names;
    const auto number = [&names](const char* name, unsigned& place) {
        names[name] = [&place](double value) { place = static_cast<unsigned>(value); };
    };
    const auto cost = [&names](const char* name, picoseconds& place) {
        names[name] = [&place](double value) {
            place = static_cast<picoseconds>(std::llround(value * 1000));
        };
    };
    number("sockets", made.sockets), number("clusters", made.clusters), number("cores", made.cores);
    cost("access", made.access), cost("call", made.call), cost("atomic", made.atomic);
    cost("locked", made.locked), cost("fence", made.fence);
    cost("line_cluster", made.line[0]), cost("line_socket", made.line[1]), cost("line_remote", made.line[2]);
    cost("cold", made.cold), cost("hold", made.hold), cost("share", made.share);
    number("store_buffer", made.store_buffer);
    number("jitter", made.jitter);
    cost("pause", made.pause), cost("yield", made.yield), cost("clock", made.clock);
    cost("futex_wait", made.futex_wait), cost("futex_wake", made.futex_wake);
    cost("wake_each", made.wake_each), cost("wake_queue", made.wake_queue), cost("wake", made.wake),
        cost("wake_deep", made.wake_deep);
    cost("deep_after", made.deep_after), cost("switch", made.context_switch), cost("slice", made.slice);
    cost("create", made.create), cost("membarrier", made.membarrier), cost("answer", made.answer),
        cost("answer_each", made.answer_each), cost("interrupt", made.interrupt);
    cost("allocate", made.allocate), cost("release", made.release), cost("release_other", made.release_other);

    std::ifstream in(file);
    if (!in) throw std::runtime_error(file + ": cannot be read");
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string name;
        if (!(words >> name)) continue;
        if (name == "name") {
            std::getline(words >> std::ws, made.name);
            continue;
        }
        double value = 0;
        const auto found = names.find(name);
        if (found == names.end() || !(words >> value) || !(value >= 0))
            throw std::runtime_error(file + ": invalid or repeated: '" + line + "'");
        found->second(value);
        names.erase(found);
    }
    if (!names.empty()) throw std::runtime_error(file + ": lacks '" + names.begin()->first + "'");
    if (made.total() == 0 || made.total() > 128 || made.store_buffer == 0)
        throw std::runtime_error(file + ": must have 1 to 128 cores and a store buffer");
    if (made.atomic == 0 || made.pause == 0 || made.yield == 0 || made.clock == 0)
        throw std::runtime_error(
            file + ": a loop that waits must take time, so atomic, pause, yield and clock must not be 0");
    return made;
}

} // namespace ekiden::computed
