# find_package(heddle): hunts of a project's own tests, run by its own ctest. See heddle-build(1).
#
#   find_package(heddle)
#   if(heddle_FOUND)
#     heddle_add_hunt(queue_test ARGS 4 TIME 30)
#   endif()
#
# HEDDLE_EXECUTABLE is the heddle command.
get_filename_component(_heddle_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(HEDDLE_EXECUTABLE "${_heddle_prefix}/bin/heddle")
set(_heddle_directory "${CMAKE_CURRENT_LIST_DIR}")
if(NOT EXISTS "${HEDDLE_EXECUTABLE}")
  set(heddle_FOUND FALSE)
  set(heddle_NOT_FOUND_MESSAGE "there is no ${HEDDLE_EXECUTABLE}")
  return()
endif()
# For code that includes <heddle/annotate.h>; it works with every compiler.
if(NOT TARGET heddle::annotate)
  add_library(heddle::annotate INTERFACE IMPORTED)
  set_target_properties(heddle::annotate PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_heddle_prefix}/lib/heddle/include")
endif()

# heddle_add_hunt(TARGET [NAME name] [ARGS argument...] [TIME seconds] [STORE file]
#                 [PROJECT name] [REPORT file...] [OPTIONS option...])
#
# Adds the test NAME (hunt.TARGET), which runs `heddle hunt` on the executable TARGET with these
# arguments and fails if that finds something. The executable is that of a second build of the whole
# project, with `heddle cc` as its compiler, in the directory `heddle` of the build tree; the test
# NAME.build makes it and brings it up to date. In a project that is configured with heddle-cc as its
# compiler already, TARGET itself is run.
function(heddle_add_hunt target)
  cmake_parse_arguments(PARSE_ARGV 1 hunt "" "NAME;TIME;STORE;PROJECT" "ARGS;REPORT;OPTIONS")
  if(DEFINED hunt_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_add_hunt(${target}): unknown arguments: ${hunt_UNPARSED_ARGUMENTS}")
  endif()
  if(HEDDLE_INSTRUMENTED) # this is the second build
    return()
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "heddle_add_hunt(${target}): there is no such target")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "EXECUTABLE")
    message(FATAL_ERROR "heddle_add_hunt(${target}): only an executable can be run")
  endif()
  if(NOT hunt_NAME)
    set(hunt_NAME hunt.${target})
  endif()
  if(NOT hunt_TIME)
    set(hunt_TIME 60)
  endif()
  set(options --time ${hunt_TIME} -o ${CMAKE_CURRENT_BINARY_DIR}/${hunt_NAME}.heddle.json)
  if(hunt_STORE)
    list(APPEND options --store ${hunt_STORE})
  endif()
  if(hunt_PROJECT)
    list(APPEND options --project ${hunt_PROJECT})
  endif()
  foreach(file ${hunt_REPORT})
    list(APPEND options --report ${file})
  endforeach()
  math(EXPR timeout "${hunt_TIME} * 2 + 120") # what was found is reproduced after the time
  if("${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}" MATCHES "heddle-c")
    add_test(NAME ${hunt_NAME} COMMAND ${HEDDLE_EXECUTABLE} hunt ${options} ${hunt_OPTIONS} --
      $<TARGET_FILE:${target}> ${hunt_ARGS})
  else()
    add_test(NAME ${hunt_NAME}.build COMMAND ${CMAKE_COMMAND} -DTARGET=${target}
      -DSOURCE=${CMAKE_SOURCE_DIR} -DBINARY=${CMAKE_BINARY_DIR} -DHEDDLE=${HEDDLE_EXECUTABLE}
      -DGENERATOR=${CMAKE_GENERATOR} -DCONFIG=$<CONFIG> -DCC=${CMAKE_C_COMPILER}
      -DCXX=${CMAKE_CXX_COMPILER} -DPACKAGE=${_heddle_directory}
      -P ${_heddle_directory}/heddleBuild.cmake)
    set_tests_properties(${hunt_NAME}.build PROPERTIES LABELS heddle
      FIXTURES_SETUP ${hunt_NAME}.built RESOURCE_LOCK heddle.build TIMEOUT 3600)
    add_test(NAME ${hunt_NAME} COMMAND sh ${_heddle_directory}/heddleHunt.sh ${CMAKE_BINARY_DIR}
      ${CMAKE_CURRENT_BINARY_DIR} $<TARGET_FILE:${target}>
      ${HEDDLE_EXECUTABLE} hunt ${options} ${hunt_OPTIONS} -- ${hunt_ARGS})
    set_tests_properties(${hunt_NAME} PROPERTIES FIXTURES_REQUIRED ${hunt_NAME}.built)
  endif()
  set_tests_properties(${hunt_NAME} PROPERTIES LABELS heddle TIMEOUT ${timeout})
endfunction()
