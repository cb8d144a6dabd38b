/**
 * The output for scripts: one JSON document on standard output or a message on standard error,
 * quiet ends, and no colours.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { coloured, harmlessIo } from '../../src/cli/output.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { run } from '../../src/cli/run.ts'
import { EXIT } from '../../src/errors.ts'
import { VERSION } from '../../src/runtime/version.ts'
import { PROGRAM, countersignd, environment, folder } from '../e2e/program.ts'
import { type Terminal, streams, terminal } from './terminal.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

const ID = '00000000000000000000000000'

const place = folder()
const FILE = join(place.path, 'letter')
writeFileSync(FILE, 'a letter')

/** Each command in a form that works for a new account, or why it is not run here. */
const CALLS: Readonly<Record<string, readonly string[] | string>> = {
  serve: 'does not end',
  server: 'does not end',
  mcp: 'speaks a protocol',
  'service install': 'changes the machine',
  'service uninstall': 'changes the machine',
  'service status': 'asks the machine',
  backup: 'writes a file',
  restore: 'writes a state folder',
  export: 'writes a file',
  'export download': 'writes a file',
  'machine create': 'writes a file',
  'account delete': ['--yes'],
  completion: ['bash'],
  'device approve': [`dev_${ID}`],
  'device revoke': [`dev_${ID}`],
  'session end': [`ses_${ID}`],
  'email add': ['a'],
  verify: ['matador', 'carload', 'recede'],
  code: [`con_${ID}`],
  'connection create': ['--name', 'a'],
  'connection show': [`con_${ID}`],
  'connection favorite': [`con_${ID}`],
  'connection rename': [`con_${ID}`, 'b'],
  'connection members': [`con_${ID}`],
  'connection remove-member': [`con_${ID}`, `mem_${ID}`],
  'connection role': [`con_${ID}`, `mem_${ID}`, 'owner'],
  'connection leave': [`con_${ID}`, '--yes'],
  'connection delete': [`con_${ID}`, '--yes'],
  invite: [`con_${ID}`, 'a@example.org'],
  'guest create': ['--label', 'a'],
  'tag create': ['--name', 'a'],
  'preset create': ['--name', 'a'],
  'external create': ['--name', 'a'],
  'token create': ['--name', 'a', '--scope', 'read'],
  'org create': ['Example'],
  feedback: ['good'],
  ask: ['what is a guest code?'],
  rotate: [`con_${ID}`],
  stamp: [FILE],
  'stamp verify': [FILE, FILE],
  upgrade: ['--check', FILE],
}

describe('every command with --json', () => {
  const dir = folder()
  let cli: Terminal
  before(() => {
    cli = terminal(dir.path)
  })
  after(() => {
    dir.remove()
    place.remove()
  })

  for (const name of Object.keys(COMMANDS)) {
    const call = CALLS[name] ?? []
    const skip = typeof call === 'string' && call
    const args = typeof call === 'string' ? [] : call
    it(`${name}: prints one JSON document, or an error on standard error`, { skip }, async () => {
      const { code, out, err } = await cli([...name.split(' '), ...args, '--json'])
      if (out === '') {
        assert.notEqual(code, EXIT.ok, 'nothing was said of what went well')
        assert.match(err, /^countersignd: .+\n/)
        return
      }
      JSON.parse(out)
      assert(out.endsWith('\n'))
      if (code === EXIT.ok) assert.equal(err, '')
    })

    it(`${name} with an unknown option: wrong usage, and no other output`, async () => {
      const { code, out, err } = await cli([...name.split(' '), '--no-such-option', '--json'])
      assert.deepEqual([code, out], [EXIT.usage, ''])
      assert.match(err, /^countersignd: .+--help.+\n$/)
    })
  }
})

describe('--version', () => {
  const say = terminal('/')
  it('prints the version alone, if the commit is unknown', async () => {
    assert.deepEqual(await say(['--version']), { code: EXIT.ok, out: `${VERSION}\n`, err: '' })
  })
  it('with --json prints the platform, too', async () => {
    const { code, out } = await say(['--version', '--json'])
    assert.equal(code, EXIT.ok)
    const { version, commit, node, platform } = JSON.parse(out) as Record<string, string | null>
    assert.deepEqual([version, commit, node], [VERSION, null, process.versions.node])
    assert.equal(platform, `${process.platform} ${process.arch}`)
  })
  for (const args of [
    ['--version', '--verbose'],
    ['--version', '--json', 'x'],
  ])
    it(`${args.join(' ')}: wrong usage`, async () => {
      const { code, out } = await say(args)
      assert.deepEqual([code, out], [EXIT.usage, ''])
    })
})

describe('a pipe', () => {
  const script = (line: string) => {
    const main = `"${process.execPath}" "${PROGRAM}"`
    const text = `set -o pipefail; countersignd() { ${main} "$@"; }; ${line}`
    return spawn('bash', ['-c', text], { env: environment('/nowhere'), timeout: TEST_LIMIT_MS })
  }
  const output = async (line: string) => {
    const child = script(line)
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    const [code] = (await once(child, 'close')) as [number]
    return { code, out, err }
  }

  it('that reads the first line alone ends the command quietly', async () => {
    const { code, out, err } = await output('countersignd completion zsh | head -1')
    assert.deepEqual([code, out, err], [0, '#compdef countersignd\n', ''])
  })

  it('that reads nothing ends the command quietly, too', async () => {
    const { code, out, err } = await output('countersignd --help | true')
    assert.deepEqual([code, out, err], [0, '', ''])
  })

  it('that is slow gets all of a long answer', async () => {
    const { stdout } = await countersignd(['completion', 'fish'], '/nowhere')
    const { code, out } = await output(
      'countersignd completion fish | { read -r first; read -r; cat; }',
    )
    assert.equal(code, 0)
    assert.equal(out, stdout.split('\n').slice(2).join('\n'))
    assert(Buffer.byteLength(stdout) > 32_768)
  })

  it(
    'that cannot be written is reported in one line',
    { skip: !existsSync('/dev/full') },
    async () => {
      const { code, err } = await output('countersignd --help > /dev/full')
      assert.deepEqual([code, err.split('\n').length], [EXIT.failed, 2], err)
      assert.match(err, /^countersignd: cannot write to standard output: ENOSPC/)
    },
  )

  it('for errors without a reader keeps the exit code', async () => {
    const args = [PROGRAM, 'nonsense']
    const child = spawn(process.execPath, args, { env: environment('/nowhere') })
    child.stderr.destroy()
    const [code] = (await once(child, 'close')) as [number]
    assert.equal(code, EXIT.usage)
  })
})

describe('colours', () => {
  const cases: [what: string, isTTY: boolean, env: NodeJS.ProcessEnv, colour: boolean][] = [
    ['a terminal', true, {}, true],
    ['no terminal', false, {}, false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, true],
    ['a dumb terminal', true, { TERM: 'dumb' }, false],
    ['FORCE_COLOR with a pager', false, { FORCE_COLOR: '1' }, true],
    ['FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, false],
    ['both', false, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ]
  for (const [what, isTTY, env, colour] of cases)
    it(`${what}: ${colour ? 'colours' : 'no colours'}`, () => {
      const { io, result } = streams()
      const text = coloured('red', 'text', { stream: { isTTY }, env })
      harmlessIo({ ...io, env }).stdout.write(text)
      assert.equal(result.out, colour ? '\u001b[31mtext\u001b[39m' : 'text')
    })

  for (const isTTY of [true, false])
    it(`colours of an error ${isTTY ? 'at a terminal' : 'in a script'}`, async () => {
      const { result, io } = streams()
      const stderr = { ...io.stderr, isTTY }
      await run(['nonsense'], { ...io, stderr, env: {} })
      assert.equal(result.err.startsWith('\u001b[31mcountersignd:\u001b[39m '), isTTY)
      assert.equal(result.err.includes('\u001b'), isTTY)
    })

  const dir = folder()
  after(() => dir.remove())
  for (const [isTTY, json] of [
    [true, false],
    [true, true],
    [false, false],
  ] as const)
    it(`colours of a verification${isTTY ? ' at a terminal' : ''}${json ? ' with --json' : ''}`, async () => {
      const { result, io } = streams()
      const stdout = { ...io.stdout, isTTY }
      const args = ['verify', 'matador', 'carload', 'recede', ...(json ? ['--json'] : [])]
      const code = await run(args, { ...io, stdout, env: environment(dir.path) })
      assert.equal(code, EXIT.inconclusive)
      assert.equal(result.out.includes('\u001b[33m'), isTTY && !json)
      assert.equal(result.out.includes('\u001b'), isTTY && !json)
    })
})
