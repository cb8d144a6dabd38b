/**
 * Users with a state folder each, signed in to one account server in this process. No daemon
 * runs: each command opens its folder.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { serveAccount } from '../../src/daemon/account-server.ts'
import { readConfig } from '../../src/config/config.ts'
import { EXIT } from '../../src/errors.ts'
import { newLog } from '../../src/log.ts'
import type { Json } from '../e2e/caller.ts'
import { environment } from '../e2e/program.ts'
import { login } from '../e2e/servers.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type CommandResult, type Typed, terminal } from './terminal.ts'

export interface Person {
  readonly email: string
  /** The id of the account. */
  readonly id: string
  on(args: readonly string[], more?: Typed): Promise<CommandResult>
  /** Runs a command that must succeed; returns its output. */
  good(args: readonly string[], more?: Typed): Promise<CommandResult>
  json(...args: string[]): Promise<Json>
  /** Runs a command that must fail and print nothing; returns exit code and message. */
  refused(...args: string[]): Promise<string>
}

/** Starts an account server; creates users on request. */
export async function newCliFixture(t: TestContext) {
  const mailDir = freshFolder(t)
  const config = readConfig(environment(join(freshFolder(t), 'server'), { SVC_MAIL_DIR: mailDir }))
  const server = await serveAccount(
    config,
    newLog('error', () => undefined),
  )
  t.after(() => server.close())

  async function person(name: string): Promise<Person> {
    const stateDir = freshFolder(t)
    const email = `${name}@example.org`
    await login(stateDir, { server: server.address, mailDir, email })
    const run = terminal(stateDir)
    const env = { SVC_BACKEND_URL: server.address }
    const on = (args: readonly string[], more: Typed = {}) =>
      run(args, { ...more, env: { ...env, ...more.env } })
    const good = async (args: readonly string[], more?: Typed) => {
      const result = await on(args, more)
      assert.equal(result.code, EXIT.ok, result.err)
      return result
    }
    const json = async (...args: string[]): Promise<Json> => {
      const { out, err } = await good([...args, '--json'])
      assert.equal(err, '', 'nothing beside the JSON')
      return JSON.parse(out)
    }
    const refused = async (...args: string[]) => {
      const { code, out, err } = await on(args)
      assert.deepEqual([code, out], [EXIT.failed, ''], err)
      return err
    }
    return { email, id: (await json('whoami')).user.id, on, good, json, refused }
  }

  return { person, mailDir, server: server.address }
}

export type CliFixture = Awaited<ReturnType<typeof newCliFixture>>

/** Invites users by address; each approves, and both sides sync. */
export async function joinMembers(by: Person, connection: string, others: readonly Person[]) {
  for (const other of others) {
    await by.good(['invite', connection, other.email])
    const { received } = await other.json('invite', 'list')
    const { id } = received.find((one: Json) => one.connection_id === connection)
    await other.good(['invite', 'approve', id])
  }
  await by.good(['sync'])
  for (const other of others) await other.good(['sync'])
}
