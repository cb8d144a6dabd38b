/** Tables and labelled lines at terminals, and the same answers in pipes. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { labelledLines } from '../../../src/cli/labels.ts'
import { table } from '../../../src/cli/table.ts'
import { EXIT } from '../../../src/errors.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { type Terminal, WHEN, terminal } from '../terminal.ts'

const IDS = [
  '01m8j47e1zezqt9khy66bg7j1d',
  '01m8j47e1z0000000000000000',
  '01m8j40000ewc85txzvdq84qqt',
]
const rows = IDS.map((id) => [`gst_${id}`, 'Mum', ''])
const HEADING = ['ID', 'LABEL', 'FOR']

describe('a table', () => {
  it('leaves out a column without values, but not in an empty table', async () => {
    assert.deepEqual(await table(HEADING, rows.slice(0, 1)), [
      'ID                              LABEL',
      'gst_01m8j47e1zezqt9khy66bg7j1d  Mum',
    ])
    assert.deepEqual(await table(HEADING, []), ['ID  LABEL  FOR'])
  })

  it('shortens ids only at a terminal that is too narrow, each to a beginning of its own', async () => {
    const whole = await table(HEADING, rows)
    assert.deepEqual(await table(HEADING, rows, { columns: 20 }), whole)
    assert.deepEqual(await table(HEADING, rows, { isTTY: true, columns: 80 }), whole)
    assert.deepEqual(await table(HEADING, rows, { isTTY: true, columns: 36 }), [
      'ID               LABEL',
      'gst_01m8j47e1ze  Mum',
      'gst_01m8j47e1z0  Mum',
      'gst_01m8j40000   Mum',
    ])
  })

  it('keeps names whole that look like the beginning of an id', async () => {
    const screen = { isTTY: true, columns: 10 }
    const [, line] = await table(['NAME'], [['gst_01m8j47e1z is my name']], screen)
    assert.equal(line, 'gst_01m8j47e1z is my name')
  })
})

test('labelled lines have their values in one column, and no line without a value', () => {
  const lines = labelledLines([
    ['Words', 'ship unmarked tacky'],
    ['Valid until', 'x\u001b[2J'],
    ['For', null],
    ['Note', undefined],
    ['Tags', ''],
  ])
  assert.deepEqual(lines, ['Words        ship unmarked tacky', 'Valid until  x�[2J'])
})

describe('the answer of a command that creates something', () => {
  const at = (t: Parameters<typeof freshFolder>[0]): Terminal => terminal(freshFolder(t))
  const create = ['token', 'create', '--name', 'ci', '--scope', 'read', '--expires-in', '30d']

  it('has labels at a terminal', async (t) => {
    const { out, err, code } = await at(t)(create, { columns: 80 })
    assert.equal(code, EXIT.ok)
    assert.match(
      out,
      new RegExp(
        `^Token        csd_\\S+\nName         ci\nScope        read\nValid until  ${WHEN}\nId           tok_\\w{26}\n$`,
      ),
    )
    assert.equal(err, 'The token is not shown again.\n')
  })

  it('is the bare value in a pipe, with the details on standard error', async (t) => {
    const { out, err } = await at(t)(create)
    assert.match(out, /^csd_\w+\n$/)
    assert.match(err, /^Name +ci\nScope +read\nValid until .*\nId +tok_\w{26}\nThe token/)
  })

  it('is JSON with --json, with times in the format of the API', async (t) => {
    const { out, err } = await at(t)([...create, '--json'], { columns: 80 })
    assert.match(JSON.parse(out).expires_at, /^\d{4}-.*Z$/)
    assert.equal(err, '')
  })
})

test('the lists of a full account fit a terminal of 80 columns', async (t) => {
  const on = terminal(freshFolder(t))
  for (const words of [
    'guest create --label Grandmother',
    'token create --name laptop --scope read --expires-in 30d',
    'connection create --name Bank --invite bob@example.org',
    'webhook create --url http://127.0.0.1:9/ --type token.*',
    'tag create --name Family --color #00ff7f',
    'org create Acme',
    'org use Acme',
  ])
    assert.equal((await on(words.split(' '))).code, EXIT.ok, words)
  for (const list of [
    'guest list',
    'token list',
    'connection list',
    'webhook list',
    'tag list',
    'org list',
    'org members',
    'device list',
    'export list',
    'log',
  ]) {
    const { out, code } = await on(list.split(' '), { columns: 80 })
    assert.equal(code, EXIT.ok, list)
    for (const line of out.split('\n')) assert(line.length <= 80, `${list}: ${line}`)
  }
})
