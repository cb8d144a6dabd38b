/** Who holds the state folder, told without taking its lock from anybody, and whether it is the daemon that it says it is. */
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import * as v from 'valibot'
import { Health } from '../../api/rest/health.ts'
import { isDaemonProof } from '../../auth/proof.ts'
import { readPrivate } from '../../storage/folder.ts'
import { type Runtime, isOwnAddress, readRuntime } from '../../storage/runtime-file.ts'
import { isDamage } from '../../storage/database-file.ts'
import { isResult } from '../../storage/sqlite.ts'
import { quoted, said } from './finding.ts'

/** Every lock that somebody holds on a file, on Linux. */
const LOCKS = '/proc/locks'

const PATIENCE_MS = 5000
/** Whoever answers the greeting with more is no daemon. */
const MOST_BYTES = 65_536

const AGAIN = 'Correct what is wrong with the folder, then: countersignd doctor'

export type Holding =
  | { readonly state: 'unknown'; readonly why: string; readonly remedy: string }
  | { readonly state: 'free'; readonly runtime: boolean }
  | {
      readonly state: 'proven'
      readonly pid: number
      readonly address: string
      readonly version: string
      readonly uptimeS: number
    }
  | {
      readonly state: 'silent'
      /** Who holds the lock, where the system says it. */
      readonly pid: number | null
      /** What `runtime.json` says; null where that says nothing. */
      readonly runtime: Runtime | null
      readonly why: string
    }

/**
 * The process that holds a lock on a file (proc_locks(5)); null where the system does not say.
 * @param locks the text of `/proc/locks`
 */
export function lockerIn(locks: string, inode: bigint): number | null {
  for (const line of locks.split('\n')) {
    const cells = line.trim().split(/\s+/)
    // "1: POSIX ADVISORY WRITE 123 fe:01:4711 …"; "->" stands before one that waits.
    const [, , , kind, pid, file = ''] = cells
    if (kind === 'WRITE' && file.split(':')[2] === String(inode)) return Number(pid) || null
  }
  return null
}

function lockerOf(path: string): number | null {
  if (!existsSync(LOCKS)) return null
  return lockerIn(readFileSync(LOCKS, 'latin1'), lstatSync(path, { bigint: true }).ino)
}

/** Whether anybody holds the lock. A free one is taken to tell, and given back in the same breath. */
function isHeld(path: string): boolean {
  // Left by a holder that was killed, or of one that lives: SQLite would delete the former.
  if (existsSync(`${path}-journal`) && existsSync(LOCKS)) return lockerOf(path) !== null
  const url = pathToFileURL(path)
  // Never makes the file.
  url.search = 'mode=rw'
  const db = new DatabaseSync(url, { timeout: 0 })
  try {
    // In memory: no journal appears beside it, not for a moment.
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

/** Ask a daemon to prove itself; nothing that opens anything is sent. */
export function greet(address: string, nonce: string, patienceMs = PATIENCE_MS): Promise<Greeting> {
  return new Promise((resolve, reject) => {
    const req = request(new URL('/health', address), {
      agent: false,
      headers: { 'Countersign-Nonce': nonce },
    })
    // For all of it: a byte now and then is no answer.
    const late = setTimeout(() => req.destroy(new Error('it does not answer')), patienceMs)
    req.once('close', () => clearTimeout(late))
    req.on('error', reject)
    req.once('response', (res) => {
      let body = ''
      res.setEncoding('utf8')
      res.on('error', reject)
      res.on('data', (text: string) => {
        body += text
        if (body.length > MOST_BYTES) req.destroy(new Error('it answers without end'))
      })
      res.once('end', () =>
        resolve({ proof: String(res.headers['countersign-proof'] ?? ''), body }),
      )
    })
    req.end()
  })
}

/** What a text says of the health of a server of ours; null where it is something else. */
export function healthIn(body: string): v.InferOutput<typeof Health> | null {
  try {
    const parsed = v.safeParse(Health, JSON.parse(body))
    return parsed.success ? parsed.output : null
  } catch {
    return null
  }
}

async function proven(stateDir: string, runtime: Runtime): Promise<Holding | string> {
  const { address, pid } = runtime
  const hex = readPrivate(join(stateDir, 'secret'))?.trim() ?? ''
  if (!/^[0-9a-f]{64}$/.test(hex)) return 'the secret in its folder is gone or damaged'
  if (!isOwnAddress(address)) return 'runtime.json names no address of this machine'
  const nonce = randomBytes(16).toString('base64url')
  try {
    const { proof, body } = await greet(address, nonce)
    if (!isDaemonProof(proof, Buffer.from(hex, 'hex'), nonce, address))
      return `whoever answers at ${address} is not it`
    const health = healthIn(body)
    if (health === null) return `it answers at ${address}, and not with its health`
    return { state: 'proven', pid, address, version: health.version, uptimeS: health.uptime_s }
  } catch (error) {
    return `at ${address}: ${said(error)}`
  }
}

/** Look who holds a state folder. Never throws. */
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
        why: isThere ? 'runtime.json is damaged' : 'nothing says where it listens',
      }
    const told = await proven(stateDir, runtime)
    return typeof told === 'string' ? { state: 'silent', pid, runtime, why: told } : told
  } catch (error) {
    const remedy = isDamage(error)
      ? `Stop any countersignd, then: rm ${quoted(join(stateDir, 'lock.db'))} (it holds no data)`
      : AGAIN
    return { state: 'unknown', why: said(error), remedy }
  }
}
