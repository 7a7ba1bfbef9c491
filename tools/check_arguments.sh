# shellcheck shell=sh
# Checks the arguments of `./dev check` before the checker is built. Read by dev, which defines wrong().

# Refuses what the checker would refuse. Both lists are read from the checker's sources.
check_arguments() {
    value_of=''
    for argument; do
        if [ -n "$value_of" ]; then
            value_of=''
            continue
        fi
        case $argument in
        -h | --help) ;;
        -*)
            kind=$(check_options | sed -n "s/^\([a-z]*\) \(${argument%%=*}\)$/\1/p")
            [ -n "$kind" ] || wrong "check: unknown option '$argument'; there are: $(check_options |
                sed 's/.* //' | xargs) and --no-install"
            case $kind,$argument in
            option,*=*) ;;
            option,*) value_of=$argument ;;
            flag,*=*) wrong "check: '${argument%%=*}' takes no value" ;;
            esac
            ;;
        *) check_models | grep -qxF -e "$argument" ||
            wrong "check: no model or folder is named '$argument'; './dev check --list' prints them" ;;
        esac
    done
    [ -z "$value_of" ] || wrong "check: '$value_of' wants a value"
}
check_options() { sed -n 's/^ *app\.add_\(flag\|option\)("\(--[a-z-]*\)".*/\1 \2/p' check/driver/command_line.cpp; }
check_models() { # in the checker's form: a folder, a name, or both
    for folder in litmus models museum; do
        echo "$folder"
        sed -n 's/^[A-Z]*_MODEL(\([A-Za-z0-9_]*\).*/\1/p' check/$folder/*.cpp | sed "p; s|^|$folder/|"
    done
}
