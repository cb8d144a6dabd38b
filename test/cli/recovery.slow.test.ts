/**
 * `recovery create` and `reset --recovery-key`: at a terminal and in a script, over an account
 * server in this process.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { newRecoverySeed, paperWords } from '../../src/crypto/recovery-paper.ts'
import { EXIT } from '../../src/errors.ts'
import { environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { atRealTerminal, noRealTerminal } from './real-terminal.ts'
import { terminal, type Person as Typist } from './terminal.ts'
import { newCliFixture, joinMembers, type Person, type CliFixture } from './cli-fixture.ts'

/** Returns the words on a screen, in the order of their numbers. */
const wordsOn = (screen: string): string[] =>
  [...screen.matchAll(/\d+\. ([a-z]+)/g)].map(([, word]) => word!).slice(-24)

/**
 * Returns a user who makes a recovery paper at a terminal: presses Enter, then types the returned
 * words.
 */
function writer(readBack: (words: readonly string[]) => readonly string[]): Typist {
  const lines: string[] = []
  let isWritten = false
  return (seen) => {
    if (isWritten) return lines.shift() ?? null
    isWritten = true
    lines.push(...readBack(wordsOn(seen)))
    return ''
  }
}
const whole = (words: readonly string[]) => [words.join(' ')]

/** Makes a recovery paper at a terminal and returns its words. */
async function paperOf(person: Person): Promise<string> {
  let words: readonly string[] = []
  await person.good(['recovery', 'create'], { person: writer((shown) => whole((words = shown))) })
  assert.equal(words.length, 24)
  return words.join(' ')
}

/** Resets an account on a new device; `input` is typed before the code. */
async function back({ server, mailDir }: CliFixture, t: TestContext, person: Person) {
  const run = terminal(freshFolder(t))
  const env = { SVC_BACKEND_URL: server }
  const reset = (more: readonly string[], input = '') =>
    run(['reset', '--email', person.email, '--yes', ...more], { env, input })
  async function withCode(more: readonly string[], words = '') {
    // Without a code on standard input, one is mailed.
    const first = await reset(more, words)
    assert.match(first.err, /A code was sent/)
    const letter = (await lettersIn(mailDir, person.email)).findLast(hasCode)
    return reset(more, `${words}${codeIn(letter ?? assert.fail('no mail'))}\n`)
  }
  const anew: Person = {
    ...person,
    on: (args, more = {}) => run(args, { ...more, env }),
    async good(args, more) {
      const result = await anew.on(args, more)
      assert.equal(result.code, EXIT.ok, result.err)
      return result
    },
    json: async (...args) => JSON.parse((await anew.good([...args, '--json'])).out),
  }
  return { reset, withCode, anew }
}

const keyOf = async (person: Person) => (await person.json('whoami')).recovery_key.since

describe('recovery create', () => {
  it('at a terminal: shows the words, asks for them in rows, then puts the key in force', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    assert.match((await ada.good(['whoami'])).out, /^Recovery +no recovery key/m)
    assert.match((await ada.on(['doctor'])).out, /recovery +no recovery key/)
    const rows = (words: readonly string[]) =>
      Array.from({ length: 6 }, (_, row) => words.slice(4 * row, 4 * row + 4).join(' '))
    const { err } = await ada.good(['recovery', 'create'], { person: writer(rows) })
    assert.match(err, /Words 5 to 24: /)
    assert.match(err, /The recovery key is valid\./)
    assert.match((await ada.good(['whoami'])).out, /^Recovery +recovery key since .*\(.*\)$/m)
    assert.match((await ada.on(['doctor'])).out, /recovery +the account has a recovery key/)
  })

  it('asks again for a word that is typed wrongly, by its number', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const slip = (words: readonly string[]) => [
      [...words.slice(0, 6), words[6] === 'goofy' ? 'jump' : 'goofy'].join(' '),
      'notonthelist',
      words.slice(6).join(' '),
    ]
    const { err } = await ada.good(['recovery', 'create'], { person: writer(slip) })
    assert.match(err, /Word 7 is wrong\. Continue with that word\.\nWords 7 to 24: /)
    assert.match(err, /Word 7 is not on the word list/)
  })

  it('Enter alone shows the words once more', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const again = (words: readonly string[]) => ['', '', words.join(' ')]
    const { err } = await ada.good(['recovery', 'create'], { person: writer(again) })
    assert.equal(err.split('Write down all 24 words').length, 3)
  })

  it('puts no key in force if the words are not confirmed', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    for (const person of [() => null, writer(() => []), writer((words) => words.slice(0, 23))]) {
      const { code, err } = await ada.on(['recovery', 'create'], { person })
      assert.equal(code, EXIT.failed)
      assert.match(err, /The recovery key of the account did not change\./)
    }
    assert.equal(await keyOf(ada), null)
  })

  it('in a script: rejects a wrong word by its number, without quoting it', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const { code, out, err } = await ada.on(['recovery', 'create'], { input: 'xylophony able\n' })
    assert.equal(code, EXIT.failed)
    assert.equal(out.trim().split(' ').length, 24)
    assert.match(err, /Word 1 is not on the word list\. The recovery key/)
    assert.doesNotMatch(err, /xylophony|able|Did you mean/)
    assert.equal((await ada.on(['recovery', 'create', '--json'], { input: '' })).code, EXIT.usage)
  })

  it('a page to print: complete, of mode 0600, without scripts; deleted if the words are not confirmed', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const page = join(freshFolder(t), 'paper.html')
    const create = ['recovery', 'create', '--page', page]
    assert.equal((await ada.on(create, { input: '' })).code, EXIT.failed)
    assert.equal(existsSync(page), false)

    let words: string[] = []
    const reader: Typist = () => {
      const text = readFileSync(page, 'utf8')
      words = [...text.matchAll(/<li>([a-z]+)<\/li>/g)].map(([, word]) => word!)
      return words.join(' ')
    }
    const { out, err } = await ada.good(create, { person: reader })
    assert.equal(words.length, 24)
    const text = readFileSync(page, 'utf8')
    assert.equal(statSync(page).mode & 0o777, 0o600)
    assert.match(text, new RegExp(ada.id))
    assert.match(text, /countersignd reset --recovery-key --email ada@example\.org/)
    assert.match(text, /Print this page, then delete the file/)
    assert.doesNotMatch(text, /<script|<link|<img|url\(|src=/)
    assert.doesNotMatch(out + err, new RegExp(`\\b${words[0]} ${words[1]}\\b`))
    assert.match(err, new RegExp(`Delete ${page} now`))
    // An existing file is never overwritten.
    assert.match((await ada.on(create, { input: '' })).err, /already exists/)
  })

  it('replaces a key only with its words, which then no longer work', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const first = await paperOf(ada)
    const other = paperWords(newRecoverySeed()).join(' ')
    const wrong = await ada.on(['recovery', 'create'], { person: () => other })
    assert.match(wrong.err, /If you have lost that paper, only "countersignd reset"/)
    assert.match(wrong.err, /These are not the words of the current recovery key/)
    const none = await ada.on(['recovery', 'create'], { input: '' })
    assert.match(none.err, /its 24 words are needed to replace it/)

    let isOld = true
    let second = ''
    const write = writer((words) => [(second = words.join(' '))])
    const person: Typist = (seen) => {
      if (!isOld) return write(seen)
      isOld = false
      return first
    }
    const { err } = await ada.good(['recovery', 'create'], { person })
    assert.match(err, /Destroy the old paper/)
    const { withCode } = await back(fixture, t, ada)
    const dead = await withCode(['--recovery-key'], `${first}\n`)
    assert.deepEqual([dead.code, dead.out], [EXIT.failed, ''])
    assert.match(dead.err, /was replaced by a newer one\. Nothing was reset\./)
    const alive = await withCode(['--recovery-key', '--new-code'], `${second}\n`)
    assert.equal(alive.code, EXIT.ok, alive.err)
  })
})

describe('reset --recovery-key', () => {
  it('undoes the reset of a thief, between two people: words verify again', async (t) => {
    const fixture = await newCliFixture(t)
    const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
    const { id } = await ada.json('connection', 'create', '--name', 'B')
    await joinMembers(ada, id, [bob])
    const { safety_number: number } = await ada.json('trust', 'follow', bob.id)
    await ada.good(['trust', 'confirm', bob.id, '--safety-number', number])
    const words = await paperOf(bob)

    const thief = await back(fixture, t, bob)
    const taken = await thief.withCode([])
    assert.equal(taken.code, EXIT.ok, taken.err)
    assert.match(taken.err, /all your contacts are warned/)
    await ada.good(['sync'])
    const { out: doubtful } = await ada.good(['trust', 'list'])
    assert.match(doubtful, /CHANGED, not verified/)
    assert.match(doubtful, /WARNING: all devices were replaced without using the recovery key/)

    const owner = await back(fixture, t, bob)
    const undone = await owner.withCode(['--recovery-key'], `${words}\n`)
    assert.equal(undone.code, EXIT.ok, undone.err)
    assert.doesNotMatch(undone.err, /all your contacts are warned/)
    await ada.good(['sync'])
    const { out: trusted } = await ada.good(['trust', 'list'])
    assert.match(trusted, /confirmed/)
    assert.match(trusted, /All devices were replaced with the recovery key on .*\(/)
    await ada.good(['trust', 'dismiss', bob.id])
    assert.doesNotMatch((await ada.good(['trust', 'list'])).out, /replaced/)
    const { out: history } = await ada.good(['trust', 'history', bob.id])
    assert.match(history, /all devices were replaced with the recovery key/)
    assert.match(history, /ALL DEVICES WERE REPLACED/)
    assert.match(history, /a recovery key was created/)

    await owner.anew.good(['sync'])
    await ada.good(['sync'])
    const { words: spoken } = await owner.anew.json('code', id)
    assert.equal((await ada.json('verify', ...spoken.split(' '))).verified, true)
    assert.equal((await thief.anew.on(['code', id])).code, EXIT.failed)
  })

  it('words with a wrong checksum: names the place, asks again at a terminal, posts nothing', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const words = (await paperOf(ada)).split(' ')
    const swapped = words.with(2, words[3]!).with(3, words[2]!).join(' ')
    const { reset } = await back(fixture, t, ada)
    // The mail about the new recovery key has no code, and may arrive later.
    const codes = async () => (await lettersIn(fixture.mailDir, ada.email)).filter(hasCode).length
    const before = await codes()
    const { code, err } = await reset(['--recovery-key'], `${swapped}\n`)
    assert.equal(code, EXIT.failed)
    assert.match(err, /word 3 is wrong, or is swapped with the next word\. Nothing was reset\./)
    assert.equal(await codes(), before, 'no code was mailed')

    const lines = [swapped, words.slice(2).join(' '), null]
    const run = terminal(freshFolder(t))
    const asked = await run(['reset', '--email', ada.email, '--recovery-key', '--yes'], {
      env: { SVC_BACKEND_URL: fixture.server },
      person: () => lines.shift() ?? null,
    })
    assert.match(asked.err, /Type the words again, starting with word 3\.\nWords 3 to 24: /)
    assert.match(asked.err, /A code was sent/)
  })

  describe('in a script with a word too few or a wrong one', () => {
    const lost = 'ABCD-7EFG-H8JK-9MNP'
    const wrong = 'qqqqqq'
    const missing =
      /^countersignd: 23 words were read, but the next line does not begin with a word of the word list\. Word 24 is missing or wrong\. Nothing was reset\.$/m
    const cases: [name: string, input: (words: string[]) => string, error: RegExp][] = [
      ['23 words, then the code', (words) => `${words.slice(0, 23).join(' ')}\n${lost}\n`, missing],
      [
        '23 words, a wrong one on a line of its own, then the code',
        (words) => `${words.slice(0, 23).join('\n')}\n${wrong}\n${lost}\n`,
        missing,
      ],
      [
        'a wrong word 24 on the line of the others, then the code',
        (words) => `${words.with(23, wrong).join(' ')}\n${lost}\n`,
        /Word 24 is not on the word list\. Nothing was reset\./,
      ],
      [
        '23 words alone',
        (words) => `${words.slice(0, 23).join(' ')}\n`,
        /23 of the 24 words were given\. Nothing was reset\./,
      ],
    ]
    for (const [name, input, error] of cases)
      it(`${name}: the error names word 24 and quotes nothing`, async (t) => {
        const words = paperWords(new Uint8Array(32).fill(7))
        const run = terminal(freshFolder(t))
        const { code, out, err } = await run(
          ['reset', '--email', 'ada@example.org', '--recovery-key', '--yes'],
          { input: input(words) },
        )
        assert.deepEqual([code, out], [EXIT.failed, ''])
        assert.match(err, error)
        for (const word of [...words, wrong, ...lost.split('-')])
          assert.doesNotMatch(err, new RegExp(`\\b${word}\\b`))
      })
  })

  it('without the words of an existing key: asks at a terminal', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    await paperOf(ada)
    const run = terminal(freshFolder(t))
    let steps = 0
    const person: Typist = async () => {
      steps += 1
      if (steps === 1) return 'reset'
      if (steps > 2) return 'no'
      const letter = (await lettersIn(fixture.mailDir, ada.email)).findLast(hasCode)
      return codeIn(letter ?? assert.fail('no mail'))
    }
    const { code, err } = await run(['reset', '--email', ada.email], {
      env: { SVC_BACKEND_URL: fixture.server },
      person,
    })
    assert.equal(code, EXIT.failed)
    assert.match(err, /Type "without" to continue without the recovery key: /)
    assert.match(err, /Nothing was reset\. Run the same command with --recovery-key\./)
    // The earlier device is unchanged.
    assert.equal((await ada.json('whoami')).user.id, ada.id)
  })

  it('leaves the words in no file', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const words = await paperOf(ada)
    const stateDir = freshFolder(t)
    const env = { SVC_BACKEND_URL: fixture.server }
    const run = terminal(stateDir)
    const args = ['reset', '--email', ada.email, '--recovery-key', '--yes']
    await run(args, { env, input: `${words}\n` })
    const letter = (await lettersIn(fixture.mailDir, ada.email)).findLast(hasCode)
    const input = `${words}\n${codeIn(letter ?? assert.fail('no mail'))}\n`
    const { code, out, err } = await run(args, { env, input })
    assert.equal(code, EXIT.ok, err)
    const pair = words.split(' ').slice(0, 2).join(' ')
    const files = readdirSync(stateDir, { recursive: true, withFileTypes: true })
    const texts = files
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    for (const text of [...texts, out, err]) assert(!text.includes(pair))
  })
})

it(
  'at a real terminal the words are on the alternate screen, and typed words are not shown',
  { skip: noRealTerminal },
  async (t) => {
    let words: readonly string[] = []
    const { code, screen } = await atRealTerminal(
      ['recovery', 'create'],
      environment(freshFolder(t)),
      [
        ['written them down. ', '\r'],
        ['Words 1 to 24: ', (seen) => `${(words = wordsOn(seen)).join(' ')}\r`],
      ],
    )
    assert.equal(code, EXIT.ok, screen)
    assert.equal(words.length, 24)
    const [before, after] = [screen.indexOf('\u001b[?1049h'), screen.indexOf('\u001b[?1049l')]
    assert(before !== -1 && after > before, screen)
    const scrollback = screen.slice(0, before) + screen.slice(after)
    for (const word of words.slice(0, 4))
      assert.doesNotMatch(scrollback, new RegExp(`\\b${word}\\b`))
  },
)
