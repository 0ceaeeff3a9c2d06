# Run by CPack on the tree that becomes the .deb: compressed man pages and changelog, the copyright,
# and zsh's completions where Debian has them.
set(tree "${CPACK_TEMPORARY_DIRECTORY}/usr")
if(NOT EXISTS "${tree}/bin/heddle")
  message(FATAL_ERROR "there is no heddle in ${tree}")
endif()

function(compress)
  execute_process(COMMAND gzip -9n ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "gzip failed")
  endif()
endfunction()

file(GLOB pages "${tree}/share/man/man1/*.1")
foreach(page ${pages})
  file(READ "${page}" text LIMIT 64)
  if(text MATCHES "^\\.so man1/([^\n]*)") # a page that is another
    file(REMOVE "${page}")
    file(CREATE_LINK "${CMAKE_MATCH_1}.gz" "${page}.gz" SYMBOLIC)
  else()
    compress("${page}")
  endif()
endforeach()

set(doc "${tree}/share/doc/heddle")
file(MAKE_DIRECTORY "${doc}")
file(COPY_FILE "${CPACK_HEDDLE_SOURCE}/CHANGELOG.md" "${doc}/changelog")
compress("${doc}/changelog")
file(READ "${CPACK_HEDDLE_SOURCE}/LICENSE" license)
file(WRITE "${doc}/copyright" "${license}")
file(COPY "${CPACK_HEDDLE_SOURCE}/examples" DESTINATION "${doc}")
file(RENAME "${tree}/share/zsh/site-functions" "${tree}/share/zsh/vendor-completions")

# Whoever builds the package may have a umask of their own.
execute_process(COMMAND chmod -R u=rwX,go=rX "${CPACK_TEMPORARY_DIRECTORY}")
