# What a shell needs to complete a command, from its --help (man.awk has the form). Fields by tabs:
#
#   command NAME WHAT-IT-DOES
#   operand NAME KIND                      protocol, file, or a word as it is
#   flag    NAME --FLAG -L KIND WHAT       KIND: none, file, folder, any, or the values with commas

function kind_of(value) {
    return value == "" ? "none" : value == "FILE" ? "file" : value == "DIR" ? "folder" : "any"
}

function operand(kind) {
    if (!((command, kind) in is_operand)) {
        is_operand[command, kind] = 1
        print "operand\t" command "\t" kind
    }
}

# "--format human" of a list, and of several entries all values together.
function take_flag(flag, letter, value, what) {
    if (!(flag in kind)) {
        order[++count] = flag
    }
    if (value ~ /^[a-z]/) {
        kind[flag] = kind[flag] ~ /^(|none|any)$/ ? value : kind[flag] "," value
    } else if (!(flag in kind)) {
        kind[flag] = kind_of(value)
    }
    if (value !~ /^[a-z]/ && what_of[flag] == "") { # not what one of the values means
        what_of[flag] = what
    }
    if (letter != "") {
        letter_of[flag] = letter
    }
}

BEGIN { print "command\t" command "\t" does }

# Of the synopsis: what is in capitals and no option is an operand.
/^(Usage:|       parley)/ {
    sub(/^(Usage:)? *parley [a-z]+ */, "")
    gsub(/\[?--[a-z-]+ [^ \]]+\]?|\[OPTION\]…/, "")
    word_count = split($0, words, " ")
    for (i = 1; i <= word_count; i++) {
        word = words[i]
        gsub(/[^A-Za-z]/, "", word)
        if (word == "PROTOCOL") {
            operand("protocol")
        } else if (word == "FILE") {
            operand("file")
        } else if (word ~ /^[a-z]+$/) {
            operand(word)
        }
    }
    next
}

# A description may be on the line below.
wanted != "" && /^   / {
    sub(/^ +/, "")
    what_of[wanted] = $0
}
{ wanted = "" }

/^  -/ {
    letter = value = what = ""
    at = match(substr($0, 3), /   *[^ ]/)
    tag = at ? substr($0, 3, at - 1) : substr($0, 3)
    what = at ? substr($0, at + 2) : ""
    sub(/^ +/, "", what)
    word_count = split(tag, words, " ")
    for (i = 1; i <= word_count; i++) {
        if (words[i] ~ /^-.,$/) {
            letter = substr(words[i], 1, 2)
        } else if (words[i] ~ /^--/) {
            flag = words[i]
        } else {
            value = words[i]
        }
    }
    take_flag(flag, letter, value, what)
    wanted = what == "" && value !~ /^[a-z]/ ? flag : ""
}

END {
    for (i = 1; i <= count; i++) {
        flag = order[i]
        what = what_of[flag]
        sub(/ \[[^\]]*\]$/, "", what)
        print "flag\t" command "\t" flag "\t" letter_of[flag] "\t" kind[flag] "\t" what
    }
}
