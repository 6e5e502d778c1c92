# A page of the manual (mdoc) from what `parley COMMAND --help` prints, which has this form:
#
#   Usage: parley COMMAND …     the synopsis, one or more lines
#   text                        paragraphs, with a blank line between them
#   Heading:                    after a blank line: a section
#     --flag VALUE  what it     a list: an entry is indented by two; the lines that are indented
#                   does        further belong to it
#     literal                   directly below a line of text: as it is
#   Example…:                   a section as it is; in the page they are below the exit status
#   Exit status: text
#
# awk -v page=parley-serve -v date='May 1, 2026' -v version=… -v see='parley 1,parley.conf 5'
#   -v does=… -f man.awk HELP
# makes parley-serve(1). With -v keys='listen,data,…' it makes parley.conf(5) from the help of serve:
# the options that are keys of the file.

# --- troff ---

# mdoc would take words of two letters for macros.
function argument(word) {
    word = escape(word)
    return word ~ /^[A-Z%][a-z]$/ ? "\\&" word : word
}

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/…/, "...", text) # not every locale has one
    return text
}

function literal(line) {
    line = escape(line)
    gsub(/'/, "\\(aq", line)
    gsub(/`/, "\\(ga", line)
    gsub(/\^/, "\\(ha", line)
    gsub(/~/, "\\(ti", line)
    return line ~ /^[.]/ ? "\\&" line : line
}

# A hyphen within a word stays one; those of options are minus signs. Names are not broken.
function prose(word) {
    if (word ~ /--|^-/) {
        return escape(word)
    }
    gsub(/\\/, "\\e", word)
    gsub(/…/, "...", word)
    return (word ~ /_/ ? "\\%" : "") word
}

function put(line) {
    if (line ~ /^[.']/) {
        line = "\\&" line
    }
    if (line != "") {
        print line
    }
}

# A paragraph, a sentence beginning a line.
function flush_text(    words, count, i, line, word) {
    count = split(text, words, " ")
    text = ""
    for (i = 1; i <= count; i++) {
        word = prose(words[i])
        if (line != "" && length(line) + length(word) > 75) {
            put(line)
            line = ""
        }
        line = line (line == "" ? "" : " ") word
        if (word ~ /[.:?]\)?$/ && word !~ /^(e\.g|i\.e|vs)\.$/) {
            put(line)
            line = ""
        }
    }
    put(line)
}

function end_block() {
    flush_text()
    if (in_list) {
        print ".El"
    }
    if (in_literal) {
        print ".Ed"
    }
    in_list = in_literal = 0
}

function section(title) {
    end_block()
    print ".Sh " toupper(title)
    is_fresh = 1
}

function paragraph() {
    if (!is_fresh) {
        print ".Pp"
    }
    is_fresh = 0
}

function begin_literal() {
    flush_text()
    if (!in_literal) {
        print ".Bd -literal -offset indent"
        in_literal = 1
    }
}

# ".It Fl Fl format Cm human" of "--format human".
function entry(tag,    words, count, i, word, line) {
    count = split(tag, words, " ")
    for (i = 1; i <= count; i++) {
        word = words[i]
        comma = word ~ /,$/ ? " ," : ""
        sub(/,$/, "", word)
        if (keys != "" && i == 1) {
            line = line " Cm " argument(substr(word, 3))
        } else if (word ~ /^--/) {
            line = line " Fl Fl " argument(substr(word, 3))
        } else if (word ~ /^-/) {
            line = line " Fl " argument(substr(word, 2))
        } else if (word ~ /[A-Z]/) {
            line = line " Ar " argument(word)
        } else {
            line = line " Cm " argument(word)
        }
        line = line comma
    }
    if (keys != "" && count == 1) {
        line = line " Cm true | false"
    }
    flush_text()
    if (!in_list) {
        print ".Bl -tag -width Ds"
        in_list = 1
    }
    is_fresh = 0
    print ".It" line
}

# --- the page ---

function begin_page(    name) {
    name = page
    sub(/-/, " ", name)
    print ".\\\" Made from `" name " --help` by packaging/manual/man.awk."
    print ".Dd " date
    print ".Dt " toupper(page) " " (keys != "" ? 5 : 1)
    print ".Os parley " version
    section("Name")
    print ".Nm " page
    print ".Nd " does
    if (keys != "") {
        section("Description")
        text = "The configuration file of"
        flush_text()
        print ".Xr parley-serve 1 ,"
        text = "which reads it with --config FILE. Its keys are the options without their dashes."
        flush_text()
        is_fresh = 0
    } else {
        section("Synopsis")
    }
}

function synopsis(line,    words, count, i) {
    sub(/^(Usage:)? */, "", line)
    count = split(line, words, " ")
    print ".Nm " words[1] (words[2] ~ /^[a-z]/ ? " " words[2] : "")
    line = ""
    for (i = words[2] ~ /^[a-z]/ ? 3 : 2; i <= count; i++) {
        line = line (line == "" ? "" : " ") escape(words[i])
    }
    put(line)
}

function see_also(    pages, count, i, word) {
    section("See also")
    count = split(see, pages, ",")
    for (i = 1; i <= count; i++) {
        split(pages[i], word, " ")
        print ".Xr " word[1] " " word[2] (i < count ? " ," : "")
    }
}

BEGIN {
    begin_page()
    is_usage = 1
    split(keys, listed, ",")
    for (i in listed) {
        is_key["--" listed[i]] = 1
    }
}

is_usage && /^(Usage:|  )/ {
    if (keys == "") {
        synopsis($0)
    }
    next
}

is_usage {
    is_usage = 0
    is_blank = 1
    if (keys == "") {
        section("Description")
    }
    is_description = 1
    next
}

# parley.conf(5) has text of its own before the list.
keys != "" && is_description && !/^Options:$/ { next }
{ is_description = 0 }

/^$/ {
    is_blank = 1
    if (in_literal) {
        end_block()
    } else if (!in_list) {
        flush_text()
    }
    next
}

/^Exit status: / {
    if (keys != "") {
        exit
    }
    is_blank = is_example = 0
    section("Exit status")
    sub(/^Exit status: /, "")
}

is_blank && /^[A-Z][A-Za-z ,]*:$/ && length($0) < 40 {
    is_blank = 0
    is_example = /^Example/
    if (is_example) {
        end_block()
    } else {
        sub(/:$/, "")
        section(keys != "" && $0 == "Options" ? "Keys" : $0)
    }
    next
}

is_example && /^  / {
    examples = examples literal(substr($0, 3)) "\n"
    next
}

/^  / && (in_literal || (!in_list && !is_blank && text != "")) {
    begin_literal()
    print literal(substr($0, 3))
    is_blank = 0
    next
}

/^  [^ ]/ {
    is_blank = 0
    sub(/^ +/, "")
    at = match($0, /   *[^ ]/)
    tag = at ? substr($0, 1, at - 1) : $0
    split(tag, words, " ")
    is_skipped = keys != "" && !(words[1] in is_key)
    if (!is_skipped) {
        entry(tag)
        text = at ? substr($0, at) : ""
    }
    next
}

/^   / && in_list {
    if (!is_skipped) {
        text = text " " $0
    }
    next
}

{
    if (in_list || in_literal) {
        end_block()
    }
    if (keys != "" && is_blank && !in_format) {
        in_format = 1
        section("Format")
    }
    if (is_blank) {
        flush_text()
        paragraph()
    }
    is_example = is_blank = is_fresh = 0
    text = text " " $0
}

function print_examples() {
    if (examples != "") {
        section("Examples")
        printf ".Bd -literal\n%s.Ed\n", examples
    }
}

END {
    end_block()
    if (keys == "") {
        print_examples()
    }
    see_also()
}
