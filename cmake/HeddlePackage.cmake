# `make package`: a .deb, by CPack. What it depends on is found by dpkg-shlibdeps; compilers are not
# libraries, and libclang reads no source without its own headers.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heddle)
set(CPACK_PACKAGE_CONTACT "the heddle authors <heddle@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds concurrency bugs in C and C++ programs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"From a run that passed, heddle works out which other interleavings of its
threads the program could have taken, proves which of them are wrong, forces
them on the real program, and replays the failures: data races, atomicity and
order violations, deadlocks. Programs are compiled with the command heddle cc
in place of gcc or clang.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libsqlite3 before 3.37 knows no STRICT tables.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "gcc | clang, libc6-dev, binutils,\
 libsqlite3-0 (>= 3.37)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ | clang")
if(TARGET heddle-clang)
  get_target_property(clang_root heddle-clang INSTALL_RPATH)
  if(clang_root MATCHES "llvm-([0-9]+)")
    string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", libclang-common-${CMAKE_MATCH_1}-dev")
  endif()
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, gdb")
# What Debian wants otherwise than `make install` does it.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/HeddlePackageTree.cmake)
set(CPACK_HEDDLE_SOURCE ${CMAKE_SOURCE_DIR})
include(CPack)
