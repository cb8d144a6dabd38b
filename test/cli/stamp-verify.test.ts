/**
 * `stamp verify`, offline: the signer, as far as this machine can identify it, and attempts at
 * forgery.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { nameRecoveryKey, resetLog } from '../../src/crypto/logs/key-log-entries.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { signReceipt, stampFragment } from '../../src/crypto/stamp.ts'
import { EXIT } from '../../src/errors.ts'
import { openState } from '../../src/state/state.ts'
import {
  accountOf,
  logEntry,
  newAccount,
  newDevice,
  newRecoveryKey,
  sign,
  type TestDevice,
} from '../crypto/builders.ts'
import type { Json } from '../e2e/caller.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { terminal } from './terminal.ts'

const CONTENT = 'pay 17 to the usual account\n'
const AT = 1767225600
type Assurance = 'device' | 'verified_email' | 'organisation'

const rootOf = (entry: string) => createHash('sha256').update(entry).digest('hex')

/** Creates a stamp without the code under test. */
function stampOf(
  account: string,
  device: TestDevice,
  log: readonly string[],
  assurance: Assurance = 'device',
  iat = AT,
): string {
  return sign('stamp+jws', device, {
    v: 2,
    jti: newId(ID_PREFIX.stamp, AT * 1000),
    iss: account,
    dev: device.id,
    sha256: createHash('sha256').update(CONTENT).digest('base64url'),
    len: CONTENT.length,
    media_type: null,
    iat,
    clock: { source: 'local', offset_ms: 0 },
    key_log: { seq: log.length - 1, head: encodeBase64url(entryHash(log.at(-1)!)) },
    ctx: null,
    assurance,
  })
}

const receiptBy = (
  server: TestDevice,
  stamp: string,
  assurance: Assurance,
  key_status: 'active' | 'revoked' = 'active',
) =>
  signReceipt(
    stamp,
    { received_at: AT + 3, key_status, assurance },
    server.kid,
    server.keys.sign.secret,
  )

const [laptop, phone, server] = [newDevice(), newDevice(), newDevice()]
const ADA = accountOf(laptop)
const log = [logEntry(ADA, [], 'add', laptop, laptop)]
log.push(logEntry(ADA, log, 'add', phone, laptop))
const revoked = [...log, logEntry(ADA, log, 'revoke', phone, laptop)]

interface Remembered {
  readonly entries?: readonly string[]
  /** Ada’s device that owns the state folder; its server is `server`. */
  readonly own?: TestDevice
  /** The generation of keys that the user confirmed. */
  readonly pinned?: number
}

/**
 * Creates a state folder with Ada’s cached log; without `entries`, returns a path that does not
 * exist.
 */
function folderOf(t: TestContext, { entries, own, pinned }: Remembered): string {
  const dir = freshFolder(t)
  if (entries === undefined) return join(dir, 'none')
  const state = openState(dir)
  for (const [seq, entry] of entries.entries())
    state.logs.append({ kind: 'keylog', subject: ADA, seq, entry })
  const receiptKey = server.keys.sign.jwk
  const me = own === undefined ? { account: newAccount() } : { account: ADA, device: own.id }
  state.meta.set('identity', { ...me, receiptKey })
  if (pinned !== undefined)
    state.trust.put({
      account: ADA,
      pinned,
      confirmed: true,
      seq: entries.length - 1,
      newest: pinned,
      refused: null,
      checked_at: 0,
      recovered_at: null,
      key_unused: false,
    })
  state.close()
  return dir
}

/** Verifies a stamp file on a machine. */
async function verify(
  t: TestContext,
  file: object,
  { root, key, ...remembered }: Remembered & { root?: string; key?: object } = {},
) {
  const place = freshFolder(t)
  const path = (name: string, text: string) => {
    writeFileSync(join(place, name), text)
    return join(place, name)
  }
  const dir = folderOf(t, remembered)
  const args = [
    'stamp',
    'verify',
    path('file', CONTENT),
    path('stamp', JSON.stringify(file)),
    ...(root === undefined ? [] : ['--root', root]),
    ...(key === undefined ? [] : ['--receipt-key', path('key', JSON.stringify(key))]),
  ]
  const words = await terminal(dir)(args)
  const result = await terminal(dir)([...args, '--json'])
  assert.equal(result.code, words.code)
  return { ...words, dir, json: JSON.parse(result.out) as Json }
}

const good = (account = ADA, device = laptop, of = log) => ({
  stamp: stampOf(account, device, of),
  key_log: of,
})

describe('stamp verify: a forger who signs a reset for the account id of another', () => {
  const mallory = newDevice()
  const forged = [...log, logEntry(ADA, log, 'reset', mallory, mallory)]
  const file = (assurance: Assurance) => {
    const stamp = stampOf(ADA, mallory, forged, assurance)
    return { stamp, key_log: forged, receipt: receiptBy(mallory, stamp, 'organisation') }
  }

  for (const [where, remembered] of [
    ['on any machine', {}],
    ['with other accounts cached', { entries: [] }],
  ] as const)
    it(`${where}: signer unknown, assurance device, exit code 11`, async (t) => {
      const { code, out, json } = await verify(t, file('device'), remembered)
      assert.equal(code, EXIT.inconclusive, out)
      assert.match(
        out,
        /^The signature matches exactly this content, but the signer is unknown\.$/m,
      )
      assert.match(out, /^assurance {4}device$/m)
      assert.doesNotMatch(out, /Good|organisation/)
      assert.match(out, new RegExp(`^root +${rootOf(forged.at(-1)!)}$`, 'm'))
      assert.match(out, /--root ROOT/)
      assert.deepEqual(
        [json.valid, json.conclusive, json.reason, json.signer, json.assurance_level, json.receipt],
        [false, false, 'signer_unknown', 'unknown', 'device', 'unknown_key'],
      )
      assert.deepEqual([json.root, json.received_at], [rootOf(forged.at(-1)!), null])
    })

  for (const claim of ['verified_email', 'organisation'] as const)
    it(`with the assurance ${claim} in the stamp is rejected`, async (t) => {
      const { code, out, json } = await verify(t, file(claim))
      assert.equal(code, EXIT.notVerified)
      assert.match(out, /^Not good \(assurance_claimed\)/)
      assert.deepEqual(json, { valid: false, conclusive: true, reason: 'assurance_claimed' })
    })

  it('is unknown if the account is cached without the reset', async (t) => {
    const { code, json } = await verify(t, file('device'), { entries: log })
    assert.equal(code, EXIT.inconclusive)
    assert.deepEqual([json.valid, json.signer], [false, 'unknown'])
  })

  it('with a first entry is rejected: the id belongs to other keys', async (t) => {
    const begun = [logEntry(ADA, [], 'add', mallory, mallory)]
    for (const at of [{}, { entries: [] }, { root: rootOf(begun[0]!) }]) {
      const { code, out, json } = await verify(t, good(ADA, mallory, begun), at)
      assert.equal(code, EXIT.notVerified)
      assert.match(out, new RegExp(`^Not good \\(account_mismatch\\): .* not ${ADA}`))
      assert.deepEqual(json, { valid: false, conclusive: true, reason: 'account_mismatch' })
    }
  })

  it('is rejected if another root is trusted', async (t) => {
    const { code, out } = await verify(t, file('device'), { root: rootOf(log[0]!) })
    assert.equal(code, EXIT.notVerified)
    assert.match(out, new RegExp(`^Not good \\(other_root\\): .*${rootOf(forged.at(-1)!)}`))
  })

  it('with a forged receipt of the pinned server is rejected', async (t) => {
    const { stamp, key_log } = file('device')
    const claims = { received_at: AT, key_status: 'active', assurance: 'organisation' }
    const jti = (JSON.parse(Buffer.from(stamp.split('.')[1]!, 'base64url').toString()) as Json).jti
    const receipt = sign(
      'receipt+jws',
      { ...mallory, kid: server.kid },
      { v: 2, jti, stamp_sha256: stampFragment(stamp), ...claims },
    )
    const { code, out } = await verify(t, { stamp, key_log, receipt }, { entries: [] })
    assert.equal(code, EXIT.notVerified)
    assert.match(out, /^Not good \(bad_signature\)/)
  })
})

describe('stamp verify: a valid stamp', () => {
  const cases: [name: string, at: Remembered & { root?: string }, code: number, signer: string][] =
    [
      ['on any machine', {}, EXIT.inconclusive, 'unknown'],
      ['with its root', { root: rootOf(log[0]!) }, EXIT.ok, 'root'],
      ['with its root in capitals', { root: rootOf(log[0]!).toUpperCase() }, EXIT.ok, 'root'],
      ['of this device’s account', { entries: log, own: phone }, EXIT.ok, 'own'],
      ['of a contact', { entries: log }, EXIT.ok, 'remembered'],
      [
        'of a contact with a newest device that is not cached yet',
        { entries: log.slice(0, 1) },
        0,
        'remembered',
      ],
      ['of a followed account', { entries: log, pinned: 1 }, EXIT.ok, 'remembered'],
    ]
  for (const [name, at, expected, signer] of cases)
    it(`${name}: ${signer}`, async (t) => {
      const { code, out, json } = await verify(t, good(), at)
      assert.equal(code, expected, out)
      assert.equal(out.startsWith('Good: '), code === EXIT.ok, out)
      assert.deepEqual(
        [json.valid, json.conclusive, json.signer, json.assurance_level, json.root],
        [code === EXIT.ok, code === EXIT.ok, signer, 'device', rootOf(log[0]!)],
      )
    })

  it('with the latest possible time is valid, and prints the latest time of the format', async (t) => {
    const stamp = stampOf(ADA, laptop, log, 'device', Number.MAX_SAFE_INTEGER)
    const { code, out } = await verify(t, { stamp, key_log: log }, { root: rootOf(log[0]!) })
    assert.equal(code, EXIT.ok)
    assert.match(out, /^signed at +9999-12-31T23:59:59\.999Z/m)
  })

  it('creates no state folder, and changes none', async (t) => {
    const { dir } = await verify(t, good())
    assert(!existsSync(dir))
    const used = await verify(t, good(), { entries: log })
    assert.deepEqual(readdirSync(used.dir), ['state.db'])
  })

  it('with a receipt of the pinned server: prints its level and time', async (t) => {
    const { stamp, key_log } = good()
    const file = { stamp, key_log, receipt: receiptBy(server, stamp, 'organisation') }
    const { code, json, out } = await verify(t, file, { entries: log })
    assert.equal(code, EXIT.ok, out)
    assert.deepEqual(
      [json.receipt, json.assurance_level, json.received_at],
      ['verified', 'organisation', '2026-01-01T00:00:03.000Z'],
    )
    // Elsewhere nothing vouches for the server, so its statements are not printed.
    const away = await verify(t, file)
    assert.deepEqual([away.code, away.json.assurance_level], [EXIT.inconclusive, 'device'])
    assert.match(
      away.out,
      /received at {2}not checked, because this device does not have the key of the server/,
    )
    // The server vouches for level and time; the root identifies the account.
    const given = await verify(t, file, { key: server.keys.sign.jwk })
    assert.deepEqual([given.code, given.json.assurance_level], [EXIT.inconclusive, 'organisation'])
  })

  it('an invalid root: wrong usage', async (t) => {
    const place = freshFolder(t)
    const [file, stamp] = [join(place, 'file'), join(place, 'stamp')]
    writeFileSync(file, CONTENT)
    writeFileSync(stamp, JSON.stringify(good()))
    const { code, err } = await terminal(place)(['stamp', 'verify', file, stamp, '--root', 'abc'])
    assert.equal(code, EXIT.usage)
    assert.match(err, /--root must be 64 hexadecimal digits.* not "abc"/)
  })
})

describe('stamp verify: a stamp with terminal controls in member names', () => {
  const name = `x\nGood: the signature matches exactly this content.\n\u001b[32m${'y'.repeat(100)}`
  const long = JSON.stringify(name)
  const part = (json: string) => Buffer.from(json).toString('base64url')
  const header = JSON.stringify({ alg: 'Ed25519', typ: 'stamp+jws', kid: laptop.kid })
  const cases: [reason: string, stamp: string][] = [
    ['unknown_member', sign('stamp+jws', laptop, { v: 2, [name]: 0 })],
    ['duplicate_member', `${part(header)}.${part(`{${long}:0,${long}:0}`)}.${'A'.repeat(86)}`],
  ]
  for (const [reason, stamp] of cases)
    it(`${reason}: one line, with the name escaped and shortened`, async (t) => {
      const { code, out, err } = await verify(t, { stamp, key_log: log })
      assert.deepEqual([code, err], [EXIT.notVerified, ''])
      assert.match(out, new RegExp(`^Not good \\(${reason}\\): [^\\n]{1,80}\\n$`))
      assert.match(out, /"x\\nGood: the signature/)
      assert(!out.includes('\u001b'))
    })
})

describe('stamp verify: a key log that was cut before a revocation', () => {
  const cut = good(ADA, phone)

  it('is completed from the cached one, and the stamp rejected', async (t) => {
    for (const at of [{ entries: revoked }, { entries: revoked, root: rootOf(log[0]!) }]) {
      const { code, out } = await verify(t, cut, at)
      assert.equal(code, EXIT.notVerified, out)
      assert.match(out, /^Not good \(revoked_key\)/)
    }
  })

  it('stays valid with a receipt from before, and is rejected with one from after', async (t) => {
    for (const status of ['active', 'revoked'] as const) {
      const file = { ...cut, receipt: receiptBy(server, cut.stamp, 'device', status) }
      const { code, out } = await verify(t, file, { entries: revoked })
      assert.equal(code, status === 'active' ? EXIT.ok : EXIT.notVerified, out)
    }
  })

  it('without a cached log: names what cannot be shown', async (t) => {
    const { code, out } = await verify(t, cut, { root: rootOf(log[0]!) })
    assert.equal(code, EXIT.ok)
    assert.match(out, /^key log +2 entries\. Later revocations are not included$/m)
  })
})

describe('stamp verify: an account after a reset', () => {
  const next = newDevice()
  const reset = [...log, logEntry(ADA, log, 'reset', next, next)]
  const file = good(ADA, next, reset)
  const root = rootOf(reset.at(-1)!)
  const WARNING =
    /^warning +All devices of this account were once replaced without its recovery key\./m

  const cases: [name: string, at: Remembered & { root?: string }, code: number][] = [
    ['with nothing cached', {}, EXIT.inconclusive],
    // Any key can sign a reset: cached entries before it do not vouch for those after it.
    ['cached before the reset', { entries: log }, EXIT.inconclusive],
    ['with new keys that were not confirmed', { entries: reset, pinned: 1 }, EXIT.inconclusive],
    ['that is only cached', { entries: reset }, EXIT.inconclusive],
    ['with new keys that were confirmed', { entries: reset, pinned: 2 }, EXIT.ok],
    ['that is the own one', { entries: reset, own: next }, EXIT.ok],
    [
      'that is the own one, on a device that the reset revoked',
      { entries: reset, own: laptop },
      EXIT.inconclusive,
    ],
    ['with the new root given', { root }, EXIT.ok],
    ['with the old root given', { root: rootOf(log[0]!) }, EXIT.notVerified],
  ]
  for (const [name, at, expected] of cases)
    it(`${name}: exit code ${expected}`, async (t) => {
      const { code, out, json } = await verify(t, file, at)
      assert.equal(code, expected, out)
      if (code === EXIT.notVerified) return
      assert.match(out, WARNING)
      assert.deepEqual([json.root, json.began_anew], [root, true])
    })
})

describe('stamp verify: an account that undid the reset of a thief with its recovery key', () => {
  const [thief, home, paper] = [newDevice(), newDevice(), newRecoveryKey()]
  const logOf = (entries: readonly string[]) => verifyKeyLog(ADA, entries)
  const by = { by: laptop.id, kid: laptop.kid, seed: laptop.keys.sign.secret, at: AT }
  const named = [...log, nameRecoveryKey({ log: logOf(log), key: paper.jwk, ...by })]
  const stolen = [
    ...named,
    resetLog({ log: logOf(named), device: thief.id, keys: thief.keys, at: AT }),
  ]
  const back = { device: home.id, keys: home.keys, recovery: paper, at: AT }
  const undone = [...stolen, resetLog({ log: logOf(stolen), ...back })]

  const cases: [name: string, by: [TestDevice, string[]], at: Remembered, code: number][] = [
    [
      'the new keys: linked to the confirmed ones',
      [home, undone],
      { entries: undone, pinned: 1 },
      EXIT.ok,
    ],
    ['the new keys, not cached yet', [home, undone], { entries: log }, EXIT.ok],
    [
      'the new keys, on an own device from before',
      [home, undone],
      { entries: named, own: laptop },
      EXIT.ok,
    ],
    ['the keys of the thief', [thief, stolen], { entries: stolen, pinned: 1 }, EXIT.inconclusive],
    [
      'the keys of the thief, on an own device from before',
      [thief, stolen],
      { entries: stolen, own: laptop },
      EXIT.inconclusive,
    ],
  ]
  for (const [name, [device, of], at, expected] of cases)
    it(`${name}: exit code ${expected}`, async (t) => {
      const { code, out, json } = await verify(t, good(ADA, device, of), at)
      assert.equal(code, expected, out)
      assert.equal(json.valid, code === EXIT.ok)
    })

  it('the keys of the thief stay unknown after later ones are accepted', async (t) => {
    const { stamp } = good(ADA, thief, stolen)
    const file = { stamp, key_log: undone, receipt: receiptBy(server, stamp, 'device') }
    for (const at of [{ pinned: 3 }, { own: home }]) {
      const { code, out } = await verify(t, file, { entries: undone, ...at })
      assert.equal(code, EXIT.inconclusive, out)
    }
  })
})

describe('stamp verify: a file that is no stamp', () => {
  const place = (t: TestContext) => {
    const dir = freshFolder(t)
    writeFileSync(join(dir, 'good.txt'), CONTENT)
    return dir
  }
  it('is named, with the missing part', async (t) => {
    const dir = place(t)
    const [file, none] = [join(dir, 'good.txt'), join(dir, 'nofile')]
    const cases: [args: string[], message: string][] = [
      [[none, file], `There is no file "${none}".`],
      [[dir, file], `"${dir}" is a folder. Name one file.`],
      [[file, file], `"${file}" is not a stamp. Usage: countersignd stamp verify FILE STAMP`],
    ]
    for (const [args, message] of cases) {
      const { code, err } = await terminal(dir)(['stamp', 'verify', ...args])
      assert.equal(code, EXIT.usage)
      assert(err.includes(message), err)
    }
  })
})
