// The main function of a user's program of models.
#include <check/driver/command_line.hpp>

int main(int argc, char** argv) { ekiden::check::run(argc, argv, {argv[0], "Explores the models", "", ""}); }
