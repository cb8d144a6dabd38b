/** Checks this device's account: session, copied keys, notices, recovery key, last sync. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../../crypto/refusal.ts'
import { machineKeyIn } from '../../daemon/credential.ts'
import { requireSameServer } from '../../daemon/folder.ts'
import { type Finding, fail, ok, messageOf, durationText, warn } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

const NAME = 'account'
const SYNC = 'sync'
const RECOVERY = 'recovery'

const NO_PAPER =
  'no recovery key. To be able to recover the account if all devices are lost, run "countersignd recovery create"'

/**
 * How old the last sync may be, in milliseconds. After that, `verify` is inconclusive
 * (`sync_stale`).
 */
const STALE_MS = 7 * 86_400_000

function nobody({ config }: DoctorContext): Finding {
  if (config.backendUrl === null)
    return ok(
      NAME,
      'none yet; the first start that listens creates the embedded account, which needs no sign-in',
    )
  try {
    if (machineKeyIn(config.credentialsDir ?? null) !== null)
      return warn(
        NAME,
        'not signed in yet; the daemon signs in with the machine account key that is among its credentials',
        'countersignd serve',
      )
  } catch (error) {
    return fail(
      NAME,
      messageOf(error),
      'Give the unchanged key file to the service: LoadCredential=countersign-machine-key:PATH',
    )
  }
  return warn(NAME, 'not signed in', 'countersignd login --email YOU@EXAMPLE.ORG')
}

function remedyFor(server: string | null, configured: string | null): string {
  if (server === configured) return 'Restore the whole state folder from a backup.'
  return 'unset SVC_BACKEND_URL SVC_ENV'
}

function signedIn({ config, memory: { identity } }: DoctorContext): Finding {
  if (identity === null) throw new TypeError('not signed in')
  const { account, device, server, approved } = identity
  const { stateDir, backendUrl, databaseUrl } = config
  if (stateDir !== undefined && backendUrl !== undefined && databaseUrl !== undefined)
    try {
      requireSameServer({ stateDir, backendUrl, databaseUrl }, { account, server })
    } catch (error) {
      return fail(NAME, messageOf(error), remedyFor(server, backendUrl))
    }
  if (!approved)
    return warn(
      NAME,
      `${account}: this device awaits approval and can only read until then`,
      'countersignd login (and countersignd device approve on a device that is signed in)',
    )
  return ok(NAME, `${account}, device ${device}, ${server === null ? 'embedded' : `at ${server}`}`)
}

/** Returns a failure if a sync found that another copy of this device's keys is in use. */
const copied = ({ memory: { identity, copyWarning } }: DoctorContext): Finding[] =>
  identity === null || copyWarning === null
    ? []
    : [fail(NAME, copyWarning, `countersignd device revoke ${identity.device} (on another device)`)]

function synced({ memory, config: { backendUrl }, now }: DoctorContext): Finding {
  const { lastSync, lastGoodSync } = memory
  const age = lastGoodSync === null ? null : now() - Date.parse(lastGoodSync)
  const when = age === null ? 'never' : `${durationText(age)} ago`
  // The embedded account cannot be stale, because its data is on this device.
  if (backendUrl !== null && (age === null || age > STALE_MS))
    return warn(
      SYNC,
      `last successful sync: ${when}${age === null ? '' : '; after seven days no check of words is conclusive'}`,
      'countersignd sync',
    )
  if (lastSync !== null && !lastSync.ok)
    return warn(
      SYNC,
      `the last sync failed: ${messageOf(lastSync.error ?? 'unknown reason')} (last successful sync: ${when})`,
      'countersignd sync',
    )
  return ok(SYNC, `last successful sync: ${when}`)
}

/**
 * Reports whether a recovery key is active.
 *
 * Returns nothing if the key log does not verify, because the notices of a sync report that.
 */
async function recovery({
  memory: { identity, keyLog, notices },
}: DoctorContext): Promise<Finding[]> {
  if (identity === null || !identity.approved || keyLog.length === 0) return []
  if (notices.some(({ about }) => about === RECOVERY)) return []
  const { lastPlace } = await import('../../crypto/logs/chain.ts')
  const { verifyKeyLog } = await import('../../crypto/logs/key-log.ts')
  try {
    const log = verifyKeyLog(identity.account, keyLog, lastPlace(keyLog))
    return [ok(RECOVERY, log.recovery === null ? NO_PAPER : 'the account has a recovery key')]
  } catch (error) {
    if (error instanceof Refusal) return []
    throw error
  }
}

const noticed = ({ memory: { notices } }: DoctorContext): Finding[] =>
  notices.map(({ about, found, remedy }) => warn(about, found, remedy))

export const accountCheck: DoctorCheck = {
  name: NAME,
  async run(ground) {
    const { memory, config } = ground
    if (config.stateDir === undefined) return []
    if (!memory.readable && existsSync(join(config.stateDir, 'state.db')))
      return [warn(NAME, 'unknown: state.db cannot be read', 'See the line about state.db.')]
    if (memory.identity === null) return [nobody(ground)]
    const found = [signedIn(ground), ...copied(ground), ...noticed(ground)]
    return [...found, ...(await recovery(ground)), synced(ground)]
  },
}
