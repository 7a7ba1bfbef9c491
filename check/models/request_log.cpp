// request_log: each request is written either completely or not at all, and is counted once.
#include <check/engine/model.hpp>
#include <ekiden/observe/request_log.hpp>
#include <ekiden/sys/thread.hpp>

#include <sstream>
#include <string>

namespace request_log_models {

using namespace ekiden;

namespace {

/// Returns the counts. Checks that each line has a valid key.
request_log::summary write(const request_log& log) {
    std::ostringstream out;
    const request_log::summary found = log.write_csv(out);
    std::istringstream in(out.str());
    std::string line;
    std::uint64_t lines = 0;
    for (std::getline(in, line); std::getline(in, line); ++lines) {
        const std::string key = line.substr(line.find(',') + 1, 1);
        check::that(key == "7" || key == "8", "the key of the request is there");
    }
    check::that(lines == found.written, "as many lines as are counted");
    return found;
}

} // namespace

EKIDEN_MODEL(request_log_written_meanwhile,
             .about = "a request that ends while the log is written is in it whole, or not at all",
             .preemptions = 4) {
    request_log log({.capacity = 2, .plain_numbers = true, .salt = {1, 1}});
    sys::thread other([&] {
        auto request = log.wrap(7, [] {});
        request();
    });
    auto request = log.wrap(8, [] {});
    request();
    const request_log::summary found = write(log);
    check::that(found.lost == 0 && found.written >= 1 && found.written + found.unfinished <= 2, "some");
    other.join();
    check::that(write(log).written == 2, "both");
}

EKIDEN_MODEL(request_log_full, .about = "what is beyond the capacity is lost, and counted",
             .preemptions = 4) {
    request_log log({.capacity = 1, .plain_numbers = true, .salt = {1, 1}});
    sys::thread other([&] { log.wrap(7, [] {})(); });
    log.wrap(8, [] {})();
    other.join();
    const request_log::summary found = write(log);
    check::that(found.written == 1 && found.unfinished == 0 && found.lost == 1, "one of two");
}

} // namespace request_log_models
