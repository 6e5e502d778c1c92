# Debian packages by CPack (scripts/package): a package for each component.
find_program(dpkg dpkg)
if(NOT dpkg OR NOT PARLEY_LIBRARY)
  return()
endif()

# parley_append_upper_bound(DEPENDS PREFIX): to a list of dependencies, that the package of a library
# (PkgConfig::PREFIX) is of the upstream version that parley is built with. Updates within a release of
# Debian keep to that.
function(parley_append_upper_bound depends prefix)
  get_target_property(file PkgConfig::${prefix} INTERFACE_LINK_LIBRARIES)
  list(GET file 0 file)
  file(REAL_PATH ${file} file)
  get_filename_component(name ${file} NAME)
  execute_process(COMMAND dpkg -S "*/${name}" OUTPUT_VARIABLE owner ERROR_QUIET)
  string(REGEX MATCH "^[^:, ]+" package "${owner}")
  if(NOT package OR NOT ${prefix}_VERSION MATCHES "^(.*[^0-9])([0-9]+)$")
    message(STATUS "Debian packages: no upper bound for ${file}, which no package has")
    return()
  endif()
  math(EXPR next "${CMAKE_MATCH_2} + 1")
  set(${depends} "${${depends}}, ${package} (<< ${CMAKE_MATCH_1}${next}~)" PARENT_SCOPE)
endfunction()

set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(maintainer "parley maintainers <parley@localhost>")
if(DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME parley)
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL parley libparley libparley-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# Manuals are compressed there, and each package has its copyright and its changelog.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/finish.cmake)
set(CPACK_PARLEY_FOLDER ${CMAKE_CURRENT_LIST_DIR})
set(CPACK_PARLEY_ABI ${abi})

# Not "parley": that is KDE's vocabulary trainer in Debian, whose higher version apt would upgrade
# ours to. It has a /usr/bin/parley, too.
set(CPACK_DEBIAN_PARLEY_PACKAGE_NAME parley-gateway)
set(CPACK_DEBIAN_PARLEY_PACKAGE_CONFLICTS parley)
set(CPACK_DEBIAN_PARLEY_PACKAGE_SECTION net)
set(CPACK_COMPONENT_PARLEY_DESCRIPTION [[
gateway for AI agents that use message protocols
An HTTP server in front of NATS JetStream: it checks each message that an
agent sends against the rules of its protocol, explains what is wrong and how
to fix it, publishes valid messages, and streams them to readers. Its commands
check and convert messages without a server.

The protocols are VLP, Round Table, supervisor IPC and Brenner.
]])
set(CPACK_DEBIAN_PARLEY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PARLEY_PACKAGE_DEPENDS
  "systemd | systemd-standalone-sysusers | systemd-sysusers")
# dpkg-shlibdeps only knows from which version on a library fits. libmicrohttpd has an upper bound:
# parley relies on more of it than its header promises (gateway/http/server/http_trial.c), and 0.9.75 and 1.0
# differ in that, though they have the same soname: a package of Debian 12 would survive the upgrade
# to 13. The other library of which that is true is nats.c (gateway/nats/connection/bus_private.h), whose soname,
# and so the package's name, changes with each minor version.
parley_append_upper_bound(CPACK_DEBIAN_PARLEY_PACKAGE_DEPENDS MICROHTTPD)
set(CPACK_DEBIAN_PARLEY_PACKAGE_RECOMMENDS nats-server)
foreach(script IN ITEMS conffiles postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_PARLEY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/${script})
endforeach()

set(CPACK_DEBIAN_LIBPARLEY_PACKAGE_NAME libparley${abi})
set(CPACK_DEBIAN_LIBPARLEY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBPARLEY_DESCRIPTION [[
checks the messages of AI agents: shared library
The rules of VLP, Round Table, supervisor IPC and Brenner, and the readers of
their encodings. It says of a message whether it is valid, and if not, what is
wrong, where, and how to fix it.
]])
set(CPACK_DEBIAN_LIBPARLEY_PACKAGE_SHLIBDEPS ON)
# Which package a program needs that links it; and that the cache of ld.so changes with it.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/shlibs
  "libparley ${abi} libparley${abi} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBPARLEY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/shlibs
  ${CMAKE_CURRENT_LIST_DIR}/triggers)

set(CPACK_DEBIAN_LIBPARLEY-DEV_PACKAGE_NAME libparley-dev)
set(CPACK_DEBIAN_LIBPARLEY-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBPARLEY-DEV_DESCRIPTION [[
checks the messages of AI agents: files for development
The headers of libparley, and what pkg-config and CMake need to know to compile
a program with it.
]])
set(CPACK_DEBIAN_LIBPARLEY-DEV_PACKAGE_DEPENDS "libparley${abi} (= ${PROJECT_VERSION}-1)")

foreach(component IN ITEMS PARLEY LIBPARLEY LIBPARLEY-DEV)
  string(STRIP "${CPACK_COMPONENT_${component}_DESCRIPTION}" CPACK_COMPONENT_${component}_DESCRIPTION)
endforeach()

include(CPack)
