# The completion for zsh, from table.awk's table.

# Within '…[…]:…:…'.
function quoted(text) {
    gsub(/'/, "'\\''", text)
    gsub(/[\[\]:]/, "\\\\&", text)
    return text
}

function action_of(kind) {
    if (kind == "file") {
        return ":file:_files"
    }
    if (kind == "folder") {
        return ":folder:_files -/"
    }
    if (kind == "any") {
        return ":value:"
    }
    gsub(/,/, " ", kind)
    return ":value:(" kind ")"
}

$1 == "command" {
    names[++count] = $2
    does[$2] = $3
}

$1 == "operand" && $3 != "file" {
    operands[$2] = operands[$2] (operands[$2] == "" ? "" : " ") ($3 == "protocol" ? protocols : $3)
}
$1 == "operand" && $3 == "file" { takes_files[$2] = 1 }

$1 == "flag" {
    what = ($6 == "" ? "" : "[" quoted($6) "]") ($5 == "none" ? "" : action_of($5))
    line = $4 == "" ? "'" $3 what "'" : "'(" $4 " " $3 ")'{" $4 "," $3 "}'" what "'"
    flags[$2] = flags[$2] " \\\n            " line
}

END {
    print "#compdef parley"
    print "# zsh completion for parley. Made from --help by packaging/manual/zsh.awk."
    print ""
    print "_parley() {"
    print "    local -a commands=("
    for (i = 1; i <= count; i++) {
        print "        '" names[i] ":" quoted(does[names[i]]) "'"
    }
    print "    )"
    print "    if ((CURRENT == 2)); then"
    print "        _describe command commands"
    print "        return"
    print "    fi"
    print "    local command=$words[2]"
    print "    shift words"
    print "    ((CURRENT--))"
    print "    case $command in"
    for (i = 1; i <= count; i++) {
        name = names[i]
        printf "    %s)\n        _arguments -s -S%s", name, flags[name]
        if (operands[name] != "") {
            printf " \\\n            '1:what:(%s)'", operands[name]
        }
        if (takes_files[name]) {
            printf " \\\n            '*:file:_files'"
        }
        print "\n        ;;"
    }
    print "    esac"
    print "}"
    print ""
    print "_parley \"$@\""
}
