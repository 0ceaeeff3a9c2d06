# heddle-clang, the helper that reads C and C++ sources with libclang (src/source/clang_*.c). Without
# libclang everything else is built, and the commands that read sources say what is missing.
# HEDDLE_CLANG_ROOT chooses one of several (default: Debian's libclang-14-dev, else any).
file(GLOB llvm_roots /usr/lib/llvm-14 /usr/lib/llvm-[0-9]*)
set(HEDDLE_CLANG_ROOT "" CACHE PATH "Prefix of the libclang to use, as /usr/lib/llvm-14")

# Adds the helper `target` with the libclang below `root`; nothing if it is not complete.
function(heddle_clang_helper target root)
  find_path(${target}_include clang-c/Index.h PATHS ${root}/include NO_DEFAULT_PATH)
  find_library(${target}_library NAMES clang PATHS ${root}/lib NO_DEFAULT_PATH)
  # libclang finds no stddef.h without its resources, which are a package of their own.
  file(GLOB headers ${root}/lib/clang/*/include/stddef.h)
  if(NOT ${target}_include OR NOT ${target}_library OR NOT headers)
    return()
  endif()
  list(GET headers 0 header)
  get_filename_component(resources ${header} DIRECTORY)
  get_filename_component(resources ${resources} DIRECTORY)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/source/clang_*.c)
  add_executable(${target} ${sources})
  heddle_analyser_flags(${target})
  target_include_directories(${target} SYSTEM PRIVATE ${${target}_include})
  target_compile_definitions(${target} PRIVATE
    HEDDLE_LIBCLANG=1 HEDDLE_CLANG_RESOURCES="${resources}")
  target_link_libraries(${target} PRIVATE heddle_all ${${target}_library})
  set_target_properties(${target} PROPERTIES BUILD_RPATH ${root}/lib INSTALL_RPATH ${root}/lib)
endfunction()

foreach(root ${HEDDLE_CLANG_ROOT} ${llvm_roots})
  if(NOT TARGET heddle-clang AND EXISTS ${root})
    heddle_clang_helper(heddle-clang ${root})
  endif()
endforeach()
if(NOT TARGET heddle-clang)
  message(STATUS "libclang-14-dev and libclang-common-14-dev not found: heddle can't read sources")
endif()

# A second one for the tests, with a libclang that tells operators apart (since 17): its answers and
# the shape rule's check each other.
if(HEDDLE_TESTS)
  foreach(root /usr/lib/llvm-22 /usr/lib/llvm-19)
    if(NOT TARGET heddle-clang-opcodes AND EXISTS ${root})
      heddle_clang_helper(heddle-clang-opcodes ${root})
    endif()
  endforeach()
endif()
