# Compiler flags, by what is built: the analyser (may be sanitized) and the runtime (never is).
set(HEDDLE_WARNINGS -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes)
if(HEDDLE_WERROR)
  list(APPEND HEDDLE_WARNINGS -Werror)
endif()

function(heddle_analyser_flags target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${HEDDLE_WARNINGS}>)
  if(HEDDLE_SANITIZE OR HEDDLE_LIBFUZZER)
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(HEDDLE_LIBFUZZER)
      list(APPEND sanitizers -fsanitize=fuzzer-no-link)
    endif()
    target_compile_options(${target} PRIVATE ${sanitizers})
    target_link_options(${target} PRIVATE ${sanitizers})
  endif()
endfunction()

# The runtime lives inside foreign programs: nothing of it is visible but what it exports on purpose,
# its thread-local data needs no allocation, and no instrumentation may call back into it. Fortified
# headers, the default of some distributions, would rename the very functions it defines. Where a hook
# begins in a line of the cache decides up to a sixth of what it costs: always at its beginning.
function(heddle_runtime_flags target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C>:${HEDDLE_WARNINGS}>
    -O2 -g -fPIC -fexceptions -fvisibility=hidden -ftls-model=initial-exec
    -fno-stack-protector -fomit-frame-pointer -fno-tree-slp-vectorize -fno-sanitize=all
    -falign-functions=64 -U_FORTIFY_SOURCE)
  target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-z,defs -Wl,-z,nodelete)
  set_target_properties(${target} PROPERTIES NO_SONAME OFF)
endfunction()
