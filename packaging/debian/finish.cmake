# Run by CPack for each package, once its files are in place.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog "parley (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}: what has changed is in CHANGELOG.md of its source.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})

function(finish component package)
  set(folder ${root}/${component}/usr/share/doc/${package})
  configure_file(${CPACK_PARLEY_FOLDER}/copyright ${folder}/copyright COPYONLY)
  file(WRITE ${folder}/changelog.Debian "${changelog}")
  file(GLOB files ${root}/${component}/usr/share/man/man*/*.[0-9])
  execute_process(COMMAND gzip -9nf ${files} ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
endfunction()
finish(parley parley-gateway)
finish(libparley libparley${CPACK_PARLEY_ABI})
finish(libparley-dev libparley-dev)
