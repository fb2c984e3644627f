// sbom.mjs IMAGE VERSION SECONDS ROOT [LOCK…] <PACKAGES: prints what is in the image
// below ROOT as SPDX 2.3: our program, the Debian packages that rootfs.sh lists ("package version
// source architecture files…"), the npm packages of the lock files that are no tools, and the
// libraries of jars whose checksums are pinned ("NAME.sha256"). The same input has the same output.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const [image, version, seconds, root, ...locks] = process.argv.slice(2);
const created = new Date(Number(seconds) * 1000).toISOString().replace('.000Z', 'Z');

const spdxId = (...parts) => `SPDXRef-${parts.join('-').replace(/[^A-Za-z0-9.-]/g, '-')}`;
const digest = (algorithm, bytes) => createHash(algorithm).update(bytes).digest('hex');

function makePackage(kind, name, versionInfo, more) {
  return {
    SPDXID: spdxId(kind, name),
    name,
    versionInfo,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    ...more,
  };
}

const purl = (type, name, versionInfo, query = '') => [{
  referenceCategory: 'PACKAGE-MANAGER',
  referenceType: 'purl',
  referenceLocator: `pkg:${type}/${name}@${encodeURIComponent(versionInfo)}${query}`,
}];

function debianPackage(line) {
  const [name, versionInfo, source, architecture, ...files] = line.trim().split(/ +/);
  const value = makePackage('deb', name, versionInfo, {
    supplier: 'Organization: Debian',
    sourceInfo: `built from the Debian source package ${source}`,
    licenseComments: `/usr/share/doc/${name}/copyright`,
    externalRefs: purl('deb/debian', name, versionInfo, `?arch=${architecture}&distro=debian-12`),
  });
  return { value, files };
}

const integrityHex = (integrity) =>
  Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');

function npmPackages(lock) {
  const { packages } = JSON.parse(readFileSync(lock, 'utf8'));
  return Object.entries(packages)
    .filter(([path, entry]) => path && !entry.dev)
    .map(([path, entry]) => {
      const name = path.replace(/.*node_modules\//, '');
      const archive = `${basename(name)}-${entry.version}.tgz`;
      return makePackage('npm', name, entry.version, {
        downloadLocation: `https://registry.npmjs.org/${name}/-/${archive}`,
        licenseDeclared: entry.license ?? 'NOASSERTION',
        checksums: [{ algorithm: 'SHA512', checksumValue: integrityHex(entry.integrity) }],
        externalRefs: purl('npm', name.replace('@', '%40'), entry.version),
      });
    });
}

// A line of sha256sum(1) whose file is the path in a Maven repository; ours have one library.
function mavenPackage(pin) {
  const [sum, path] = readFileSync(pin, 'utf8').trim().split(/ +/);
  const [versionInfo, artifact, ...group] = path.split('/').reverse().slice(1);
  const groupId = group.reverse().join('.');
  const value = makePackage('maven', `${groupId}:${artifact}`, versionInfo, {
    downloadLocation: `https://repo1.maven.org/maven2/${path}`,
    licenseDeclared: 'Apache-2.0',
    licenseComments: `/usr/share/doc/${artifact}/copyright`,
    checksums: [{ algorithm: 'SHA256', checksumValue: sum }],
    externalRefs: purl('maven', `${groupId}/${artifact}`, versionInfo),
  });
  return { value, files: ['libasyncProfiler.so'] };
}

const filesBelow = (folder) => readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
  const path = join(folder, entry.name);
  if (entry.isDirectory()) return filesBelow(path);
  return entry.isFile() ? [path] : [];
});
// The names that are listed occur once.
const paths = new Map(filesBelow(root).map((path) => [basename(path), path]));

function fileEntry(name) {
  const path = paths.get(name);
  const bytes = readFileSync(path);
  const inImage = path.slice(root.length).replace(/^\/*/, './');
  return {
    SPDXID: spdxId('file', inImage),
    fileName: inImage,
    checksums: ['sha1', 'sha256'].map((algorithm) => ({
      algorithm: algorithm.toUpperCase(),
      checksumValue: digest(algorithm, bytes),
    })),
    licenseConcluded: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
  };
}

const relate = (from, relationshipType, to) => ({
  spdxElementId: from, relationshipType, relatedSpdxElement: to,
});

const program = image.replace(/-store$/, '');
const own = makePackage('coroot', image, version, {
  licenseDeclared: 'Apache-2.0',
  licenseComments: '/usr/share/doc/coroot/copyright',
  primaryPackagePurpose: 'CONTAINER',
});
const debian = readFileSync(0, 'utf8').split('\n').filter(Boolean).map(debianPackage);
const [pins, npmLocks] = [true, false].map((isPin) =>
  locks.filter((lock) => lock.endsWith('.sha256') === isPin));
const npm = npmLocks.flatMap(npmPackages);
const maven = pins.map(mavenPackage);
const files = [fileEntry(program)];
const relationships = [
  relate('SPDXRef-DOCUMENT', 'DESCRIBES', own.SPDXID),
  relate(files[0].SPDXID, 'PACKAGE_OF', own.SPDXID),
];
for (const { value, files: names } of [...debian, ...maven]) {
  relationships.push(names.length > 0 ? relate(own.SPDXID, 'CONTAINS', value.SPDXID)
    : relate(files[0].SPDXID, 'STATIC_LINK', value.SPDXID));
  for (const entry of names.map(fileEntry)) {
    files.push(entry);
    relationships.push(relate(entry.SPDXID, 'EXPANDED_FROM_ARCHIVE', value.SPDXID));
  }
}
relationships.push(...npm.map((value) => relate(own.SPDXID, 'CONTAINS', value.SPDXID)));

const body = {
  packages: [own, ...[...debian, ...maven].map(({ value }) => value), ...npm],
  files,
  relationships,
};
const content = digest('sha256', JSON.stringify(body)).slice(0, 32);
const name = `${image}-${version}`;
process.stdout.write(`${JSON.stringify({
  spdxVersion: 'SPDX-2.3',
  dataLicense: 'CC0-1.0',
  SPDXID: 'SPDXRef-DOCUMENT',
  name,
  documentNamespace: `https://github.com/coroot/spdx/${encodeURIComponent(name)}-${content}`,
  creationInfo: { created, creators: ['Organization: Coroot'] },
  ...body,
}, null, 1)}\n`);
