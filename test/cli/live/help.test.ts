/** The help, made from the table of commands, and the suggestions for names that do not exist. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { namedBy } from '../../../src/cli/help/command-words.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { FIRST_EXAMPLES } from '../../../src/cli/help/help.ts'
import { parseCommand, requireComplete } from '../../../src/cli/parse.ts'
import { SECTIONS, TOPICS } from '../../../src/cli/help/topics.ts'
import { EXIT } from '../../../src/errors.ts'
import { terminal } from '../terminal.ts'

const cli = terminal(join(import.meta.dirname, 'never-made'))
const names = Object.keys(COMMANDS)

/** Returns the words of a line as a shell would split it. */
const wordsOf = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

/** Fails if the program would refuse the line as wrong usage. */
async function requireUsable(line: string): Promise<string> {
  const { name, isGroup, rest } = namedBy(wordsOf(line))
  assert(!isGroup, line)
  const command = await COMMANDS[name]!.load()
  const given = parseCommand(name, command, rest)
  requireComplete(name, command, given)
  return name
}

describe('the overview', () => {
  it('has every section with its commands, and 3 to 5 examples before them', async () => {
    const { out } = await cli(['help'])
    const places = Object.values(SECTIONS).map((title) => out.indexOf(`\n${title}:\n`))
    assert(places.every((at, i) => at > (places[i - 1] ?? out.indexOf('\nExamples:\n'))))
    const examples = out.match(/^ {2}countersignd .+ # .+$/gm) ?? []
    assert(examples.length >= 3 && examples.length <= 5)
    assert(out.split('\n').every((line) => line.length <= 120))
  })

  it('has examples that the program accepts', async () => {
    for (const line of Object.keys(FIRST_EXAMPLES)) await requireUsable(line)
  })

  it('has a summary for every group, and for nothing else', () => {
    const beginnings = names.flatMap((name) => {
      const words = name.split(' ')
      return words.slice(1).map((_, at) => words.slice(0, at + 1).join(' '))
    })
    const groups = [...new Set(beginnings)].filter((name) => !Object.hasOwn(COMMANDS, name))
    assert.deepEqual(Object.keys(TOPICS).toSorted(), groups.toSorted())
  })
})

describe('help about a command', () => {
  for (const words of ['token', 'token create', 'org group', 'stamp verify', 'call'])
    it(`help ${words} is what ${words} --help prints`, async () => {
      const help = await cli(['help', ...words.split(' ')])
      assert.deepEqual(help, await cli([...words.split(' '), '--help']))
      assert.equal(help.code, EXIT.ok)
      assert.match(help.out, new RegExp(`^Usage: countersignd ${words} `, 'm'))
    })

  it('help exit-codes lists every exit code', async () => {
    const { out } = await cli(['help', 'exit-codes'])
    for (const code of Object.values(EXIT)) assert.match(out, new RegExp(`^ +${code}  \\S`, 'm'))
  })

  it('has examples of that command which the program accepts', async () => {
    let count = 0
    for (const name of names) {
      const { examples = {} } = await COMMANDS[name]!.load()
      for (const line of Object.keys(examples)) assert.equal(await requireUsable(line), name)
      if (Object.keys(examples).length === 0) continue
      count++
      assert.match((await cli(['help', ...name.split(' ')])).out, /^Examples:\n {2}countersignd /m)
    }
    assert(count > 30, 'the commands that people use have examples')
  })

  it('every option that must be given exists, and the usage begins with it', async () => {
    for (const name of names) {
      const { needs = [], options = {}, usage } = await COMMANDS[name]!.load()
      for (const option of needs.flat()) {
        assert(Object.hasOwn(options, option), `${name} --${option}`)
        const at = usage.indexOf(`--${option} `)
        assert(at >= 0 && usage[at - 1] !== '[', name)
      }
    }
  })
})

const MISTAKES: readonly (readonly [line: string, meant: string])[] = [
  ['statsu', 'status'],
  ['gest list', 'guest list'],
  ['guest crate', 'guest create'],
  ['conection', 'connection'],
  ['org grop list', 'org group list'],
  ['org group lst', 'org group list'],
  ['help statsu', 'status'],
  ['help guest crate', 'guest create'],
  ['profile sett', 'profile set'],
  ['stamp verfy a b', 'stamp verify'],
  ['guest create --lable Mum', '--label'],
  ['guest create --label=Mum --expire-in=7d', '--expires-in'],
  ['status --jsn', '--json'],
]
describe('a name that does not exist', () => {
  for (const [line, meant] of MISTAKES)
    it(`${line}: did you mean "${meant}"?`, async () => {
      const { code, out, err } = await cli(line.split(' '))
      assert.deepEqual([code, out], [EXIT.usage, ''])
      assert(err.includes(`Did you mean "${meant}"?`), err)
    })

  for (const line of ['frobnicate', 'guest frobnicate', 'status --frobnicate', 'xx', 'ab cd'])
    it(`${line}: no suggestion`, async () => {
      const { code, err } = await cli(line.split(' '))
      assert.equal(code, EXIT.usage)
      assert(!err.includes('Did you mean'), err)
    })

  it('the value of an unknown option is not repeated', async () => {
    assert(!(await cli(['status', '--tokn=csd_x'])).err.includes('csd_x'))
  })
})
