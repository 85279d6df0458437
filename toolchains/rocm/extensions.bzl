"""Where a real MIOpen comes from: a ROCm on this machine, or Debian's packages, or nowhere.

    rocm = use_extension("//toolchains/rocm:extensions.bzl", "rocm")
    rocm.local()
    rocm.debian()
    use_repo(rocm, "rocm_debian", "rocm_local")

Builds do not name these repositories: they use the aliases in //toolchains/rocm, which follow
--//toolchains/rocm:miopen, so that a repository which is not chosen is not fetched.

Every repository has the same targets:
  :miopen    libMIOpen.so.1, the stock library
  :headers   cc_library: miopen/*.h and hip/*.h, with -D__HIP_PLATFORM_AMD__
  :driver    MIOpenDriver
  :gtest     miopen_gtest
  :layout    layout.json: where the loader, the libraries and the databases are. See the Go package
             toolchains/rocm/layout, which reads it. A ROCm is gigabytes: tests use it where it is, and depend on this
             file, which changes when the ROCm does.
  :status.bzl  FOUND (bool), REASON (why not), TRIED (the paths that were looked at) and LIBRARY_PATH (the folders of the
               ROCm's libraries, for miopen_shim(runpath))
A target whose file the ROCm lacks is incompatible with every platform, so what depends on it is skipped.

A root module's tag replaces the tag of the same name in the modules it depends on.
"""

_LIBRARY = "libMIOpen.so.1"

_LIBRARY_DIRS = ["lib", "lib64", "lib/x86_64-linux-gnu"]

_BUILD = '''\
"""{comment}"""

load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

exports_files([
    "layout.json",
    "status.bzl",
])

# No platform has these: their names are the reason that Bazel gives for what it skips.
constraint_setting(name = "missing_parts")

[
    constraint_value(
        name = name,
        constraint_setting = ":missing_parts",
    )
    for name in {reasons}
]

[
    filegroup(
        name = name,
        srcs = srcs,
        target_compatible_with = reasons,
    )
    for name, (srcs, reasons) in {files}.items()
]

cc_library(
    name = "headers",
    hdrs = glob(
        ["include/**"],
        allow_empty = True,
    ),
    defines = ["__HIP_PLATFORM_AMD__"],
    includes = ["include"],
    target_compatible_with = {no_headers},
)

filegroup(
    name = "layout",
    srcs = ["layout.json"],
    target_compatible_with = {no_rocm},
)
'''

_STATUS = '''\
"""Whether {name} has a MIOpen."""

FOUND = {found}

REASON = {reason}

TRIED = {tried}

LIBRARY_PATH = {library_path}
'''

def _first(rctx, prefix, names):
    for name in names:
        path = rctx.path(prefix + "/" + name)
        rctx.watch(path)
        if path.exists:
            return path
    return None

def _version(rctx, header):
    """The version in miopen/version.h, or "" when it has none."""
    if not header:
        return ""
    numbers = {}
    for line in rctx.read(header).splitlines():
        words = line.split(" ")
        if len(words) > 2 and words[0] == "#define" and words[1].startswith("MIOPEN_VERSION_"):
            numbers[words[1].removeprefix("MIOPEN_VERSION_")] = words[2]
    parts = [numbers.get(part, "") for part in ["MAJOR", "MINOR", "PATCH"]]
    return ".".join(parts) if all(parts) else ""

def _sha256(rctx, path):
    result = rctx.execute(["sha256sum", str(path)])
    if result.return_code:
        fail("cannot read %s: %s" % (path, result.stderr))
    return result.stdout.split(" ")[0]

def _write(rctx, comment, kind, prefix, library, reason, tried, loader = None, packages = [], moved = []):
    """Writes the repository's files, the same for every source.

    Args:
      rctx: the repository context
      comment: what the repository is
      kind: local or debian
      prefix: the root of the ROCm, a string
      library: path of libMIOpen.so.1, or None when there is no ROCm
      reason: legal target name that says why there is none
      tried: the paths that were looked at
      loader: the dynamic loader that the ROCm's libraries need, None for the system's
      packages: dicts that describe the packages it was made of
      moved: lines that describe differences to the recorded packages
    """
    files = {"miopen": library, "driver": None, "gtest": None}
    headers = None
    if library:
        files["driver"] = _first(rctx, prefix, [
            "bin/MIOpenDriver",
            "libexec/rocm/libmiopen1-tests/MIOpenDriver",
        ])
        files["gtest"] = _first(rctx, prefix, [
            "bin/miopen_gtest",
            "libexec/rocm/libmiopen1-tests/miopen_gtest",
        ])
        headers = _first(rctx, prefix, ["include/miopen/miopen.h"])
    hip = _first(rctx, prefix, ["include/hip/hip_runtime_api.h"]) if headers else None

    missing = {
        "miopen": reason,
        "driver": "rocm_without_MIOpenDriver" if library else reason,
        "gtest": "rocm_without_miopen_gtest" if library else reason,
    }
    no_headers = [] if headers and hip else [":rocm_without_miopen_and_hip_headers" if library else ":" + reason]
    names = {"miopen": "lib/" + _LIBRARY, "driver": "bin/MIOpenDriver", "gtest": "bin/miopen_gtest"}
    targets = {}
    for name, path in files.items():
        if path:
            rctx.symlink(path, names[name])
            targets[name] = ([names[name]], [])
        else:
            targets[name] = ([], [":" + missing[name]])
    if headers and hip:
        for folder in ["miopen", "hip"]:
            rctx.symlink(prefix + "/include/" + folder, "include/" + folder)

    layout = {}
    if library:
        database = _first(rctx, prefix, ["share/miopen/db"])
        version_header = _first(rctx, prefix, ["include/miopen/version.h"])
        layout = {
            "kind": kind,
            "prefix": prefix,
            "loader": str(loader) if loader else "",
            "library_path": [str(library.dirname)],
            "miopen_library": str(library.realpath),
            "miopen_sha256": _sha256(rctx, library),
            "miopen_version": _version(rctx, version_header),
            "system_db": str(database) if database else "",
            "driver": str(files["driver"] or ""),
            "gtest": str(files["gtest"] or ""),
            "packages": packages,
            "moved": moved,
        }
    rctx.file("layout.json", json.encode_indent(layout, indent = "  ") + "\n", executable = False)
    rctx.file("status.bzl", _STATUS.format(
        name = kind,
        found = bool(library),
        reason = repr("" if library else reason),
        tried = repr(tried),
        library_path = repr([str(library.dirname)] if library else []),
    ), executable = False)
    rctx.file("BUILD.bazel", _BUILD.format(
        comment = comment,
        reasons = repr(sorted([
            "rocm_without_MIOpenDriver",
            "rocm_without_miopen_and_hip_headers",
            "rocm_without_miopen_gtest",
        ] + ([] if library else [reason]))),
        files = repr(targets),
        no_headers = repr(no_headers),
        no_rocm = repr([] if library else [":" + reason]),
    ), executable = False)

def _local_impl(rctx):
    candidates = []
    tried = []
    if rctx.attr.path:
        candidates.append(("rocm.local(path)", rctx.attr.path))
        reason = "no_libMIOpen_in_the_path_of_rocm_local"
    else:
        if rctx.getenv("ROCM_PATH"):
            candidates.append(("ROCM_PATH", rctx.getenv("ROCM_PATH")))
        candidates.append(("default", "/opt/rocm"))
        reason = "no_libMIOpen_in_ROCM_PATH_or_opt_rocm"
    for origin, prefix in candidates:
        prefix = prefix.rstrip("/") or "/"
        if not prefix.startswith("/"):
            tried.append("%s (%s): not an absolute path" % (prefix, origin))
            continue
        for folder in _LIBRARY_DIRS:
            library = _first(rctx, prefix, ["%s/%s" % (folder, _LIBRARY)])
            tried.append("%s/%s/%s (%s)" % (prefix, folder, _LIBRARY, origin))
            if library:
                _write(rctx, "The ROCm in %s." % prefix, "local", prefix, library, reason, tried)
                return
    _write(rctx, "No ROCm: see status.bzl.", "local", "", None, reason, tried)

_local = repository_rule(
    implementation = _local_impl,
    doc = "The ROCm that is installed on this machine. Loads when there is none: see status.bzl.",
    attrs = {
        "path": attr.string(doc = "root of the ROCm; empty for ROCM_PATH, then /opt/rocm"),
    },
    local = True,
)

def _cache(rctx):
    """The folder that outlives the output base, the same that ./bazelw uses."""
    for variable, suffix in [("MIOPEN_SHIM_CACHE", ""), ("XDG_CACHE_HOME", "/miopen_hipdnn_shim"), ("HOME", "/.cache/miopen_hipdnn_shim")]:
        value = rctx.getenv(variable)
        if value:
            return value.rstrip("/") + suffix
    fail("no cache directory: set HOME, XDG_CACHE_HOME or MIOPEN_SHIM_CACHE.")

def _debian_impl(rctx):
    lock = rctx.read(rctx.attr.lock)
    script = rctx.path(rctx.attr._script)
    rctx.watch(script)
    for variable in ["MIOPEN_SHIM_DEB_DIR", "MIOPEN_SHIM_DEBIAN_MIRROR", "MIOPEN_SHIM_DEBIAN_KEYRING"]:
        rctx.getenv(variable)

    # One prefix per content of the lock file, so that two checkouts do not replace each other's.
    content = "\n".join([line for line in lock.splitlines() if not line.startswith("#")])
    stem = rctx.attr.lock.name.removesuffix(".lock")
    root = "%s/rocm/%s-%d" % (_cache(rctx), stem, hash(content) & 0xffffffff)
    result = rctx.execute(
        [script, "--lock", rctx.path(rctx.attr.lock), root],
        timeout = 7200,
        quiet = False,
    )
    if result.return_code:
        fail("no ROCm from Debian packages (exit status %d), the last lines were:\n%s" % (
            result.return_code,
            "\n".join(result.stderr.splitlines()[-8:]),
        ))

    # Deleting the prefix makes Bazel ask for it again.
    rctx.watch(root + "/.debian_prefix/recipe")
    packages = []
    for line in rctx.read(root + "/.debian_prefix/packages").splitlines():
        name, version, architecture, sha256, _size = line.split(" ")
        packages.append({"name": name, "version": version, "architecture": architecture, "sha256": sha256})
    prefix = root + "/usr"
    _write(
        rctx,
        "Debian packages in %s." % root,
        "debian",
        prefix,
        _first(rctx, prefix, ["lib/x86_64-linux-gnu/" + _LIBRARY]),
        "no_libMIOpen_in_the_packages",
        [prefix],
        loader = _first(rctx, prefix, ["lib64/ld-linux-x86-64.so.2"]),
        packages = packages,
        moved = rctx.read(root + "/.debian_prefix/moved").splitlines(),
    )

_debian = repository_rule(
    implementation = _debian_impl,
    doc = "A ROCm from Debian packages, made by debian_prefix.sh in the user's cache directory.",
    attrs = {
        "lock": attr.label(
            doc = "what to fetch and what was recorded; the format is in debian_prefix.sh",
            mandatory = True,
            allow_single_file = [".lock"],
        ),
        "_script": attr.label(default = "//toolchains/rocm:debian_prefix.sh"),
    },
)

def _rocm_impl(mctx):
    made = {}
    for module in mctx.modules:  # the root module comes first
        here = {}
        tags = [(tag.name, _local, {"path": tag.path}) for tag in module.tags.local]
        tags += [(tag.name, _debian, {"lock": tag.lock}) for tag in module.tags.debian]
        for name, rule, attributes in tags:
            if name in here:
                fail("module %s has two rocm tags with the name %s" % (module.name, name))
            here[name] = True
            if name not in made:
                made[name] = True
                rule(name = name, **attributes)
    return mctx.extension_metadata(reproducible = True)

rocm = module_extension(
    implementation = _rocm_impl,
    doc = "Repositories with a real MIOpen. See the top of this file.",
    tag_classes = {
        "local": tag_class(
            doc = "The ROCm that is installed on this machine.",
            attrs = {
                "name": attr.string(default = "rocm_local", doc = "name of the repository"),
                "path": attr.string(doc = "root of the ROCm; empty for ROCM_PATH, then /opt/rocm"),
            },
        ),
        "debian": tag_class(
            doc = "A ROCm from Debian packages, fetched when something needs it.",
            attrs = {
                "name": attr.string(default = "rocm_debian", doc = "name of the repository"),
                "lock": attr.label(
                    default = "//toolchains/rocm:debian.lock",
                    doc = "what to fetch and what was recorded",
                ),
            },
        ),
    },
)
