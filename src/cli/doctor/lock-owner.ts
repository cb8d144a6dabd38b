/**
 * Finds the owner of a state folder's lock, and checks that it is the folder's daemon.
 *
 * The lock is never taken from another process.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import * as v from 'valibot'
import { Health } from '../../api/rest/health.ts'
import { isDaemonProof, socketAddress } from '../../auth/proof.ts'
import { readPrivate } from '../../keychain/private-file.ts'
import { type Runtime, isOwnAddress, readRuntime } from '../../storage/runtime-file.ts'
import { isDamage } from '../../storage/database-file.ts'
import { isResult } from '../../storage/sqlite.ts'
import { shellQuoted, messageOf } from './finding.ts'

/** Linux lists all file locks in this file. */
const LOCKS = '/proc/locks'

const PATIENCE_MS = 5000
/** The maximum size of a reply to the greeting, in bytes. A daemon never sends a longer one. */
const MOST_BYTES = 65_536

const AGAIN = 'Correct the problem with the folder, then run: countersignd doctor'

export type Holding =
  | { readonly state: 'unknown'; readonly why: string; readonly remedy: string }
  | { readonly state: 'free'; readonly runtime: boolean }
  | {
      readonly state: 'proven'
      readonly pid: number
      /** The URL of the API; null if the daemon does not use TCP. */
      readonly address: string | null
      /** The path of its Unix socket; null if there is none. */
      readonly socket: string | null
      readonly version: string
      readonly uptimeS: number
    }
  | {
      readonly state: 'silent'
      /** The process that owns the lock, if the system shows it. */
      readonly pid: number | null
      /** The contents of `runtime.json`; null if the file is missing or damaged. */
      readonly runtime: Runtime | null
      readonly why: string
    }

/**
 * Returns the process that has locked a file; null if the system does not show it.
 * @param locks the text of `/proc/locks`
 * @see proc_locks(5)
 */
export function lockerIn(locks: string, inode: bigint): number | null {
  for (const line of locks.split('\n')) {
    const cells = line.trim().split(/\s+/)
    // Example: "1: POSIX ADVISORY WRITE 123 fe:01:4711 …". "->" is before a process that waits for
    // the lock.
    const [, , , kind, pid, file = ''] = cells
    if (kind === 'WRITE' && file.split(':')[2] === String(inode)) return Number(pid) || null
  }
  return null
}

function lockerOf(path: string): number | null {
  if (!existsSync(LOCKS)) return null
  return lockerIn(readFileSync(LOCKS, 'latin1'), lstatSync(path, { bigint: true }).ino)
}

/**
 * Returns whether any process has the lock.
 *
 * For this test, a free lock is acquired and released immediately.
 */
function isHeld(path: string): boolean {
  // The journal belongs to an owner that is running or was killed. SQLite would delete the journal
  // of a killed owner.
  if (existsSync(`${path}-journal`) && existsSync(LOCKS)) return lockerOf(path) !== null
  const url = pathToFileURL(path)
  // This mode opens the file only if it exists.
  url.search = 'mode=rw'
  const db = new DatabaseSync(url, { timeout: 0 })
  try {
    // SQLite keeps the journal in memory, so that it creates no journal file next to the database.
    db.exec('pragma journal_mode = memory; begin immediate; rollback')
    return false
  } catch (error) {
    if (isResult(error, 'busy')) return true
    throw error
  } finally {
    db.close()
  }
}

interface Greeting {
  readonly proof: string
  readonly body: string
}

/**
 * Requests a daemon's proof. No credential is sent.
 * @param at a URL, or the path of a Unix socket
 */
export function greet(at: string, nonce: string, patienceMs = PATIENCE_MS): Promise<Greeting> {
  const isPath = at.startsWith('/')
  return new Promise((resolve, reject) => {
    const req = request(new URL('/health', isPath ? 'http://localhost' : at), {
      agent: false,
      ...(isPath ? { socketPath: at } : {}),
      headers: { 'Countersign-Nonce': nonce },
    })
    // The limit is for the whole reply, so that a server that sends single bytes cannot extend it.
    const late = setTimeout(() => req.destroy(new Error('it does not answer')), patienceMs)
    req.once('close', () => clearTimeout(late))
    req.on('error', reject)
    req.once('response', (res) => {
      let body = ''
      res.setEncoding('utf8')
      res.on('error', reject)
      res.on('data', (text: string) => {
        body += text
        if (body.length > MOST_BYTES) req.destroy(new Error('its answer is too long'))
      })
      res.once('end', () =>
        resolve({ proof: String(res.headers['countersign-proof'] ?? ''), body }),
      )
    })
    req.end()
  })
}

/** Returns the health that a server of this project reported; null for any other text. */
export function healthIn(body: string): v.InferOutput<typeof Health> | null {
  try {
    const parsed = v.safeParse(Health, JSON.parse(body))
    return parsed.success ? parsed.output : null
  } catch {
    return null
  }
}

/**
 * Asks the daemon at one place for its proof. Returns its health, or why it is not proven.
 * @param at a URL, or the path of a Unix socket
 */
async function askAt(at: string, secret: Buffer): Promise<v.InferOutput<typeof Health> | string> {
  const nonce = randomBytes(16).toString('base64url')
  const address = at.startsWith('/') ? socketAddress(at) : at
  try {
    const { proof, body } = await greet(at, nonce)
    if (!isDaemonProof(proof, secret, nonce, address)) return `another program answers at ${at}`
    return healthIn(body) ?? `its answer at ${at} is not that of a daemon`
  } catch (error) {
    return `at ${at}: ${messageOf(error)}`
  }
}

async function proven(stateDir: string, runtime: Runtime): Promise<Holding | string> {
  const { address, socket, pid } = runtime
  const hex = readPrivate(join(stateDir, 'secret'))?.trim() ?? ''
  if (!/^[0-9a-f]{64}$/.test(hex)) return 'the secret in its folder is missing or damaged'
  if (address !== null && !isOwnAddress(address))
    return 'runtime.json contains an address that is not on this machine'
  const faults: string[] = []
  for (const at of [socket, address].filter((place) => place !== null)) {
    const answer = await askAt(at, Buffer.from(hex, 'hex'))
    if (typeof answer === 'string') faults.push(answer)
    else {
      const { version, uptime_s: uptimeS } = answer
      return { state: 'proven', pid, address, socket, version, uptimeS }
    }
  }
  return faults.join('; ')
}

/** Returns the owner of a state folder's lock. Never throws. */
export async function holdingOf(stateDir: string | undefined): Promise<Holding> {
  if (stateDir === undefined)
    return { state: 'unknown', why: 'the state folder is not known', remedy: AGAIN }
  try {
    const path = join(stateDir, 'lock.db')
    const isThere = existsSync(join(stateDir, 'runtime.json'))
    if (!existsSync(path) || !isHeld(path)) return { state: 'free', runtime: isThere }
    const pid = lockerOf(path)
    const runtime = readRuntime(stateDir)
    if (runtime === null)
      return {
        state: 'silent',
        pid,
        runtime,
        why: isThere ? 'runtime.json is damaged' : 'its address is unknown',
      }
    const answer = await proven(stateDir, runtime)
    return typeof answer === 'string' ? { state: 'silent', pid, runtime, why: answer } : answer
  } catch (error) {
    const remedy = isDamage(error)
      ? `Stop every countersignd that uses this folder, then run: rm ${shellQuoted(join(stateDir, 'lock.db'))} (this file contains no data)`
      : AGAIN
    return { state: 'unknown', why: messageOf(error), remedy }
  }
}
