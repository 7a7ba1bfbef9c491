// ekiden-check: explores the models of the library's own protocols.
#include <check/driver/command_line.hpp>

int main(int argc, char** argv) {
    ekiden::check::run(argc, argv,
                       {"ekiden-check", "Explores the models of ekiden's protocols", "src/ekiden/",
                        EKIDEN_MODEL_ROOT "/check/survivors.txt"});
}
