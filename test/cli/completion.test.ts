/**
 * Completion in real shells: what they offer at each place of the command line, and that their
 * scripts do nothing else.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, before, describe, it } from 'node:test'
import { COMMANDS } from '../../src/cli/commands.ts'
import type { Command } from '../../src/cli/command.ts'
import {
  type CompletionPoint,
  placesOf,
  usageOf,
  wordsOf,
} from '../../src/cli/completion/places.ts'
import { EXIT } from '../../src/errors.ts'
import { exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Shell, bash, fish, zsh } from './completion-shells.ts'
import { terminal } from './terminal.ts'

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const
const FILES = ['a note.txt', 'folder']

/** Removes what shells add to an offer: a folder’s slash, the words before a comma, and quotes. */
const plain = (text: string) =>
  text
    .replace(/\/$/, '')
    .replace(/^[a-z,]+,/, '')
    .replaceAll('\\', '')
    .replaceAll("'", '')

/** What the stub of the program prints. */
const NAMES = ['$(touch ./ran)', 'A B', 'Mum', "D'Arcy & Söhne", 'x;touch ran']

/** A program that prints names, and notes the words that it gets. */
const STUB = `#!/bin/sh
test "$1 $2" = 'complete-names --' || exit 1
shift 2
here=$(dirname "$0")
echo "$*" >> "$here/asked"
cat "$here/names"
`

/**
 * A line, and the offers at its end: all of them, or some that are offered and some that are not.
 */
const cases: [line: string, all: string[] | { some: string[]; not: string[] }][] = [
  ['countersignd token ', ['create', 'list', 'revoke']],
  ['countersignd token cr', ['create']],
  ['countersignd org group ', ['add', 'create', 'delete', 'list', 'remove', 'update']],
  ['countersignd org gr', ['group']],
  ['countersignd stat', ['status']],
  ['countersignd ', { some: ['serve', 'token', 'verify', 'help'], not: ['create', ...FILES] }],
  ['countersignd token create --scope ', ['full', 'read', 'write']],
  ['countersignd token create --scope w', ['write']],
  ['countersignd token create --scope=w', ['write']],
  ['countersignd token create --name x --sc', ['--scope']],
  ['countersignd token create --name --scope', { some: [], not: ['read'] }],
  ['countersignd token create --name ', []],
  ['countersignd token list --', ['--help', '--json']],
  ['countersignd --v', ['--version']],
  ['countersignd connection role con_1 mem_1 o', ['owner']],
  ['countersignd completion ', [...SHELLS].toSorted()],
  ['countersignd stamp a', ['a note.txt']],
  ['countersignd stamp ', { some: ['verify', ...FILES], not: ['token'] }],
  ['countersignd machine token --key-file a', ['a note.txt']],
  ['countersignd nonsense ', []],
  ['countersignd doctor --p', []],
  ['countersignd guest revoke ', NAMES.map(plain).toSorted()],
  ['countersignd guest revoke Mu', ['Mum']],
  ['countersignd guest revoke D', [plain("D'Arcy & Söhne")]],
  ['countersignd connection list --tag ', NAMES.map(plain).toSorted()],
  ['countersignd connection list --tag=Mu', ['Mum']],
  ['countersignd connection role Mum ', { some: ['owner', 'Mum'], not: [] }],
  ['countersignd guest list ', []],
  ['countersignd mcp --tools ', { some: ['all', 'common', 'verify'], not: FILES }],
  ['countersignd mcp --tools gu', ['guests']],
  ['countersignd mcp --tools verify,gu', ['guests']],
  ['countersignd mcp --tools=common,verify,o', ['org']],
  // Completion runs neither typed text nor a name.
  ['countersignd $(touch$IFS./ran) ', []],
  ['countersignd tag assign $(touch$IFS./ran) Mu', ['Mum']],
  ['countersignd mcp --tools $(touch$IFS./ran),gu', { some: [], not: ['all'] }],
]

const shells: Record<'bash' | 'zsh' | 'fish', Shell> = { bash, zsh, fish }

function folder(t: TestContext): string {
  const dir = freshFolder(t)
  writeFileSync(join(dir, 'a note.txt'), '')
  mkdirSync(join(dir, 'folder'))
  return dir
}

const scriptFor = async (shell: string) => {
  const { code, out, err } = await terminal('/')(['completion', shell])
  assert.deepEqual([code, err], [EXIT.ok, ''])
  return out
}

/** Returns a folder with the stub. */
function stub(t: TestContext, names = NAMES): string {
  const bin = freshFolder(t)
  writeFileSync(join(bin, 'countersignd'), STUB, { mode: 0o755 })
  writeFileSync(join(bin, 'names'), names.map((name) => `${name}\n`).join(''))
  return bin
}

const isThere = async (shell: string) =>
  (await exec('sh', ['-c', `command -v ${shell}`])).code === 0

it('bash offers no name inside quotes that would end them, or run as a command', async (t) => {
  if (!(await isThere('bash'))) return t.skip('bash is not installed')
  const hostile = [
    'M$(touch ran)',
    'M`touch ran`',
    "M';touch ran #",
    'M";touch ran #',
    'M!!',
    'M\\',
  ]
  const lines = ['"M', "'M"].map((typed) => `countersignd guest revoke ${typed}`)
  const bin = stub(t, ['Mum', ...hostile, 'M; B'])
  const offered = await bash(await scriptFor('bash'), lines, folder(t), bin)
  assert.deepEqual(offered, [
    ['M; B', 'Mum'],
    ['M; B', 'Mum'],
  ])
})

for (const [name, shell] of Object.entries(shells))
  describe(`the completion script of ${name}`, () => {
    let skip = ''
    before(async () => {
      if (!(await isThere(name))) skip = `${name} is not installed`
    })

    it('offers the words of each place', async (t) => {
      if (skip !== '') return t.skip(skip)
      const [dir, bin] = [folder(t), stub(t)]
      const lines = cases.map(([line]) => line)
      const offered = await shell(await scriptFor(name), lines, dir, bin)
      assert(!existsSync(join(dir, 'ran')))
      const asked = new Set(readFileSync(join(bin, 'asked'), 'utf8').split('\n'))
      for (const words of ['guest revoke', 'connection list --tag', 'connection role Mum'])
        assert(asked.has(words), [...asked].join('\n'))
      assert(!asked.has('guest list'))
      for (const [i, [line, expected]] of cases.entries()) {
        const here = (offered[i] ?? ['nothing was noted']).map(plain).toSorted()
        if (expected instanceof Array) {
          assert.deepEqual(here, expected, line)
          continue
        }
        for (const word of expected.some)
          assert(here.includes(word), `${line}${word}: ${here.join()}`)
        for (const word of expected.not)
          assert(!here.includes(word), `${line}${word}: ${here.join()}`)
      }
    })

    it('can be loaded twice without side effects', async (t) => {
      if (skip !== '') return t.skip(skip)
      const script = join(freshFolder(t), 'script')
      writeFileSync(script, await scriptFor(name))
      const { code, stdout, stderr } = await exec(
        name,
        ['-c', '. "$0" && . "$0"', script].map((it) =>
          name === 'fish' ? it.replace('"$0" && . "$0"', `'${script}'; and . '${script}'`) : it,
        ),
      )
      assert.deepEqual([code, stdout, stderr], [0, '', ''])
    })
  })

describe('the completion script of PowerShell', () => {
  /** The script without its single-quoted texts, in which '' is a quote. */
  const bare = (script: string) => script.replaceAll(/'(?:[^']|'')*'/g, '""')

  it('has balanced brackets and quotes', async () => {
    const script = (await scriptFor('powershell')).replaceAll(/^# .*$/gm, '')
    const open: string[] = []
    const pairs: Record<string, string> = { ')': '(', '}': '{', ']': '[' }
    for (const sign of bare(script).replaceAll(/"[^"]*"/g, '')) {
      if ('({['.includes(sign)) open.push(sign)
      else if (sign in pairs) assert.equal(open.pop(), pairs[sign])
      else assert(!/['"`\u2018-\u201f]/.test(sign), sign)
    }
    assert.deepEqual(open, [])
  })

  it('has each place once', async () => {
    const script = await scriptFor('powershell')
    const [, args = ''] = /\$next = @\{\n(.*?)\n {4}\}/s.exec(script) ?? []
    const keys = args.split('\n').map((line) => /^ +'([^']*)' = @\(/.exec(line)?.[1]?.toLowerCase())
    assert.equal(new Set(keys).size, keys.length)
    assert(keys.includes('token create') && !keys.includes(undefined))
  })
})

describe('parsing a usage line', () => {
  const command = (usage: string, options: Command['options'] = {}, help = ''): Command => ({
    usage,
    help,
    options,
    args: [0, 0],
    run: async () => undefined,
  })
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const described: [usage: string, options: Command['options'], expected: object][] = [
    ['--scope read|write', { scope: text }, { '--scope': ['read', 'write'] }],
    ['[--file FILE|-]', { file: text }, { '--file': 'file' }],
    ['[--receipt-key JWK_FILE]', { 'receipt-key': text }, { '--receipt-key': 'file' }],
    [
      '[--color "#rrggbb" | --no-color]',
      { color: text, 'no-color': flag },
      { '--color': 'other', '--no-color': null },
    ],
    ['--org ID|NAME [--tag ID]…', { org: text, tag: text }, { '--org': 'other', '--tag': 'other' }],
    ['[--expires-in 30d]', { 'expires-in': text }, { '--expires-in': 'other' }],
    [
      '[--tools SET[,SET…]] [--json]',
      { tools: { ...text, words: ['a', 'b'] } },
      { '--tools': { among: ['a', 'b'] } },
    ],
    ['[--json]', { hidden: text }, {}],
  ]
  for (const [usage, options, expected] of described)
    it(usage, () => {
      const found = usageOf(command(usage, options))
      const own = found.options.filter(({ name }) => name !== '--help' && name !== '--json')
      assert.deepEqual(Object.fromEntries(own.map(({ name, value }) => [name, value])), expected)
      assert.deepEqual([found.words, found.file, found.names], [[], false, false])
    })

  it('reads arguments: literal words, and files by their name', () => {
    const of = (usage: string) => {
      const { words, file } = usageOf(command(usage))
      return [words, file]
    }
    assert.deepEqual(of('CONNECTION MEMBER owner|member'), [['owner', 'member'], false])
    assert.deepEqual(of('[create]'), [['create'], false])
    assert.deepEqual(of('FILE STAMP'), [[], true])
    assert.deepEqual(of('TEXT|- ADDRESS|ACCOUNT [WORD WORD]'), [[], false])
  })
})

describe('the places of completion', () => {
  let places: CompletionPoint[]
  before(async () => {
    places = await placesOf(COMMANDS)
  })

  it('cover every command, and are reached word by word', () => {
    for (const name of Object.keys(COMMANDS)) {
      let path = ''
      for (const word of name.split(' ')) {
        assert(
          places.find((it) => it.path === path)?.next.some((it) => it.word === word),
          name,
        )
        path = path === '' ? word : `${path} ${word}`
      }
      assert(places.some((it) => it.path === path))
    }
  })

  it('offer only words that need no quotes in any shell', () => {
    for (const { next, options, words } of places) {
      const values = options.flatMap(({ value }) => (value === null ? [] : wordsOf(value)))
      const names = options.map(({ name }) => name)
      for (const word of [...next.map((it) => it.word), ...names, ...words, ...values])
        assert.match(word, /^[a-z0-9-]+$/)
    }
  })
})

it('completion needs a known shell', async () => {
  for (const args of [['completion'], ['completion', 'tcsh'], ['completion', 'toString']]) {
    const { code, out } = await terminal('/')(args)
    assert.deepEqual([code, out], [EXIT.usage, ''])
  }
})
