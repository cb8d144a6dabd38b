import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { timeAt } from '../../api/fields.ts'
import type { Config } from '../../config/config.ts'
import { isLinked } from '../../crypto/logs/generations.ts'
import { completeLog } from '../../crypto/logs/key-log.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { readFacts } from '../../device/identity/identity.ts'
import {
  type CheckedStamp,
  checkedStamp,
  type StampMemory,
  stampMemoryOf,
  type StampSigner,
} from '../../device/identity/stamp-check.ts'
import { EXIT } from '../../errors.ts'
import { RELEASE_KEY } from '../../releases/release-key.ts'
import { isByReleaseKey } from '../../releases/signed-sums.ts'
import { logRows } from '../../state/logs.ts'
import { metaRows } from '../../state/meta.ts'
import { STATE_VERSIONS } from '../../state/migrations.ts'
import { eventRows } from '../../state/events.ts'
import { trustRows } from '../../state/trust.ts'
import { openReadOnly } from '../../storage/database-file.ts'
import { type Command, UsageError } from '../command.ts'
import { isForSystem } from '../system-instance.ts'
import { shown } from '../table.ts'
import { readBytes, readPublicKey, readStampFile } from './stamp.ts'

/**
 * The data in the state folder that a stamp is verified against.
 *
 * The folder is opened read-only and never created. A daemon may use it at the same time.
 */
interface FolderMemory extends StampMemory {
  /** The reason why the folder was not read, as a clause of a message; null if it was read. */
  readonly missing: string | null
}

const nothing = (missing: string): FolderMemory => ({
  missing,
  ...stampMemoryOf(null, { read: () => [] }, null),
})

/**
 * Returns data that also contains the release key. Its key log may be longer than the stored one.
 */
const withReleaseKey = (memory: StampMemory): StampMemory => ({
  ...memory,
  keyLog(account) {
    const stored = memory.keyLog(account)
    if (account !== RELEASE_KEY?.account) return stored
    return completeLog(account, stored, RELEASE_KEY.key_log)
  },
})

const versionOf = (db: DatabaseSync) =>
  Number(db.prepare('pragma user_version').get()?.['user_version'])

function memoryIn(db: DatabaseSync): FolderMemory {
  const { first, newest } = STATE_VERSIONS
  const version = versionOf(db)
  if (version < first)
    return nothing('the state folder is from before the first release of countersignd')
  if (version > newest) return nothing('a newer countersignd wrote the state folder')
  // In an earlier version, this table may lack columns until the next start of the daemon.
  const trust = version === newest ? trustRows(db, eventRows(db).append, (id) => id) : null
  const facts = readFacts({ meta: metaRows(db) })
  return { missing: null, ...stampMemoryOf(facts, logRows(db), trust) }
}

/**
 * Runs a function with the data of the state folder.
 *
 * A folder that cannot be read counts as empty, and the data names the reason.
 */
async function withMemory<T>(
  config: Pick<Config, 'stateDir' | 'system'>,
  work: (memory: FolderMemory) => Promise<T>,
): Promise<T> {
  const path = join(config.stateDir, 'state.db')
  if (isForSystem(config))
    return work(nothing('users of this machine cannot read the state of its service'))
  if (!existsSync(path)) return work(nothing('this device has never signed in'))
  let db: DatabaseSync
  try {
    db = openReadOnly(path)
  } catch (error) {
    return work(nothing(`${path} cannot be read (${(error as Error).message})`))
  }
  try {
    return await work(memoryIn(db))
  } finally {
    db.close()
  }
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/**
 * Returns the given root in lower case; null if none was given.
 * @throws UsageError if the text is not a SHA-256 hash
 */
function rootGiven(text: string | boolean | undefined): string | null {
  if (text === undefined) return null
  const root = String(text).toLowerCase()
  if (/^[0-9a-f]{64}$/.test(root)) return root
  throw new UsageError(
    `--root must be 64 hexadecimal digits, as "countersignd stamp verify" prints them, not "${shown(String(text))}".`,
  )
}

/** Returns why the signer is known; `release` for the release key in this program. */
function signerOf({ signer, facts }: CheckedStamp): StampSigner | 'release' {
  const isRelease = RELEASE_KEY !== null && isByReleaseKey(RELEASE_KEY, facts)
  return signer === 'remembered' && isRelease ? 'release' : signer
}

const SIGNER: Readonly<Record<ReturnType<typeof signerOf>, string>> = {
  root: 'known by the given root',
  own: 'the account of this device',
  remembered: 'known to this device',
  release: 'the release key of Countersign, which this program contains',
  unknown: 'unknown to this device',
}

const UNCHECKED: Readonly<Record<Exclude<CheckedStamp['receipt'], 'verified'>, string>> = {
  none: 'unknown, because the stamp contains no receipt',
  unknown_key:
    'not checked, because this device does not have the key of the server that issued the receipt',
}

const ANEW =
  'All devices of this account were once replaced without its recovery key. Make sure that the account still belongs to the same person.'
const RECOVERED = 'All devices of this account were once replaced with its recovery key.'

function linesOf(checked: CheckedStamp, receivedAt: string | null): string[] {
  const { facts, receipt } = checked
  const { payload, device, keyLog, generation, root, assurance } = facts
  return [
    `account      ${payload.iss} (${SIGNER[signerOf(checked)]})`,
    `root         ${hex(root.hash)}`,
    `device       ${device}`,
    `signed at    ${timeAt(payload.iat * 1000)} (as the signer claims)`,
    `received at  ${receipt === 'verified' ? receivedAt : UNCHECKED[receipt]}`,
    `assurance    ${assurance}`,
    `key log      ${keyLog.seq + 1} entries. Later revocations are not included`,
    ...(payload.ctx === null ? [] : [`context      ${shown(payload.ctx)}`]),
    ...(generation > 1
      ? [`warning      ${isLinked(keyLog, 1, generation) ? RECOVERED : ANEW}`]
      : []),
  ]
}

const advice = (missing: string | null) => [
  '',
  missing === null
    ? 'This device does not know the keys of the signer, and the signature alone does not show who has them.'
    : `This device knows no accounts (${missing}), and the signature alone does not show who has the keys of the signer.`,
  'Ask the signer, in a way that you trust, for the root that "countersignd stamp verify" prints on their own device. Then add: --root ROOT',
]

export const stampVerify: Command = {
  usage: 'FILE STAMP [--root ROOT] [--receipt-key JWK_FILE] [--json]',
  help: `
Checks that the signature in STAMP matches exactly the content of FILE, and shows the signer. The check is offline
and uses no server.

The root identifies the signer. It is the SHA-256 of the first entry in the key log of the signer. If the account of
the signer was reset, it is the SHA-256 of the entry of the latest reset. A stamp is good if its signature matches
and its root is known. A root is known if it is the one that you give with --root, or one that this device stores:
the device stores the roots of your own account, of your contacts and of the people that you follow. It also knows the
release key of Countersign, if this program contains one. If the key log
in the stamp contradicts the stored key log, the stamp is rejected. If the key log in the stamp ends earlier, the
stored key log completes it.

The receipt is checked with the key of the account server that this device is signed in to, or with --receipt-key.
Without a checked receipt, the assurance is "device" and the time is only what the signer claims.

  --root ROOT              the root of the signer: 64 hexadecimal digits, which the signer gave to you
  --receipt-key JWK_FILE   a file with the public key of the account server that issued the receipt: the "receipt_key"
                           of /s/{id}/file on that server

The exit code is 0 if the stamp is good, 10 if it is not good, and 11 if the signature matches but the signer is
unknown.`,
  examples: {
    'stamp verify contract.pdf contract.pdf.stamp': 'check a file and its stamp',
  },
  options: { root: { type: 'string' }, 'receipt-key': { type: 'string' } },
  args: [2, 2],
  async run({ args: [path = '', stamp = ''], options, config, print }) {
    const content = await readBytes(path)
    const file = await readStampFile(stamp)
    const { root, 'receipt-key': keyFile } = options
    const of = {
      root: rootGiven(root),
      key: keyFile === undefined ? null : await readPublicKey(String(keyFile)),
    }
    return withMemory(config(), async (memory) => {
      try {
        const checked = await checkedStamp(file, { content, ...of }, withReleaseKey(memory))
        const { facts, signer, receipt } = checked
        const { payload, device, words } = facts
        const isKnown = signer !== 'unknown'
        const receivedAt = facts.receipt === null ? null : timeAt(facts.receipt.received_at * 1000)
        print(
          {
            valid: isKnown,
            conclusive: isKnown,
            ...(isKnown ? {} : { reason: 'signer_unknown' }),
            signer: signerOf(checked),
            account_id: payload.iss,
            root: hex(facts.root.hash),
            began_anew: facts.generation > 1,
            device_id: device,
            signed_at: timeAt(payload.iat * 1000),
            received_at: receivedAt,
            receipt,
            assurance_level: facts.assurance,
            media_type: payload.media_type,
            context: payload.ctx,
            words: words.join(' '),
          },
          isKnown
            ? ['Good: the signature matches exactly this content.', ...linesOf(checked, receivedAt)]
            : [
                'The signature matches exactly this content, but the signer is unknown.',
                ...linesOf(checked, receivedAt),
                ...advice(memory.missing),
              ],
        )
        return isKnown ? EXIT.ok : EXIT.inconclusive
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        print(
          { valid: false, conclusive: true, reason: error.reason },
          error.reason === 'digest_mismatch'
            ? `Not good (digest_mismatch): ${shown(path)} is not the stamped file. It was changed, or it is another file.`
            : `Not good (${error.reason}): ${error.message}`,
        )
        return EXIT.notVerified
      }
    })
  },
}
