/** A daemon with desktop notifications switched on and one without, and `doctor` beside them. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { startAccountServer } from '../account-server.ts'
import { examine, findingOf } from '../cli/installation.ts'
import { startDaemon } from '../daemon.ts'
import { asOwner, signIn } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { newDesktop, noDesktop } from './session.ts'

/** Returns how many programs are connected to the bus, without the one that asks. */
function connectionsOf(address: string): number {
  const ask = [
    '--print-reply',
    '--dest=org.freedesktop.DBus',
    '/',
    'org.freedesktop.DBus.ListNames',
  ]
  const names = execFileSync('dbus-send', [`--bus=${address}`, ...ask], { encoding: 'utf8' })
  return (names.match(/":/g) ?? []).length - 1
}

describe('the desktop', { skip: noDesktop }, () => {
  test('shows who invites, if it is switched on; a daemon without it does not connect', async (t) => {
    const desktop = await newDesktop(t)
    const service = await desktop.service()
    process.env['DBUS_SESSION_BUS_ADDRESS'] = desktop.address
    const server = await startAccountServer(t)
    const person = async (name: string, env: Record<string, string> = {}) => {
      const daemon = await startDaemon({ SVC_BACKEND_URL: server.address, ...env })
      t.after(() => daemon.close())
      await signIn(daemon, server, `${name}@example.org`)
      await asOwner(daemon, 'POST', '/api/v1/sync')
      return daemon
    }
    const ada = await person('ada')
    await asOwner(ada, 'PATCH', '/api/v1/profile', { display_name: 'Ada <i>Lovelace</i>' })
    const [off, on] = [await person('bob'), await person('cara', { SVC_DESKTOP_NOTIFY: 'on' })]
    const invite = ['bob', 'cara'].map((name) => ({ email: `${name}@example.org` }))
    const { id } = await asOwner<{ id: string }>(ada, 'POST', '/api/v1/connections', {
      name: 'Bank',
      invite: invite.slice(0, 1),
    })
    await off.logged('invitation received')
    await asOwner(ada, 'POST', `/api/v1/connections/${id}/members`, invite[1])
    const { summary, body } = await service.next()
    assert.equal(summary, 'You are invited to a connection')
    assert.match(
      body,
      /^The inviter is an account that (calls itself|the server calls) "Ada &lt;i&gt;Lovelace&lt;\/i&gt;"\. The connection is "Bank"\.\n/,
    )
    assert.equal(connectionsOf(desktop.address), 2, 'the service and one daemon')
    await on.close()
    assert.equal(connectionsOf(desktop.address), 1)
    assert.equal(service.arrived.length, 1)
  })

  test('doctor names the service, or what is missing', async (t) => {
    const desktop = await newDesktop(t)
    const on = { SVC_DESKTOP_NOTIFY: 'on' }
    const here = { ...on, DBUS_SESSION_BUS_ADDRESS: desktop.address }
    const look = async (env: NodeJS.ProcessEnv) => (await examine(freshFolder(t), env)).checks
    const cannot = /notifications are switched on, but cannot be shown: /
    findingOf(await look(here), ['warn', 'desktop', /no program on the session bus/, /dunst/])
    const service = await desktop.service()
    findingOf(await look(here), ['ok', 'desktop', /^notifications are shown by Test desktop 4\.2$/])
    await service.end()
    const none = { ...on, DBUS_SESSION_BUS_ADDRESS: '', XDG_RUNTIME_DIR: freshFolder(t) }
    findingOf(await look(none), ['warn', 'desktop', /there is no session bus/, /has no desktop/])
    await desktop.end()
    findingOf(await look(here), ['warn', 'desktop', cannot, /Log in to the desktop again/])
    const off = await look({ DBUS_SESSION_BUS_ADDRESS: desktop.address })
    assert(off.every(({ name }) => name !== 'desktop'))
  })
})
