/** `open`: what the command line leaves where, and what the browser gets. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { consolePage } from '../../src/storage/runtime-file.ts'
import { terminal, type Terminal } from '../cli/terminal.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { newPage, SESSION, VISITING } from './page.ts'

let daemon: TestDaemon
let run: Terminal
before(async () => {
  daemon = await startDaemon()
  run = terminal(daemon.stateDir)
})
after(() => daemon.close())

/** Puts a program in place of the system's opener. It keeps its arguments and what it opened. */
function fakeOpener(t: TestContext, exit = 0) {
  const dir = freshFolder(t)
  const path = join(dir, 'xdg-open')
  const script = [
    '#!/bin/sh',
    `printf '%s\\n' "$@" > '${dir}/args'`,
    `/usr/bin/env > '${dir}/env'`,
    `/bin/cat "$1" > '${dir}/opened'`,
    `exit ${exit}`,
  ]
  writeFileSync(path, `${script.join('\n')}\n`)
  chmodSync(path, 0o755)
  const kept = (name: string) => readFileSync(join(dir, name), 'utf8')
  return { env: { PATH: dir }, kept }
}

/** The path of the link, which is new each time. */
const VISIT = /\/console\/open\/[0-9a-f]{32}/
const codeIn = (text: string) => /#k=([\w-]{43})\b/.exec(text)?.[1] ?? assert.fail(text)

/** Opens the link in a text, and exchanges its code. */
async function exchanged(text: string): Promise<Answer> {
  await daemon.request('GET', VISIT.exec(text)![0], { headers: VISITING })
  return newPage(daemon).send('POST', SESSION, { body: { code: codeIn(text) } })
}

describe('countersignd open', { skip: process.platform !== 'linux' }, () => {
  it('opens a private file that leads to the console, which is deleted after its use', async (t) => {
    const opener = fakeOpener(t)
    const env = { ...opener.env, SVC_TOKEN: await daemon.token('read') }
    const { code: exit, out, err } = await run(['open'], { env })
    assert.deepEqual([exit, err], [EXIT.ok, ''])
    assert.match(out, /scope: write/)
    const file = consolePage(daemon.stateDir)
    assert.equal(opener.kept('args'), `${file}\n`)
    assert(!/^SVC_/m.test(opener.kept('env')))
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const page = opener.kept('opened')
    const code = codeIn(page)
    const [url = ''] = /(?<=location\.replace\(")[^"]+/.exec(page) ?? []
    assert.equal(url.replace(VISIT, '/VISIT'), `${daemon.address}/VISIT#k=${code}`)
    assert.doesNotMatch(page.replaceAll(daemon.address, ''), /https?:/)
    assert(!(out + opener.kept('args') + opener.kept('env')).includes(code))
    assert.equal((await exchanged(page)).status, 201)
    assert(!existsSync(file))
    assert.equal((await exchanged(page)).status, 403)
    assert.equal((await daemon.request('GET', new URL(url).pathname)).status, 200)
    assert(!daemon.log.join('\n').includes(code))
    const audit = readdirSync(daemon.stateDir)
      .filter((name) => name.startsWith('audit'))
      .map((name) => readFileSync(join(daemon.stateDir, name), 'utf8'))
      .join('')
    assert(!audit.includes(code))
    assert.match(audit, /"route":"POST \/console\/v1\/session".*"created":"tok_/)
  })

  it('replaces a link in place of the file, and does not follow it', async (t) => {
    const victim = join(freshFolder(t), 'victim')
    writeFileSync(victim, 'untouched')
    const file = consolePage(daemon.stateDir)
    symlinkSync(victim, file)
    const opener = fakeOpener(t)
    assert.equal((await run(['open'], { env: opener.env })).code, EXIT.ok)
    assert.equal(readFileSync(victim, 'utf8'), 'untouched')
    assert(lstatSync(file).isFile())
    assert.equal((await exchanged(opener.kept('opened'))).status, 201)
    assert(!existsSync(file))
  })

  for (const [option, scope] of [
    ['--full', 'full'],
    ['--read', 'read'],
  ] as const)
    it(`${option} is for the scope ${scope}`, async () => {
      const { code, out, err } = await run(['open', '--print', option])
      assert.deepEqual([code, err], [EXIT.ok, ''])
      const { json } = await exchanged(out)
      assert.equal((json as { scope: string }).scope, scope)
    })

  it('--print prints the link and nothing else', async () => {
    const { code, out, err } = await run(['open', '--print'], { env: { PATH: '/nowhere' } })
    assert.deepEqual([code, err], [EXIT.ok, ''])
    assert.equal(out.replace(VISIT, '/VISIT'), `${daemon.address}/VISIT#k=${codeIn(out)}\n`)
    assert(!existsSync(consolePage(daemon.stateDir)))
  })

  const openers: [name: string, env: (t: TestContext) => NodeJS.ProcessEnv][] = [
    ['there is no opener', () => ({ PATH: '/nowhere' })],
    ['the opener fails', (t) => fakeOpener(t, 3).env],
  ]
  for (const [name, env] of openers)
    it(`names another way if ${name}`, async (t) => {
      const { code, out, err } = await run(['open'], { env: env(t) })
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, /xdg-open.*countersignd open --print/)
    })

  it('needs a daemon', async (t) => {
    const { code, out, err } = await terminal(freshFolder(t))(['open', '--print'])
    assert.deepEqual([code, out], [EXIT.noDaemon, ''])
    assert.match(err, /countersignd serve/)
  })

  it('names the setting that took the console away', async (t) => {
    const stateDir = freshFolder(t)
    const without = await startDaemon({ SVC_STATE_DIR: stateDir, SVC_CONSOLE: 'off' })
    t.after(() => without.close())
    const { code, err } = await terminal(stateDir)(['open', '--print'])
    assert.equal(code, EXIT.failed)
    assert.match(err, /SVC_CONSOLE=off/)
  })

  it('a start and a stop of the daemon delete a file that was left', async (t) => {
    const stateDir = freshFolder(t)
    const file = consolePage(stateDir)
    writeFileSync(file, 'left by a crash', { mode: 0o600 })
    const next = await startDaemon({ SVC_STATE_DIR: stateDir })
    const wasThere = existsSync(file)
    const { code } = await terminal(stateDir)(['open'], { env: fakeOpener(t).env })
    const isThere = existsSync(file)
    await next.close()
    assert.deepEqual([wasThere, code, isThere, existsSync(file)], [false, EXIT.ok, true, false])
  })
})
