/** The command that verifies a download before it replaces this program. */
import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { timeAt } from '../../api/fields.ts'
import { EXIT } from '../../errors.ts'
import {
  checkSum,
  type Installer,
  installerNamed,
  platformHere,
  sha256Of,
} from '../../releases/download.ts'
import { DownloadRefusal } from '../../releases/refusal.ts'
import { RELEASE_KEY, type ReleaseKey } from '../../releases/release-key.ts'
import { verifySums } from '../../releases/signed-sums.ts'
import { compareVersions } from '../../releases/version.ts'
import { VERSION } from '../../runtime/version.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { unreadable } from '../errors/file-errors.ts'
import { labelledLines } from '../labels.ts'
import { shown } from '../table.ts'
import { readBytes, readStampFile } from './stamp.ts'

/** The longest SHA256SUMS and stamp that are read, in bytes. Those of a release have a few kB. */
const LONGEST = 2 ** 20

/**
 * Checks that a path names a regular file. Reading a pipe or a device might never end.
 * @throws UsageError
 */
async function requireFile(path: string, longest = Infinity): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error)
  })
  if (!found.isFile()) throw new UsageError(`"${path}" is not a regular file. Name one file.`)
  if (found.size > longest)
    throw new UsageError(
      `"${path}" has ${found.size} bytes. SHA256SUMS and its stamp have at most ${longest}. Name the right file.`,
    )
}

/** Returns SHA256SUMS and its stamp. */
async function readSums(path: string) {
  const stamp = `${path}.stamp`
  for (const each of [path, stamp]) await requireFile(each, LONGEST)
  return { content: await readBytes(path), stamp: await readStampFile(stamp, 'Download it again.') }
}

/** A file that the release key signed. */
interface Genuine {
  readonly name: string
  readonly version: string
  readonly installer: Installer | null
  readonly sha256: string
  /** When it was signed, as the signer claims. */
  readonly signedAt: string
}

/**
 * Checks a file against SHA256SUMS, its stamp and the release key.
 * @throws DownloadRefusal as `verifySums` and `checkSum`
 */
async function genuine(
  path: string,
  { content, stamp }: Awaited<ReturnType<typeof readSums>>,
  key: ReleaseKey,
): Promise<Genuine> {
  const { version, signedAt, sums } = await verifySums(content, stamp, key)
  const [name, sha256] = [basename(path), await sha256Of(path)]
  checkSum(sums, name, sha256)
  const installer = installerNamed(name)
  return { name, version, installer, sha256, signedAt: timeAt(signedAt * 1000) }
}

/** Why a file does not upgrade this program, although the release key signed it. */
function hindranceOf({ installer, version }: Genuine): { reason: string; why: string } | null {
  if (installer === null)
    return { reason: 'no_program', why: 'it is no program or package that can be installed' }
  if (installer.platform !== platformHere)
    return {
      reason: 'other_platform',
      why: `it is for ${installer.platform}, and this machine is ${platformHere}`,
    }
  if (compareVersions(version, VERSION) < 0)
    return {
      reason: 'older_version',
      why: `it is version ${version}, and this program is version ${VERSION}. An older version lacks later corrections, and may not open the state of this one`,
    }
  return null
}

/** Returns how to install a file. The shell of the user gets its path in quotes. */
function howToInstall({ kind, platform }: Installer, path: string): string {
  const file = `'${(dirname(path) === '.' ? `./${basename(path)}` : path).replaceAll("'", `'\\''`)}'`
  if (kind === 'package') return `sudo apt install ${file}`
  if (platform.startsWith('win')) return 'run it with "service install"'
  return `chmod +x ${file} && sudo ${file} service install`
}

function printGenuine(file: Genuine, path: string, print: Invocation['print']): number {
  const { name, version, installer, sha256, signedAt } = file
  const hindrance = hindranceOf(file)
  const account = RELEASE_KEY!.account
  print(
    {
      valid: true,
      conclusive: true,
      upgrade: hindrance === null,
      reason: hindrance?.reason ?? null,
      file: name,
      version,
      running_version: VERSION,
      platform: installer?.platform ?? null,
      sha256,
      account_id: account,
      signed_at: signedAt,
    },
    [
      hindrance === null
        ? 'Good: the release key signed exactly this file.'
        : `The release key signed exactly this file, but ${hindrance.why}.`,
      ...labelledLines([
        ['file', name],
        ['version', `${version} (this program: ${VERSION})`],
        ['platform', installer?.platform],
        ['signed at', `${signedAt} (as the signer claims)`],
        ['release key', account],
        ['to install', hindrance === null ? howToInstall(installer!, path) : null],
      ]),
    ],
  )
  return hindrance === null ? EXIT.ok : EXIT.inconclusive
}

const UNCHECKED =
  'This program contains no release key, so it cannot check a download. Check it as docs/verify-download.md describes.'

export const upgradeCommand: Command = {
  usage: '--check FILE [--sums SUMS_FILE] [--json]',
  help: `
Checks a downloaded file of a newer version before it replaces this program. FILE is an executable or a package. Beside
it must be SHA256SUMS and SHA256SUMS.stamp of the same release. The check is offline, changes nothing, and never runs
the file.

The file is good if its SHA-256 is in SHA256SUMS, and the release key of Countersign has signed SHA256SUMS. This program
contains the id of the account that the release key belongs to. The version comes from the signature. Run the command of
the version that is installed, not of the downloaded one.

  --check FILE       the downloaded file
  --sums SUMS_FILE   SHA256SUMS, if it is in another folder; its stamp is beside it

The exit code is 0 if the file is good. It is 10 if the file must not be used. It is 11 if the release key signed the
file, but it is older than this program, for another platform, or no program. It is also 11 if this program contains no
release key.`,
  examples: {
    'upgrade --check countersignd-linux-x64': 'check a download in this folder',
  },
  options: { check: { type: 'string' }, sums: { type: 'string' } },
  needs: [['check']],
  args: [0, 0],
  async run({ options: { check, sums }, print }) {
    const path = String(check)
    await requireFile(path)
    const signed = await readSums(String(sums ?? join(dirname(path), 'SHA256SUMS')))
    if (RELEASE_KEY === null) {
      print({ valid: false, conclusive: false, reason: 'no_release_key' }, UNCHECKED)
      return EXIT.inconclusive
    }
    try {
      return printGenuine(await genuine(path, signed, RELEASE_KEY), path, print)
    } catch (error) {
      if (!(error instanceof DownloadRefusal)) throw error
      const { reason, message } = error
      print(
        { valid: false, conclusive: true, reason },
        `Not good (${reason}): ${shown(basename(path))}: ${message}`,
      )
      return EXIT.notVerified
    }
  },
}
