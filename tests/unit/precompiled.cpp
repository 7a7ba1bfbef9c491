// Empty. The precompiled header of the tests belongs to this source, see CMakeLists.txt.
