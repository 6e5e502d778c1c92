# What tests are made of is compiled for short compiling where a sanitizer makes that long: their own
# loops are not where the time goes.
add_library(parley_test_flags INTERFACE)
target_link_libraries(parley_test_flags INTERFACE parley_flags)
if(PARLEY_SANITIZE)
  target_compile_options(parley_test_flags INTERFACE -O0)
endif()
# cmocka 2 has two functions in the place of assert_in_range, and cmocka 1 has that alone.
target_compile_definitions(parley_test_flags INTERFACE CMOCKA_DISABLE_DEPRECATION_WARNINGS)

# parley_fixture(name SOURCES file… LIBRARIES …): objects that several tests link, compiled once.
function(parley_fixture name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE parley_test_flags PkgConfig::CMOCKA ${ARG_LIBRARIES})
endfunction()

# parley_test(name LIBRARIES …): a cmocka program tests/unit/name.c (or FILE), run by ctest as "unit/name".
# THREADS: it, or a library below it, starts threads (strace -f -e clone3 shows them); ThreadSanitizer's
# build makes and runs only these. Every TIMEOUT is what only a defect reaches, on a busy machine and under
# a sanitizer too.
function(parley_test name)
  cmake_parse_arguments(ARG "THREADS" "LABEL;FILE" "LIBRARIES;SOURCES" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(ARG_THREADS)
    list(APPEND ARG_LABEL threads)
  endif()
  if(NOT ARG_FILE)
    set(ARG_FILE ${name}.c)
  endif()
  add_executable(${name} ${ARG_FILE} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE parley_test_flags PkgConfig::CMOCKA ${ARG_LIBRARIES})
  target_compile_definitions(${name} PRIVATE PARLEY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME unit/${name} COMMAND ${name})
  set_tests_properties(unit/${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 600)
  if(PARLEY_SANITIZE STREQUAL thread AND NOT ARG_THREADS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endfunction()

# parley_thorough(name rounds): the test "name" once more as "name_thorough", a slow one, with many
# more rounds of what it does by chance or one after another (tests/lib/rounds.h).
function(parley_thorough name rounds)
  get_test_property(${name} ENVIRONMENT environment)
  if(NOT environment)
    set(environment)
  endif()
  add_test(NAME ${name}_thorough COMMAND ${ARGN})
  set_tests_properties(${name}_thorough PROPERTIES LABELS "library;slow" TIMEOUT 600
    ENVIRONMENT "${environment};PARLEY_TEST_ROUNDS=${rounds}")
endfunction()

# What the sanitizers are to do, for whoever calls ctest, by a preset or by hand, and for every
# program that a test starts: ctest reads this file first, and its environment is the tests'.
if(PARLEY_SANITIZE)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/SanitizerOptions.cmake @ONLY CONTENT [[
set(ENV{ASAN_OPTIONS} "detect_stack_use_after_return=1:$ENV{ASAN_OPTIONS}")
set(ENV{LSAN_OPTIONS}
  "suppressions=@PROJECT_SOURCE_DIR@/tests/lsan.supp:print_suppressions=0:$ENV{LSAN_OPTIONS}")
set(ENV{UBSAN_OPTIONS} "print_stacktrace=1:$ENV{UBSAN_OPTIONS}")
set(ENV{TSAN_OPTIONS}
  "suppressions=@PROJECT_SOURCE_DIR@/tests/tsan.supp:halt_on_error=1:$ENV{TSAN_OPTIONS}")
]])
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY
    TEST_INCLUDE_FILES ${PROJECT_BINARY_DIR}/SanitizerOptions.cmake)
endif()
