# What `cmake --install build/release --prefix P` puts under a prefix, and `cpack -G DEB` into a
# package:
#   bin/rowhouse, rowhouse-lab            without debug information
#   bin/rowhouse-mpirun, rowhouse-cluster links to the scripts
#   share/rowhouse/launch                 the scripts, which find bin and configs from where they lie
#   share/rowhouse/configs                models as YAML, and flag files
#   share/man/man1                        rowhouse.1 and a page a verb, if help2man is installed
#   share/bash-completion/completions     completion of flags and values in bash
#   share/doc/rowhouse                    README, docs, licence, and those of others whose code is in it
# Tests and what builds from sources (setup.sh, quickstart.sh, test.sh; strategies.sh, which reads
# them) stay in the tree.
include(GNUInstallDirs)
set(SHARE ${CMAKE_INSTALL_DATADIR}/rowhouse)

# Strips what the rules below install, also without --strip.
install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
install(TARGETS rowhouse RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS rowhouse-lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)  # if it was built
install(PROGRAMS launch/mpirun.sh launch/cluster.sh DESTINATION ${SHARE}/launch)
install(PROGRAMS launch/experiments/compression.sh launch/experiments/beyond_memory.sh launch/experiments/soak.sh
        DESTINATION ${SHARE}/launch/experiments)
install(FILES launch/find_rowhouse.sh launch/on_hosts.sh launch/restarts.sh
        DESTINATION ${SHARE}/launch)
install(DIRECTORY configs DESTINATION ${SHARE} FILES_MATCHING PATTERN "*.yaml" PATTERN "*.flags")

file(RELATIVE_PATH TO_SHARE ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/rowhouse)
foreach(SCRIPT mpirun cluster)
  file(CREATE_LINK ${TO_SHARE}/launch/${SCRIPT}.sh ${CMAKE_BINARY_DIR}/generated/rowhouse-${SCRIPT}
       SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/generated/rowhouse-${SCRIPT}
          DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()

# Made from the entries of the settings when installing, by the program that is installed.
find_program(HELP2MAN help2man)
set(SHELL_PAGES ${CMAKE_BINARY_DIR}/generated/shell_pages)
install(CODE "execute_process(
  COMMAND ${CMAKE_COMMAND} -D ROWHOUSE=$<TARGET_FILE:rowhouse> -D OUT=${SHELL_PAGES}
          -D HELP2MAN=$<IF:$<BOOL:${HELP2MAN}>,${HELP2MAN},>
          -P ${CMAKE_SOURCE_DIR}/launch/install/shell_pages.cmake
  COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${SHELL_PAGES}/completion/ DESTINATION
        ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${SHELL_PAGES}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)

# Most libraries are linked, and come as packages of their own. What ends up in the binary, from a
# static library or headers, is named with the copyright file that its package has.
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
# Of what is in pages, made by the build where it puts libraries into them.
install(FILES ${CMAKE_BINARY_DIR}/third_party_notices.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
foreach(PACKAGE librocksdb-dev nlohmann-json3-dev cppzmq-dev libcereal-dev libfmt-dev)
  install(FILES /usr/share/doc/${PACKAGE}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/third_party
          RENAME ${PACKAGE} OPTIONAL)
endforeach()

# ---- The Debian package -----------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rowhouse)
set(CPACK_PACKAGE_VENDOR "Rowhouse maintainers")
set(CPACK_PACKAGE_CONTACT "Rowhouse maintainers <maintainers@rowhouse.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "parameter server for DLRM models larger than memory")
set(CPACK_PACKAGE_DESCRIPTION
  "Rowhouse trains DLRM recommendation models whose embedding tables are larger
than one host's memory. Rows live in shards on PS nodes, in a cache over
RocksDB; workers train the dense part. The result is the same, bit for bit, on
any number of PS nodes, shards and cache sizes.")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
include(CPack)
