// SPDX-License-Identifier: Apache-2.0
// Sets the address in the page's commands to the one that the page was loaded from. Without scripts
// they have the default address.

for (const element of document.querySelectorAll('.origin')) {
  element.textContent = location.origin;
}
