// SPDX-License-Identifier: Apache-2.0

// What libparley makes of a Brenner message with two kilobytes of Markdown, beside cmark, which
// only reads that Markdown.

import { join } from "node:path";
import { inProcess } from "../lib/inprocess.mjs";
import { root } from "../lib/options.mjs";

const file = join(root, "bench/data/brenner.md");

const validate = {
  id: "validate",
  title: "Brenner validate, 2 KB body",
  unit: "messages/s",
  higherIsBetter: true,
  contenders: {
    parley: inProcess("libparley", "check", () => ["brenner", "markdown", file]),
    cmark: inProcess("cmark_parse_document alone", "markdown", () => [file]),
  },
  ratios: [{ of: "parley", to: "cmark", atLeast: 0.8 }],
};

export default { name: "brenner", title: "Markdown without a server", rows: [validate] };
