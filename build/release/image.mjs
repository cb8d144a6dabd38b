/**
 * Builds the images of containers: the executable with the libraries of Debian that it is linked
 * with, and nothing else. Docker's format has the check of health, which OCI's format lacks.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ARCHITECTURES } from './deb.mjs'

const exec = promisify(execFile)

/** The user of the image, which no distribution assigns. */
const USER = 10_001
const STATE = '/var/lib/countersign'
const PORT = 19_822

/** What the executable is linked with, the certificate authorities, and the name of the system. */
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates', 'base-files']

const ACCOUNTS = {
  'etc/passwd': `root:x:0:0:root:/:/nonexistent\ncountersign:x:${USER}:${USER}:Countersign:${STATE}:/nonexistent\n`,
  'etc/group': `root:x:0:\ncountersign:x:${USER}:\n`,
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
}

/** The settings of an account server, of which the clients are outside the container. */
const ENVIRONMENT = {
  PATH: '/usr/bin',
  SVC_STATE_DIR: STATE,
  SVC_KEYCHAIN: 'file',
  SVC_ACCOUNT_BIND: '0.0.0.0',
}

/**
 * Downloads packages of one architecture, with the sources and the keys of this machine's apt.
 * @returns their paths
 */
async function download(architecture, folder) {
  for (const name of ['lists/partial', 'archives/partial', 'debs'])
    await mkdir(join(folder, name), { recursive: true })
  await writeFile(join(folder, 'status'), '')
  const options = Object.entries({
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
    'Dir::State::status': join(folder, 'status'),
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::Cache': folder,
  }).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const cwd = join(folder, 'debs')
  await exec('apt-get', [...options, '-qq', 'update'], { cwd })
  await exec('apt-get', [...options, '-qq', 'download', ...PACKAGES], { cwd })
  return (await readdir(cwd)).toSorted().map((name) => join(cwd, name))
}

const field = async (deb, name) => (await exec('dpkg-deb', ['-f', deb, name])).stdout.trim()

/** What the image has of a package: libraries, certificates, the system's name, copyrights. */
const KEPT =
  /^(lib|lib64|usr\/lib)\/.*\.so(\.\d+)*$|^usr\/share\/ca-certificates\/.*\.crt$|^(etc|usr\/lib)\/os-release$|^usr\/share\/doc\/[^/]+\/copyright$/
const NOT_KEPT = /\/(gconv|audit|libmemusage|libpcprofile)/

async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted()
}

/**
 * Copies the needed files of packages into the root of an image.
 * @returns the packages as `name=version`
 */
async function addPackages(debs, root, folder) {
  const names = []
  for (const deb of debs) {
    const name = await field(deb, 'Package')
    const place = join(folder, 'unpacked', name)
    await mkdir(place, { recursive: true })
    await exec('dpkg-deb', ['-x', deb, place])
    for (const path of await filesIn(place)) {
      if (!KEPT.test(path) || NOT_KEPT.test(path)) continue
      await mkdir(dirname(join(root, path)), { recursive: true })
      await cp(join(place, path), join(root, path), { verbatimSymlinks: true })
    }
    // As images without dpkg have it, for scanners of vulnerabilities.
    const record = join(root, 'var/lib/dpkg/status.d', name)
    await mkdir(dirname(record), { recursive: true })
    await writeFile(record, `${(await exec('dpkg-deb', ['-f', deb])).stdout.trimEnd()}\n`)
    names.push(`${name}=${await field(deb, 'Version')}`)
  }
  return names
}

/** Writes the file with all certificate authorities, as `update-ca-certificates` does. */
async function bundleAuthorities(root) {
  const folder = join(root, 'usr/share/ca-certificates')
  const texts = []
  for (const path of await filesIn(folder)) texts.push(await readFile(join(folder, path), 'utf8'))
  await mkdir(join(root, 'etc/ssl/certs'), { recursive: true })
  await writeFile(
    join(root, 'etc/ssl/certs/ca-certificates.crt'),
    texts.map((text) => `${text.trimEnd()}\n`).join(''),
  )
}

/**
 * Makes everything readable, also if the umask of the build is strict. Links are left: that of the
 * loader leads to the loader of this machine, until it is in the image.
 */
async function openModes(root) {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const isProgram = /\/(ld-linux[^/]*|countersignd)$/.test(path)
    if (entry.isDirectory()) await chmod(path, 0o755)
    else if (entry.isFile()) await chmod(path, isProgram ? 0o755 : 0o644)
  }
}

/**
 * Writes an archive again without the random id of the container in which the image was built. The
 * archive is not compressed, because `podman load` reads no compressed archive of this format.
 */
async function repack(pushed, { path, time, folder }) {
  await mkdir(folder)
  await exec('tar', ['-xf', pushed, '-C', folder])
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
  const settings = JSON.parse(await readFile(join(folder, manifest[0].Config), 'utf8'))
  const text = JSON.stringify({ ...settings, container: undefined })
  const name = `${createHash('sha256').update(text).digest('hex')}.json`
  await writeFile(join(folder, name), text)
  // Its mode allows no writing, except by root.
  await rm(join(folder, 'manifest.json'))
  await writeFile(join(folder, 'manifest.json'), JSON.stringify([{ ...manifest[0], Config: name }]))
  const same = ['--owner=0', '--group=0', '--numeric-owner', '--mode=0644', `--mtime=@${time}`]
  const files = ['manifest.json', name, ...manifest[0].Layers]
  await exec('tar', [...same, '--format=gnu', '-cf', path, '-C', folder, ...files])
}

const storageOf = (folder) => join(folder, 'storage')

/** Returns a function that runs `buildah` with its storage in a folder, and returns the output. */
const buildahIn = (folder) => {
  const places = ['--root', storageOf(folder), '--runroot', join(folder, 'run')]
  return async (...words) =>
    (await exec('buildah', [...places, '--storage-driver', 'vfs', ...words])).stdout.trim()
}

/** Deletes a folder. If root does not build, only buildah can delete the files of other users. */
async function discard(folder) {
  if (existsSync(storageOf(folder))) {
    const buildah = buildahIn(folder)
    await buildah('rm', '--all')
    await buildah('rmi', '--all', '--force')
  }
  await rm(folder, { recursive: true, force: true })
}

/**
 * Builds one image.
 * @returns its path
 */
async function buildImage({ release, target, architecture, folder }) {
  const { version, time, executables, output, commit } = release
  const root = join(folder, 'root')
  await mkdir(join(root, 'usr/bin'), { recursive: true })
  await copyFile(executables[target], join(root, 'usr/bin/countersignd'))
  const packages = await addPackages(await download(architecture, folder), root, folder)
  await bundleAuthorities(root)
  const doc = join(root, 'usr/share/doc/countersignd')
  await mkdir(doc, { recursive: true })
  await copyFile(`${executables[target]}.licenses.txt`, join(doc, 'LICENSES.txt'))
  for (const [path, text] of Object.entries(ACCOUNTS)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  await openModes(root)
  await chmod(root, 0o755)
  // A folder that is copied as a child keeps its mode.
  const state = join(folder, 'state')
  await mkdir(join(state, basename(STATE)), { recursive: true })
  await chmod(state, 0o755)
  await chmod(join(state, basename(STATE)), 0o700)

  const buildah = buildahIn(folder)
  const container = await buildah('from', '--arch', architecture, 'scratch')
  await buildah('copy', '--quiet', '--chown', '0:0', container, root, '/')
  await buildah('copy', '--quiet', '--chown', `${USER}:${USER}`, container, state, dirname(STATE))
  const labels = {
    title: 'Countersign',
    description: 'three spoken words that prove who is on the line: the account server',
    version,
    licenses: 'MIT',
    ...(commit === undefined ? {} : { revision: commit }),
    created: new Date(time * 1000).toISOString(),
  }
  await buildah(
    'config',
    '--user',
    `${USER}:${USER}`,
    '--workingdir',
    STATE,
    '--volume',
    STATE,
    '--port',
    `${PORT}/tcp`,
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...Object.entries(labels).flatMap(([name, value]) => [
      '--label',
      `org.opencontainers.image.${name}=${value}`,
    ]),
    '--label',
    `org.debian.packages=${packages.join(' ')}`,
    '--entrypoint',
    '["/usr/bin/countersignd"]',
    '--cmd',
    'server',
    '--stop-signal',
    'SIGTERM',
    '--healthcheck',
    'CMD /usr/bin/countersignd health --server',
    '--healthcheck-interval',
    '30s',
    '--healthcheck-timeout',
    '10s',
    '--healthcheck-start-period',
    '60s',
    container,
  )
  const image = `countersignd:${version}`
  await buildah(
    'commit',
    '--quiet',
    '--format',
    'docker',
    '--identity-label=false',
    '--timestamp',
    String(time),
    container,
    image,
  )
  const path = join(output, `countersignd-${version}-image-${architecture}.tar`)
  const pushed = join(folder, 'pushed.tar')
  await buildah('push', '--quiet', image, `docker-archive:${pushed}:${image}`)
  await repack(pushed, { path, time, folder: join(folder, 'archive') })
  return path
}

/**
 * Builds the images of the Linux executables into `output`.
 * @param {object} release as `buildDebs` gets it
 * @returns {Promise<string[]>} the paths of the images
 * @throws if `buildah`, `apt-get` or `dpkg-deb` is not installed
 */
export async function buildImages(release) {
  const paths = []
  for (const [target, architecture] of Object.entries(ARCHITECTURES)) {
    if (release.executables[target] === undefined) continue
    const folder = await mkdtemp(join(tmpdir(), 'countersignd-image-'))
    try {
      paths.push(await buildImage({ release, target, architecture, folder }))
    } finally {
      await discard(folder)
    }
  }
  return paths
}
