/// The main function of an executable that only runs cells for ekiden-lab. It exists for cells that another
/// compiler has built.
#include <lab/harness/cell_process.hpp>

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == lab::cell_option) return lab::run_cell(argv[2]);
    std::fputs("this program is started by ekiden-lab\n", stderr);
    return 2;
}
