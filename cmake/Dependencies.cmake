# Third-party libraries, looked up with pkg-config: nats.c's CMake configuration is broken in Debian,
# and jansson and libmicrohttpd have none. What one protocol alone needs is looked up in its folder.
find_package(PkgConfig)
find_package(Threads REQUIRED)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is not installed. On Debian: apt-get install pkg-config")
endif()

# parley_library(PREFIX PACKAGE MODULE…): the target PkgConfig::PREFIX. PACKAGE is what to install
# where it is missing, as Debian names it; parley_report names all that are.
function(parley_library prefix package)
  if(NOT TARGET PkgConfig::${prefix})
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
    if(NOT ${prefix}_FOUND)
      parley_note_missing(${package} ${ARGN})
    endif()
  endif()
endfunction()

# Notes that PACKAGE is missing, and says what was looked for.
function(parley_note_missing package)
  set_property(GLOBAL APPEND PROPERTY PARLEY_MISSING ${package})
  list(JOIN ARGN " " looked_for)
  message(STATUS "Not found: ${looked_for}")
endfunction()

# parley_msgpack(): the target PkgConfig::MSGPACK. From version 6 on msgpack-c is found by its CMake
# package, since Debian 13's msgpack-c.pc names a relative folder; before, by pkg-config's msgpack.
function(parley_msgpack)
  find_package(msgpack-c CONFIG QUIET GLOBAL)
  if(TARGET PkgConfig::MSGPACK)
    return()
  elseif(TARGET msgpack-c)
    add_library(PkgConfig::MSGPACK INTERFACE IMPORTED GLOBAL)
    target_link_libraries(PkgConfig::MSGPACK INTERFACE msgpack-c)
    return()
  endif()
  pkg_check_modules(MSGPACK QUIET IMPORTED_TARGET GLOBAL msgpack)
  if(NOT MSGPACK_FOUND)
    parley_note_missing(libmsgpack-dev "msgpack-c (CMake package) or msgpack (pkg-config)")
  endif()
endfunction()

parley_library(MICROHTTPD libmicrohttpd-dev libmicrohttpd>=0.9.75)
parley_library(JANSSON libjansson-dev jansson>=2.14)
parley_library(NATS libnats-dev libnats>=3.0 libnats<4)
parley_library(SODIUM libsodium-dev libsodium)
parley_library(LIBCRYPTO libssl-dev libcrypto>=3)
parley_library(LIBSSL libssl-dev libssl>=3)
parley_library(ZLIB zlib1g-dev zlib)
parley_library(ZSTD libzstd-dev libzstd)
parley_library(YAML libyaml-dev yaml-0.1)
parley_library(SQLITE libsqlite3-dev sqlite3>=3.35)
parley_library(CURL libcurl4-openssl-dev libcurl>=7.88)

# PARLEY_NATS_SOURCE: which of gateway/nats/connection/library_*.c is compiled (ADR 49). The functions
# that nats.h does not declare are called once here, with the nats.c that parley is built with.
set(PARLEY_NATS_FUNCTIONS AUTO CACHE STRING
  "What of nats.c parley calls: EXPORTED functions too, DOCUMENTED ones alone, or AUTO")
set_property(CACHE PARLEY_NATS_FUNCTIONS PROPERTY STRINGS AUTO EXPORTED DOCUMENTED)
function(parley_choose_nats_source)
  set(choice ${PARLEY_NATS_FUNCTIONS})
  if(choice STREQUAL "AUTO" AND TARGET PkgConfig::NATS)
    if(NOT DEFINED PARLEY_NATS_EXPORTED_WORKS)
      try_run(status is_linked ${PROJECT_BINARY_DIR}/probe_nats
        ${PROJECT_SOURCE_DIR}/cmake/probe_nats.c LINK_LIBRARIES PkgConfig::NATS)
      set(works FALSE)
      if(is_linked AND status EQUAL 0)
        set(works TRUE)
      endif()
      set(PARLEY_NATS_EXPORTED_WORKS ${works} CACHE INTERNAL
        "Whether functions that nats.h does not declare do what parley expects")
    endif()
    set(choice DOCUMENTED)
    if(PARLEY_NATS_EXPORTED_WORKS)
      set(choice EXPORTED)
    else()
      message(WARNING "nats.c ${NATS_VERSION}: functions that parley calls for speed, and nats.h does "
        "not declare, are missing or work differently. parley is built with nats.h alone: sending "
        "costs more, and the version of nats-server is not known (docs/adr/0049-nats-by-two-ways.md).")
    endif()
  endif()
  string(TOLOWER "${choice}" choice)
  set(PARLEY_NATS_SOURCE library_${choice}.c PARENT_SCOPE)
endfunction()
parley_choose_nats_source()

# PARLEY_BUILDS_TESTS: PARLEY_TESTS with AUTO decided.
set(PARLEY_BUILDS_TESTS ${PARLEY_TESTS})
if(PARLEY_TESTS STREQUAL "AUTO")
  pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
  set(PARLEY_BUILDS_TESTS ${CMOCKA_FOUND})
elseif(PARLEY_TESTS)
  parley_library(CMOCKA libcmocka-dev cmocka)
endif()

# Ends the configuration with an error that names every missing package, or says what is built.
function(parley_report)
  get_property(missing GLOBAL PROPERTY PARLEY_MISSING)
  if(missing)
    list(REMOVE_DUPLICATES missing)
    list(JOIN missing " " missing)
    message(FATAL_ERROR "Libraries are missing. On Debian: apt-get install ${missing}\n"
      "or run ./scripts/run, which installs what parley needs, and ./scripts/test, "
      "which installs what the tests need.")
  endif()
  message(STATUS "parley ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE} build")
  if(PARLEY_BUILDS_TESTS)
    message(STATUS "Tests: built. ./scripts/test installs what they need to run, and runs them")
  elseif(PARLEY_TESTS STREQUAL "AUTO")
    message(STATUS "Tests: not built, because cmocka was not found. To build them: "
      "apt-get install libcmocka-dev, then run cmake again")
  else()
    message(STATUS "Tests: not built, because PARLEY_TESTS is OFF")
  endif()
endfunction()
