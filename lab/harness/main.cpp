#include <lab/harness/cell_process.hpp>
#include <lab/harness/command_line.hpp>

#include <string_view>

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == lab::cell_option) return lab::run_cell(argv[2]);
    return lab::command_line(argc, argv);
}
