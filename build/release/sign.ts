/**
 * Signs the SHA256SUMS of a release: by a stamp of the release account, and by an SSH key. Both
 * signatures are verified with the pinned keys before they are written.
 *
 *   node build/release/sign.ts [FOLDER] --ssh-key FILE [--key FILE]
 *
 * --key names the release-key.json of the version before, if this version contains another account.
 * SVC_STATE_DIR must name the state folder of the release account. docs/releasing.md has the steps.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { StampFile } from '../../src/crypto/stamp.ts'
import { checkSum, sha256Of } from '../../src/releases/download.ts'
import { DownloadRefusal } from '../../src/releases/refusal.ts'
import { RELEASE_KEY, type ReleaseKey } from '../../src/releases/release-key.ts'
import { verifySums } from '../../src/releases/signed-sums.ts'
import { parseSums } from '../../src/releases/sums.ts'
import { releaseContext, isReleaseVersion } from '../../src/releases/version.ts'

/** The name of the SSH key in `allowed_signers`, and the namespace of its signatures. */
export const SSH_SIGNER = 'countersign-release'

interface Release {
  /** The folder with SHA256SUMS and the files. */
  readonly folder: string
  readonly version: string
  /** The pinned key. */
  readonly key: ReleaseKey | null
  /** The file with the SSH key, or with its public half if ssh-agent has the key. */
  readonly sshKey: string
  /** The file that ssh-keygen verifies with. */
  readonly allowedSigners: string
  /** The words that start countersignd. */
  readonly program: readonly [program: string, ...words: string[]]
  /** The environment of countersignd, which names the state folder of the release account. */
  readonly env: NodeJS.ProcessEnv
}

const SUMS = 'SHA256SUMS'
const [STAMP, SIGNATURE] = [`${SUMS}.stamp`, `${SUMS}.sig`]

const NOTES = 'RELEASE-NOTES.md'

const NO_KEY =
  'src/releases/release-key.json contains no release key. Nothing was signed. Create the key as docs/releasing.md ("The release key") describes.'

/**
 * Runs a program; returns its standard output. It may ask for a passphrase at the terminal.
 * @throws if it fails
 */
function outputOf(
  [program, ...words]: readonly [program: string, ...words: string[]],
  { input, env = process.env }: { input?: Buffer; env?: NodeJS.ProcessEnv },
): Buffer {
  const { status, stdout, error } = spawnSync(program, words, {
    env,
    ...(input === undefined ? {} : { input }),
    stdio: [input === undefined ? 'inherit' : 'pipe', 'pipe', 'inherit'],
  })
  if (error !== undefined) throw error
  if (status !== 0)
    throw new Error(`"${program} ${words.join(' ')}" ended with ${status}. Nothing was signed.`)
  return stdout
}

/** Checks that the files are those of the version: package.json may be newer than the build. */
async function requireVersion(folder: string, version: string): Promise<void> {
  if (!isReleaseVersion(version))
    throw new Error(`The version in package.json must be three numbers, not ${version}.`)
  const [heading] = (await readFile(join(folder, NOTES), 'utf8')).split('\n')
  if (heading !== `# Countersign ${version}`)
    throw new Error(`${join(folder, NOTES)} is not that of version ${version}. Build the release.`)
}

/**
 * Checks that the folder contains exactly the files that SHA256SUMS lists, and no signature.
 * @returns the content of SHA256SUMS
 */
async function requireWhole(folder: string): Promise<Buffer> {
  const content = await readFile(join(folder, SUMS))
  const sums = parseSums(content)
  const names = await readdir(folder)
  const signed = names.filter((name) => name === STAMP || name === SIGNATURE)
  if (signed.length > 0)
    throw new Error(`${folder} already has ${signed.join(' and ')}. To sign it again, delete them.`)
  for (const name of sums.keys())
    if (!names.includes(name)) throw new Error(`${folder} lacks ${name}, which ${SUMS} lists.`)
  for (const name of names.filter((one) => one !== SUMS)) {
    const sha256 = await sha256Of(join(folder, name))
    try {
      checkSum(sums, name, sha256)
    } catch (cause) {
      throw new Error(`${join(folder, name)}: ${(cause as Error).message}`, { cause })
    }
  }
  return content
}

/** Returns the text of a stamp of SHA256SUMS by the account in the state folder. */
async function stampOf(
  content: Buffer,
  { folder, version, program, env }: Release,
  key: ReleaseKey,
  place: string,
): Promise<string> {
  const out = join(place, STAMP)
  const words = ['--out', out, '--media-type', 'text/plain', '--context', releaseContext(version)]
  outputOf([...program, 'stamp', join(folder, SUMS), ...words, '--json'], { env })
  const stamp = await readFile(out, 'utf8')
  try {
    await verifySums(content, JSON.parse(stamp) as StampFile, key)
  } catch (cause) {
    if (!(cause instanceof DownloadRefusal) || cause.reason !== 'other_signer') throw cause
    throw new Error(
      `The account in the state folder is not the release account ${key.account}. Set SVC_STATE_DIR to the state folder of the release account. Nothing was signed.`,
      { cause },
    )
  }
  return stamp
}

/** Returns the SSH signature of SHA256SUMS. */
async function sshSignatureOf(
  content: Buffer,
  { sshKey, allowedSigners }: Release,
  place: string,
): Promise<Buffer> {
  const input = content
  const signature = outputOf(['ssh-keygen', '-q', '-Y', 'sign', '-f', sshKey, '-n', SSH_SIGNER], {
    input,
  })
  const file = join(place, SIGNATURE)
  await writeFile(file, signature)
  const signer = ['-f', allowedSigners, '-I', SSH_SIGNER, '-n', SSH_SIGNER, '-s', file]
  outputOf(['ssh-keygen', '-q', '-Y', 'verify', ...signer], { input })
  return signature
}

/** Signs a release. If a step fails, nothing is written into the folder. */
export async function signRelease(release: Release): Promise<void> {
  const { folder, version, key, env } = release
  if (key === null) throw new Error(NO_KEY)
  const state = env['SVC_STATE_DIR']
  // In an empty folder, the program would create an account.
  if (state === undefined || !existsSync(join(state, 'state.db')))
    throw new Error('SVC_STATE_DIR must name the state folder of the release account.')
  const content = await requireWhole(folder)
  await requireVersion(folder, version)
  const place = await mkdtemp(join(tmpdir(), 'countersign-sign-'))
  try {
    const stamp = await stampOf(content, release, key, place)
    const signature = await sshSignatureOf(content, release, place)
    await writeFile(join(folder, STAMP), stamp, { flag: 'wx' })
    await writeFile(join(folder, SIGNATURE), signature, { flag: 'wx' })
  } finally {
    await rm(place, { recursive: true })
  }
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { 'ssh-key': { type: 'string' }, key: { type: 'string' } },
    allowPositionals: true,
  })
  const [folder = 'dist/release'] = positionals
  const { key, 'ssh-key': sshKey } = values
  const jsonIn = async (path: string) => JSON.parse(await readFile(path, 'utf8')) as unknown
  try {
    if (sshKey === undefined) throw new Error('Missing: --ssh-key FILE.')
    const { version } = (await jsonIn('package.json')) as { version: string }
    await signRelease({
      folder,
      version,
      key: key === undefined ? RELEASE_KEY : ((await jsonIn(key)) as ReleaseKey | null),
      sshKey,
      allowedSigners: 'docs/allowed_signers',
      program: [process.execPath, 'dist/countersignd.cjs'],
      env: process.env,
    })
    process.stdout.write(`${folder}: version ${version} is signed: ${STAMP}, ${SIGNATURE}\n`)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exitCode = 1
  }
}
