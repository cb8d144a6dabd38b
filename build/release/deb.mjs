/**
 * Builds the Debian packages: the executable, the service, the manual and the completions, with
 * the scripts in `debian/`. The same sources and executables give the same bytes.
 * @see https://www.debian.org/doc/debian-policy/
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { COMMANDS } from '../../src/cli/commands.ts'
import { bashScript } from '../../src/cli/completion/bash.ts'
import { fishScript } from '../../src/cli/completion/fish.ts'
import { placesOf } from '../../src/cli/completion/places.ts'
import { zshScript } from '../../src/cli/completion/zsh.ts'
import { packagedUnit } from '../../src/cli/service/systemd.ts'
import { manPages } from '../man/pages.mjs'
import { changelogOf, controlOf, copyrightOf } from './deb-texts.mjs'

const exec = promisify(execFile)
const compress = promisify(gzip)

const SCRIPTS = join(import.meta.dirname, 'debian')

/** The architectures by the target of their executable. */
export const ARCHITECTURES = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' }

/** The file from which the unit reads the settings of operators. Upgrades keep it. */
const CONFFILE = /^EnvironmentFile=-\/(.+)$/m.exec(packagedUnit())[1]

/** Returns a text as gzip without a name and a time. */
async function gzipped(text) {
  const bytes = await compress(text, { level: constants.Z_BEST_COMPRESSION })
  // The operating system in the header: unknown on every machine.
  bytes[9] = 255
  return bytes
}

/** Returns the version of a package: a release candidate comes before its release. */
export const debianVersion = (version) => `${version.replace('-', '~')}-1`

/** Returns the name of a package's file. */
export const packageName = (version, architecture) =>
  `countersignd_${debianVersion(version)}_${architecture}.deb`

/**
 * Returns the files of a package that are equal for all architectures, by path.
 * @param release as `buildDebs` gets it
 */
async function commonFiles({ version, time }) {
  const places = await placesOf(COMMANDS)
  const doc = 'usr/share/doc/countersignd'
  const files = {
    [CONFFILE]: await readFile(join(SCRIPTS, 'countersignd.env')),
    'usr/lib/systemd/system/countersignd.service': packagedUnit(),
    'usr/lib/sysusers.d/countersign.conf': await readFile(join(SCRIPTS, 'countersign.sysusers')),
    'usr/share/bash-completion/completions/countersignd': bashScript(places),
    'usr/share/zsh/vendor-completions/_countersignd': zshScript(places),
    'usr/share/fish/vendor_completions.d/countersignd.fish': fishScript(places),
    'usr/share/lintian/overrides/countersignd': await readFile(join(SCRIPTS, 'lintian-overrides')),
    [`${doc}/changelog.gz`]: await gzipped(await readFile('CHANGELOG.md')),
    [`${doc}/changelog.Debian.gz`]: await gzipped(
      changelogOf({ version, debianVersion: debianVersion(version), time }),
    ),
  }
  for (const [name, text] of await manPages({ version, time }))
    files[`usr/share/man/man${name.at(-1)}/${name}.gz`] = await gzipped(text)
  for (const name of (await readdir('docs')).filter((one) => one.endsWith('.md')))
    files[`${doc}/docs/${name}.gz`] = await gzipped(await readFile(join('docs', name)))
  return files
}

/** Returns the files about the parts of an executable, by path. */
async function filesAbout(executable) {
  const doc = 'usr/share/doc/countersignd'
  const licences = await readFile(`${executable}.licenses.txt`, 'utf8')
  return {
    [`${doc}/copyright`]: copyrightOf(await readFile('LICENSE', 'utf8'), licences),
    [`${doc}/LICENSES.txt.gz`]: await gzipped(licences),
    [`${doc}/countersignd.cdx.json.gz`]: await gzipped(await readFile(`${executable}.cdx.json`)),
  }
}

/** Writes a file with its mode, and the folders above it. */
async function put(root, path, content, mode = 0o644) {
  const target = join(root, path)
  const folder = dirname(target)
  await mkdir(folder, { recursive: true })
  await writeFile(target, content)
  await chmod(target, mode)
}

/** Sets the mode of all folders, which a build under another umask would change. */
async function openFolders(root) {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755)
  await chmod(root, 0o755)
}

const md5 = (bytes) => createHash('md5').update(bytes).digest('hex')

/** Builds one package; returns its path. */
async function buildDeb({ release, executable, architecture, common, folder }) {
  const { version, time, output, level = 6 } = release
  const files = { ...common, ...(await filesAbout(executable)) }
  const root = join(folder, architecture)
  await mkdir(join(root, 'usr/bin'), { recursive: true })
  await copyFile(executable, join(root, 'usr/bin/countersignd'))
  await chmod(join(root, 'usr/bin/countersignd'), 0o755)
  for (const [path, content] of Object.entries(files)) await put(root, path, content)

  const program = await readFile(executable)
  const contents = { ...files, 'usr/bin/countersignd': program }
  const sums = Object.keys(contents)
    .filter((path) => path !== CONFFILE)
    .toSorted()
    .map((path) => `${md5(contents[path])}  ${path}\n`)
  const bytes = Object.values(contents).reduce((sum, one) => sum + Buffer.byteLength(one), 0)
  await put(root, 'DEBIAN/md5sums', sums.join(''))
  await put(root, 'DEBIAN/conffiles', `/${CONFFILE}\n`)
  await put(
    root,
    'DEBIAN/control',
    controlOf({ version: debianVersion(version), architecture, kib: Math.ceil(bytes / 1024) }),
  )
  for (const name of ['postinst', 'prerm', 'postrm'])
    await put(root, `DEBIAN/${name}`, await readFile(join(SCRIPTS, name)), 0o755)
  await openFolders(root)

  const path = join(output, packageName(version, architecture))
  await exec(
    'dpkg-deb',
    [
      '--root-owner-group',
      '--uniform-compression',
      // With several threads, the compressed bytes depend on their number.
      '--threads-max=1',
      '-Zxz',
      `-z${level}`,
      '--build',
      root,
      path,
    ],
    { env: { ...process.env, LC_ALL: 'C', SOURCE_DATE_EPOCH: String(time) } },
  )
  await chmod(path, 0o644)
  return path
}

/**
 * Builds the packages of the Linux executables into `output`.
 * @param {object} release
 * @param {string} release.version of the program
 * @param {number} release.time of the sources, in seconds since 1970
 * @param {Record<string, string>} release.executables their paths by target; beside them
 *   are their bill of materials and their licences
 * @param {string} release.output the folder of the packages
 * @param {number} [release.level] of the compression: a test needs no small files
 * @returns {Promise<string[]>} the paths of the packages
 * @throws if `dpkg-deb` is not installed
 */
export async function buildDebs(release) {
  const folder = await mkdtemp(join(tmpdir(), 'countersignd-deb-'))
  try {
    const common = await commonFiles(release)
    const paths = []
    for (const [target, architecture] of Object.entries(ARCHITECTURES)) {
      const executable = release.executables[target]
      if (executable === undefined) continue
      paths.push(await buildDeb({ release, executable, architecture, common, folder }))
    }
    return paths
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
