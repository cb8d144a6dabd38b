/**
 * The official conformance suite of the Model Context Protocol: the scenarios without fixtures
 * against both paths of the daemon, and the others against fixtures on the same handler.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { ROOT, type Ended, exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { PATHS } from './connected.ts'
import { fixtures } from './fixture-server.ts'
import { listening } from './listening.ts'
import { startProxy } from './proxy.ts'

const SUITE = join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const EXPECTED = join(import.meta.dirname, 'expected-failures.yml')

const conformance = (url: string, folder: string, ...more: string[]): Promise<Ended> =>
  exec(process.execPath, [SUITE, 'server', '--url', url, '--suite', 'all', '-o', folder, ...more])

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED'
}

/** Returns the checks of each scenario, from the files of the suite. */
function scenarios(folder: string): Record<string, Check[]> {
  const names = readdirSync(folder).map((run) => {
    const checks = JSON.parse(readFileSync(join(folder, run, 'checks.json'), 'utf8')) as Check[]
    return [run.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, ''), checks] as const
  })
  return Object.fromEntries(names)
}

const withStatus = (found: Record<string, Check[]>, status: Check['status']) =>
  Object.keys(found)
    .filter((name) => found[name]?.some((check) => check.status === status))
    .toSorted()

/** Scenarios that need only the protocol, some tools, resources and prompts. */
const WITHOUT_FIXTURES = [
  'dns-rebinding-protection',
  'ping',
  'prompts-list',
  'resources-list',
  'server-initialize',
  'tools-list',
]

describe('the conformance suite, with the daemon', () => {
  let daemon: TestDaemon
  before(async () => {
    daemon = await startDaemon()
  })
  after(() => daemon.close())

  for (const path of PATHS)
    it(`${path}: everything without fixtures passes`, async (t) => {
      const proxy = await startProxy(daemon.address, await daemon.token('read'))
      t.after(() => proxy.close())
      const folder = freshFolder(t)
      const { stdout, stderr } = await conformance(`${proxy.address}${path}`, folder)
      const found = scenarios(folder)
      assert.equal(Object.keys(found).length, 32, stdout + stderr)
      const failed = new Set([...withStatus(found, 'FAILURE'), ...withStatus(found, 'WARNING')])
      const passed = withStatus(found, 'SUCCESS').filter((name) => !failed.has(name))
      assert.deepEqual(passed, WITHOUT_FIXTURES)
    })
})

describe('the conformance suite, with fixtures on the same handler', () => {
  for (const path of PATHS)
    it(`${path}: everything passes except the cases in expected-failures.yml`, async (t) => {
      const server = await listening(fixtures)
      t.after(() => server.close())
      const proxy = await startProxy(server.address, 'any')
      t.after(() => proxy.close())
      const folder = freshFolder(t)
      const url = `${proxy.address}${path}`
      const { code, stdout, stderr } = await conformance(
        url,
        folder,
        '--expected-failures',
        EXPECTED,
      )
      assert.equal(code, 0, stdout + stderr)
      const found = scenarios(folder)
      const expected = readFileSync(EXPECTED, 'utf8').match(/(?<=^ {2}- )\S+/gm) ?? []
      assert.equal(withStatus(found, 'SUCCESS').length, 32 - expected.length)
    })
})
