/// Records a program's requests. `./dev lab replay FILE` then shows whether another way to process requests
/// would have served them better.
#include <ekiden/lanes.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

/// The argument is the name of the trace file. Without an argument, the trace is written to the terminal.
int main(int count, char** words) {
    std::map<std::string, long> stock{{"apples", 0}, {"pears", 0}, {"plums", 0}};
    ekiden::request_log log({.capacity = 100'000});
    ekiden::thread_pool pool({.threads = 2});
    ekiden::lanes<std::string> lanes(pool.get_executor());

    for (long i = 0; i != 30; ++i)
        for (auto& [fruit, number] : stock)
            (void)lanes.post(fruit, log.wrap(fruit, [&number = number, i] { number += i; }));
    pool.wait_idle();

    std::ofstream file;
    if (count > 1) file.open(words[1]);
    std::ostream& out = count > 1 ? file : std::cout;
    const auto found = log.write_csv(out);
    if (!out.flush()) return EXIT_FAILURE;
    std::cerr << found.written << " requests, " << found.unfinished << " not ended, " << found.lost
              << " lost\n";
    return found.written == 90 && found.lost == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
