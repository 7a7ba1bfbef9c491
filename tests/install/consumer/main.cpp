/// A user's program, as small as can be. The install test builds it in each way that the library offers.
#include <ekiden/sys/parker.hpp>

int main() {
    ekiden::sys::parker parker;
    parker.unpark();
    parker.park();
    return 0;
}
