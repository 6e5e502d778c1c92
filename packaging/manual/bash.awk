# The completion for bash, from table.awk's table. It needs nothing of bash-completion, but is loaded
# by it when `parley` is first completed.

$1 == "command" { commands = commands (commands == "" ? "" : " ") $2 }

$1 == "operand" {
    operands[$2] = operands[$2] ($3 == "protocol" ? " " protocols : $3 == "file" ? "" : " " $3)
    if ($3 == "file") {
        takes_files[$2] = 1
    }
}

$1 == "flag" {
    flags[$2] = flags[$2] (flags[$2] == "" ? "" : " ") ($4 == "" ? "" : $4 " ") $3
    if ($5 != "none") {
        take_value($2 "/" $3, $5)
    }
}

# What completes the values of flags, each action with the flags that it is for.
function take_value(flag, kind,    action) {
    action = "words '" kind "'"
    gsub(/,/, " ", action)
    if (kind == "file") {
        action = "files"
    } else if (kind == "folder") {
        action = "folders"
    } else if (kind == "any") {
        action = "nothing"
    }
    if (!(action in flags_of)) {
        actions[++action_count] = action
        flags_of[action] = flag
    } else {
        flags_of[action] = flags_of[action] " | \\\n        " flag
    }
}

END {
    print "# bash completion for parley. Made from --help by packaging/manual/bash.awk."
    print ""
    print "_parley_complete() { # files|folders|nothing|words [WORDS]"
    print "    case $1 in"
    print "    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;"
    print "    folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;"
    print "    words) mapfile -t COMPREPLY < <(compgen -W \"$2\" -- \"$word\") ;;"
    print "    esac"
    print "}"
    print ""
    print "_parley() {"
    print "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}"
    print "    local command=${COMP_WORDS[1]} flags='' operands='' files=''"
    print "    COMPREPLY=()"
    print "    # --flag=value is three words for bash"
    print "    if [[ $word == '=' ]]; then"
    print "        word=''"
    print "    elif [[ $before == '=' ]]; then"
    print "        before=${COMP_WORDS[COMP_CWORD - 2]}"
    print "    fi"
    print "    if ((COMP_CWORD == 1)); then"
    print "        _parley_complete words '" commands " --help --version'"
    print "        return"
    print "    fi"
    print "    case $command/$before in"
    for (i = 1; i <= action_count; i++) {
        print "    " flags_of[actions[i]] ")"
        print "        _parley_complete " actions[i]
        print "        return"
        print "        ;;"
    }
    print "    esac"
    print "    case $command in"
    count = split(commands, names, " ")
    for (i = 1; i <= count; i++) {
        name = names[i]
        sub(/^ /, "", operands[name])
        print "    " name ")"
        print "        flags='" flags[name] "'"
        if (operands[name] != "") {
            print "        operands='" operands[name] "'"
        }
        if (takes_files[name]) {
            print "        files=yes"
        }
        print "        ;;"
    }
    print "    esac"
    print "    # The first operand is the protocol or subcommand, those after it are files."
    print "    local i has_operand=''"
    print "    for ((i = 2; i < COMP_CWORD; i++)); do"
    print "        [[ \" $operands \" != *\" ${COMP_WORDS[i]} \"* ]] || has_operand=yes"
    print "    done"
    print "    if [[ $word == -* ]]; then"
    print "        _parley_complete words \"$flags\""
    print "    elif [[ -n $operands && -z $has_operand ]]; then"
    print "        _parley_complete words \"$operands\""
    print "    elif [[ -n $files ]]; then"
    print "        _parley_complete files"
    print "    fi"
    print "}"
    print "complete -F _parley parley"
}
