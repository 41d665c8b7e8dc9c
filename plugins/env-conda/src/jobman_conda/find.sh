# How hosts name where environments of conda are. Put before setup.sh and enter.sh, which are run by
# bash with the name of an environment first.

jobman_roots() { # the folders that conda, or one of its kin, may have its environments in
    local each
    { printf '%s\n' "${CONDA_EXE-}" && type -aP conda mamba; } | while IFS= read -r each; do
        each=$(readlink -f -- "$each") && printf '%s\n' "${each%/*/*}"
    done
    printf '%s\n' "${MAMBA_ROOT_PREFIX-}" \
        "$HOME"/{miniforge3,mambaforge,miniconda3,miniconda,anaconda3,micromamba} \
        "$HOME"/{.local/share/mamba,.conda} /opt/{conda,miniforge3,miniconda3,anaconda3}
}

jobman_find() { # NAME: prints the folder of an environment
    local each
    while IFS= read -r each; do
        [ "$1" = base ] || each+=/envs/$1
        [ ! -d "$each/conda-meta" ] || { printf '%s\n' "$each" && return; }
    done < <(jobman_roots | grep .)
    return 1
}

jobman_names() { # all environments, for people
    local each
    while IFS= read -r each; do
        for each in "$each"/envs/*/conda-meta; do
            each=${each%/*}
            [ ! -d "$each/conda-meta" ] || printf '%s ' "${each##*/}"
        done
    done < <(jobman_roots | awk '$0 && !seen[$0]++') | grep . || echo none
}
