/** The main job, by the published documents alone: words on a call, a stamp on a file. */
import assert from 'node:assert/strict'
import { createHash, createPublicKey, randomBytes, type JsonWebKey } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { compactVerify, importJWK } from 'jose'
import type { Browser, Page } from 'playwright-core'
import { ask, caller, listed, type Json } from './caller.ts'
import { noBrowser, startBrowser } from './chromium.ts'
import { linkOf, minuteOf, wordsFrom } from './peer.ts'
import { countersignd, exec, folder, startDaemon, type Running } from './program.ts'

const WRONG = 'matador carload recede'

const dir = folder()
let daemon: Running
let chromium: Browser | undefined
let call: ReturnType<typeof caller>

/** Returns the answer to POST /api/v1/token, requested by curl as in the documents. */
async function tokenByCurl(): Promise<Json> {
  const { code, stdout, stderr } = await exec('curl', [
    '-sS',
    '-H',
    'Content-Type: application/json',
    '-d',
    '{"name":"stranger","scope":"full"}',
    `${daemon.address}/api/v1/token`,
  ])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as Json
}

before(async () => {
  const state = join(dir.path, 'state')
  mkdirSync(state, { mode: 0o700 })
  const launched = noBrowser ? undefined : startBrowser()
  daemon = await startDaemon(state)
  const made = await tokenByCurl()
  assert.equal(made.scope, 'full')
  call = caller(daemon.address, made.token)
  chromium = await launched
})
after(async () => {
  await chromium?.close()
  const code = await daemon.end('SIGTERM')
  dir.remove()
  assert.equal(code, 0, daemon.log())
})

describe('three words on a call', { skip: noBrowser }, () => {
  let guest: Json
  let page: Page
  const verify = (words: string) => call('POST /api/v1/verify', { words })

  /** Returns the words on the guest’s page, and the minute for which it shows them. */
  async function read(): Promise<{ words: string; window: number }> {
    const words = page.locator('#words[data-window]')
    await words.waitFor()
    const spoken = ((await words.textContent()) ?? '').trim()
    assert.match(spoken, /^[a-z]+ [a-z]+ [a-z]+$/)
    return { words: spoken, window: Number(await words.getAttribute('data-window')) }
  }
  /** Returns the owner’s own words, from the list. */
  async function own(): Promise<{ words: string; window: number }> {
    const [{ code }] = await listed(call, '/api/v1/guest-codes')
    return { words: code.words, window: minuteOf(code.valid_from) }
  }
  async function check(words: string): Promise<string | null> {
    await page.fill('#heard', words)
    await page.click('#check button')
    const verdict = page.locator('#verdict[data-verdict]:not(:empty)')
    await verdict.waitFor()
    const result = await verdict.getAttribute('data-verdict')
    // Removed before the next check, so that a check does not read the verdict of an earlier one.
    await page.evaluate(`delete document.getElementById('verdict').dataset.verdict`)
    return result
  }

  before(async () => {
    guest = await call('POST /api/v1/guest-codes', { label: 'A friend' })
    page = await (chromium as Browser).newPage()
    await page.goto(guest.url)
    await page.click('#calling')
  })

  // Words are valid in the minute before and after theirs, so none of these can expire during the
  // test.
  it('are the same in the daemon, on the page, and by an independent HMAC', async () => {
    const { id, k } = linkOf(guest.url)
    const [{ id: account }] = [(await call('GET /api/v1/context')).user]
    const [shown, result] = [await read(), await own()]
    const of = { label: 'guest', k, subject: id } as const
    assert.equal(shown.words, wordsFrom({ ...of, speaker: id, window: shown.window }))
    assert.equal(result.words, wordsFrom({ ...of, speaker: account, window: result.window }))
    assert.equal(page.url(), `${daemon.accountAddress}/g/${id}`, 'the fragment is gone')
  })

  it('verify once, and are replayed the second time', async () => {
    const { words, window } = await read()
    const first = await verify(words)
    assert.equal(first.verified, true, JSON.stringify(first))
    assert.equal(first.conclusive, true)
    const { id, label } = guest
    const match = {
      kind: 'guest',
      speaker: 'other',
      guest_code_id: id,
      external_member: null,
      display_name: label,
      name_source: 'given',
      name_marks: [],
      window,
      conclusive: true,
    }
    assert.deepEqual(first.matches, [match])
    const again = await verify(words.toUpperCase().replaceAll(' ', ', '))
    assert.deepEqual(
      [again.verified, again.replayed, again.conclusive, again.first_verified_at],
      [false, true, true, first.checked_at],
    )
  })

  it('are an echo if they are the own words', async () => {
    const { echo, verified, replayed, matches } = await verify((await own()).words)
    assert.deepEqual([echo, verified, replayed], [true, false, false])
    assert.equal(matches[0].speaker, 'self')
  })

  it('do not verify if they match nothing', async () => {
    const { verified, conclusive, matches } = await verify(WRONG)
    assert.deepEqual([verified, conclusive, matches], [false, true, []])
  })

  it('are checked on the page, too', async () => {
    assert.equal(await check(WRONG), 'wrong')
    assert.equal(await check((await read()).words), 'own')
    const { words } = await own()
    assert.equal(await check(words), 'theirs')
    await page.click('#again')
    await page.click('#calling')
    assert.equal(await check(words), 'used')
  })

  it('do not verify after the code was revoked, and the page shows that', async () => {
    const { words } = await read()
    const { last_opened_at } = (await listed(call, '/api/v1/guest-codes'))[0]
    assert(Date.parse(last_opened_at) >= Date.parse(guest.created_at))
    await call(`DELETE /api/v1/guest-codes/${guest.id}`)
    const { verified, conclusive, reasons } = await verify(words)
    assert.deepEqual([verified, conclusive, reasons], [false, false, ['nothing_cached']])
    const answer = await page.reload()
    assert.equal(answer?.status(), 410)
    assert.equal(await page.textContent('h1'), 'This code was withdrawn')
    assert.equal(await page.locator('#words').count(), 0)
  })
})

describe('a stamp on a file of 5 MiB', () => {
  const file = join(dir.path, 'contract.bin')
  const changedFile = join(dir.path, 'changed.bin')
  const stampFile = `${file}.stamp`
  const changedStamp = join(dir.path, 'changed.stamp')
  let printed: Json
  let jwk: JsonWebKey & { kty: string }

  /** Returns the stamp with one byte of its payload changed. */
  const changed = (jws: string) => {
    const at = Math.floor(jws.indexOf('.') + jws.lastIndexOf('.')) >> 1
    return jws.slice(0, at) + (jws[at] === 'A' ? 'B' : 'A') + jws.slice(at + 1)
  }

  before(async () => {
    const content = randomBytes(5 * 1024 * 1024)
    writeFileSync(file, content)
    content[content.length >> 1]! ^= 1
    writeFileSync(changedFile, content)
    const { code, stdout, stderr } = await countersignd(['stamp', file, '--json'], daemon.stateDir)
    assert.equal(code, 0, stderr)
    printed = JSON.parse(stdout) as Json
    const stored = JSON.parse(readFileSync(stampFile, 'utf8')) as Json
    assert.equal(stored.stamp, printed.stamp)
    writeFileSync(changedStamp, JSON.stringify({ ...stored, stamp: changed(stored.stamp) }))
    const { user } = await call('GET /api/v1/context')
    const keys = await listed(call, `/api/v1/profiles/${user.id}/keys`)
    jwk = keys.find(({ use }) => use === 'sign').jwk
  })

  const stampIn = (path: string): string => JSON.parse(readFileSync(path, 'utf8')).stamp as string
  /** Compares a payload with the content. Signature libraries leave this to their users. */
  const isOf = (payload: Uint8Array, path: string) => {
    const { sha256, len } = JSON.parse(Buffer.from(payload).toString()) as Json
    const content = readFileSync(path)
    const digest = createHash('sha256').update(content).digest('base64url')
    return digest === sha256 && len === content.length
  }

  async function byJose(path: string, stamp: string): Promise<boolean> {
    try {
      const key = await importJWK(jwk, 'Ed25519')
      const { payload } = await compactVerify(stampIn(stamp), key, { algorithms: ['Ed25519'] })
      return isOf(payload, path)
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
      return false
    }
  }

  async function byOpenssl(path: string, stamp: string): Promise<boolean> {
    const [header = '', payload = '', signature = ''] = stampIn(stamp).split('.')
    const [key, signed, signatureFile] = ['key.pem', 'signed', 'signature'].map((name) =>
      join(dir.path, name),
    ) as [string, string, string]
    const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    writeFileSync(key, pem)
    writeFileSync(signed, `${header}.${payload}`)
    writeFileSync(signatureFile, Buffer.from(signature, 'base64url'))
    const args = ['-pubin', '-inkey', key, '-rawin', '-in', signed, '-sigfile', signatureFile]
    const { code, stdout } = await exec('openssl', ['pkeyutl', '-verify', ...args])
    assert.match(stdout, code === 0 ? /Verified Successfully/ : /Verification Failure/)
    return code === 0 && isOf(Buffer.from(payload, 'base64url'), path)
  }

  /** Verifies on a machine without an account, with the root that the signer gave to the user. */
  async function byCommandLine(path: string, stamp: string): Promise<boolean> {
    const empty = join(dir.path, 'unrelated')
    mkdirSync(empty, { mode: 0o700, recursive: true })
    const [first = ''] = (JSON.parse(readFileSync(stamp, 'utf8')) as Json).key_log as string[]
    const root = createHash('sha256').update(first).digest('hex')
    const run = async (...more: string[]) => {
      const args = ['stamp', 'verify', path, stamp, '--json', ...more]
      const { code, stdout } = await countersignd(args, empty)
      return { code, result: JSON.parse(stdout) as Json }
    }
    const { code, result } = await run('--root', root)
    assert.deepEqual(readdirSync(empty), [], 'it made no state')
    assert.equal(code, result.valid ? 0 : 10)
    // Without the root, the signer of the same stamp is unknown.
    const unknown = await run()
    assert.equal(unknown.code, result.valid ? 11 : 10)
    if (result.valid) assert.deepEqual([unknown.result.valid, unknown.result.root], [false, root])
    return result.valid as boolean
  }

  async function byPage(path: string, stamp: string): Promise<boolean> {
    const page = await (chromium as Browser).newPage()
    try {
      await page.route('**/s/*/file', async (route) => {
        const answer = await route.fetch()
        await route.fulfill({ json: { ...(await answer.json()), stamp: stampIn(stamp) } })
      })
      await page.goto(printed.verification_url)
      const result = page.locator('#result:not([data-kind="wait"])')
      await result.waitFor()
      if ((await result.getAttribute('data-kind')) !== 'found') return false
      await page.setInputFiles('#file', path)
      await page.locator('#result:is([data-kind="ok"], [data-kind="bad"])').waitFor()
      return (await result.getAttribute('data-kind')) === 'ok'
    } finally {
      await page.close()
    }
  }

  for (const [name, checks, skip] of [
    ['jose', byJose, false],
    ['openssl', byOpenssl, false],
    ['countersignd stamp verify --root, offline', byCommandLine, false],
    ['the page of the stamp', byPage, noBrowser],
  ] as const)
    for (const [what, path, stamp, good] of [
      ['is valid', file, stampFile, true],
      ['is invalid for a file with a changed byte', changedFile, stampFile, false],
      ['is invalid with a changed byte in the stamp', file, changedStamp, false],
    ] as const)
      it(`${name}: ${what}`, { skip }, async () => {
        assert.equal(await checks(path, stamp), good)
      })

  it('is returned with the values of its payload', () => {
    const [, payload = ''] = (printed.stamp as string).split('.')
    const { jti, iat, assurance } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Json
    const digest = createHash('sha256').update(printed.stamp).digest()
    const { id, signed_at, assurance_level, verification_url, sha256 } = printed
    assert.deepEqual(
      { id, signed_at, assurance_level, verification_url, sha256 },
      {
        id: jti,
        signed_at: new Date(iat * 1000).toISOString(),
        assurance_level: assurance,
        verification_url: `${daemon.accountAddress}/s/${jti}#${digest.toString('base64url')}`,
        sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
      },
    )
    assert.match(printed.words, /^[a-z]+ [a-z]+ [a-z]+$/)
  })
})

it('requests without a token, and with an unknown one, are rejected', async () => {
  assert.equal((await ask(daemon.address, null, 'GET /api/v1/status')).status, 401)
  assert.equal((await ask(daemon.address, 'csd_none', 'GET /api/v1/status')).status, 401)
})
