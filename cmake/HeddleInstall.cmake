# Installed tree: bin/heddle with its two compiler aliases, lib/heddle/ for the runtime (found from
# the executable as ../lib/heddle, so the whole prefix can be moved), headers, man pages, completions.
if(TARGET heddle)
  install(TARGETS heddle RUNTIME DESTINATION bin)
  install(FILES ${CMAKE_BINARY_DIR}/heddle-cc ${CMAKE_BINARY_DIR}/heddle-c++ DESTINATION bin)
endif()
if(TARGET heddle_rt)
  install(TARGETS heddle_rt LIBRARY DESTINATION lib/heddle)
endif()
if(TARGET heddle-clang)
  install(TARGETS heddle-clang RUNTIME DESTINATION lib/heddle)
endif()
install(FILES ${CMAKE_BINARY_DIR}/heddle-gcc.specs DESTINATION lib/heddle)
# From lib/heddle/heddle-tools back to bin/heddle.
install(CODE "
  set(tools \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/heddle/heddle-tools\")
  file(MAKE_DIRECTORY \"\${tools}\")
  file(CREATE_LINK ../../../bin/heddle \"\${tools}/as\" SYMBOLIC)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${CMAKE_INSTALL_PREFIX}/lib/heddle/heddle-tools/as\")")
# For any compiler, and beside the runtime, where `heddle cc` looks for it.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/heddle DESTINATION include)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/heddle DESTINATION lib/heddle/include)

# A man page is a file of docs/ whose title names a section: "# heddle-record(1)".
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
set(man_pages)
foreach(page ${pages})
  file(STRINGS ${page} title LIMIT_COUNT 1 REGEX "^# heddle[-a-z+]*\\(1\\)")
  if(title)
    string(REGEX REPLACE "^# (heddle[-a-z+]*)\\(1\\).*" "\\1" name "${title}")
    set(output ${CMAKE_BINARY_DIR}/man/${name}.1)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
      COMMAND awk -f ${CMAKE_SOURCE_DIR}/scripts/md2man ${page} > ${output}
      DEPENDS ${page} ${CMAKE_SOURCE_DIR}/scripts/md2man VERBATIM)
    list(APPEND man_pages ${output})
  endif()
endforeach()
# heddle c++ shares its page with heddle cc.
file(WRITE ${CMAKE_BINARY_DIR}/man/heddle-c++.1 ".so man1/heddle-cc.1\n")
add_custom_target(man ALL DEPENDS ${man_pages})
install(FILES ${man_pages} ${CMAKE_BINARY_DIR}/man/heddle-c++.1 DESTINATION share/man/man1)

install(FILES completions/heddle.bash DESTINATION share/bash-completion/completions RENAME heddle)
install(FILES completions/_heddle DESTINATION share/zsh/site-functions)
install(FILES completions/heddle.fish DESTINATION share/fish/vendor_completions.d)

# find_package(heddle) in other projects.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES cmake/package/heddleConfig.cmake cmake/package/heddleBuild.cmake
  cmake/package/heddleHunt.sh   ${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake DESTINATION lib/cmake/heddle)
