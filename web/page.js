// SPDX-License-Identifier: Apache-2.0
// The commands on the page name the address that it was loaded from, whatever port, name or proxy
// that is. Without scripts they name the default one.

for (const element of document.querySelectorAll('.origin')) {
  element.textContent = location.origin;
}
