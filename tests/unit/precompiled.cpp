// Nothing: the precompiled header of the tests belongs to it, see CMakeLists.txt.
