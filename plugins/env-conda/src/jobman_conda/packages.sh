# Says which of the named packages the active environment of conda lacks; ends with 1 if any.
lacks=
for name; do
    for each in "$CONDA_PREFIX/conda-meta/$name"-[0-9]*.json; do
        [ -e "$each" ] || lacks+="${lacks:+, }$name"
        break
    done
done
[ -z "$lacks" ] || { echo "not installed: $lacks" && exit 1; }
