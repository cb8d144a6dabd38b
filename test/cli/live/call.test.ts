/** `call`, and `verify` and `code` as people use them on a call. */
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import type { Verification } from '../../../src/api/rest/verify.ts'
import type { Api } from '../../../src/cli/command.ts'
import { AppError, EXIT } from '../../../src/errors.ts'
import { linkOf, wordsFrom } from '../../e2e/peer.ts'
import { environment } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { call } from '../calling.ts'
import { joinMembers, newCliFixture } from '../cli-fixture.ts'
import { atRealTerminal, noRealTerminal } from '../real-terminal.ts'
import { type CommandResult, type Person, daemonHere, terminal } from '../terminal.ts'

const WRONG = 'matador carload recede'
const WORDS = '[a-z]+ [a-z]+ [a-z]+'
const OWN = new RegExp(`(?:Say|Now say) your words: {2}(${WORDS}) {3}\\(\\d+ s left\\)`)
const ANSWER = new RegExp(`Say these words: {2}(${WORDS}) {3}`)
const CHALLENGE = /Say this word: {2}([a-z]+)\n/

/** What a person hears from the other one: the first match of an expression on their screen. */
function line() {
  const heard = new Map<RegExp, PromiseWithResolvers<string>>()
  const at = (pattern: RegExp) => {
    const known = heard.get(pattern) ?? Promise.withResolvers<string>()
    // Some words have no listener.
    known.promise.catch(() => undefined)
    heard.set(pattern, known)
    return known
  }
  return {
    /** Passes on what the screen shows. */
    speak: (seen: string) => {
      for (const pattern of [OWN, ANSWER, CHALLENGE]) {
        const [, words] = pattern.exec(seen) ?? []
        if (words !== undefined) at(pattern).resolve(words)
      }
    },
    hears: (pattern: RegExp) => at(pattern).promise,
    /** Ends the waits for further words. */
    end: () => {
      for (const pattern of [OWN, ANSWER, CHALLENGE]) at(pattern).reject(new Error('no words'))
    },
  }
}

type Line = ReturnType<typeof line>
type Key = string | ((seen: string) => string | Promise<string>)

/** Types one of these at each prompt, after speaking what the screen shows. */
function typing(keys: readonly Key[], spoken: Line = line()): Person {
  const left = [...keys]
  return async (seen) => {
    spoken.speak(seen)
    const next = left.shift()
    return typeof next === 'function' ? next(seen) : (next ?? null)
  }
}

/** Runs the commands of two people at the same time. */
async function together(...commands: readonly (readonly [Promise<CommandResult>, Line])[]) {
  const over = commands.map(async ([result, spoken]) => {
    const found = await result
    spoken.end()
    return found
  })
  return Promise.all(over)
}

/** Two people with a connection, which Ada calls "Bank" and Bob calls "Ada". */
async function two(t: TestContext) {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const id = (await ada.json('connection', 'create', '--name', 'Bank')).id as string
  await joinMembers(ada, id, [bob])
  await bob.good(['connection', 'rename', id, 'Ada'])
  return { ada, bob, id }
}

describe('a call between two people', () => {
  for (const [caller, called, name] of [
    ['ada', 'bob', 'Bank'],
    ['bob', 'ada', 'Ada'],
  ] as const)
    it(`${caller} calls ${called}: each checks the words of the other one`, async (t) => {
      const people = await two(t)
      const [mine, theirs] = [line(), line()]
      const [out, into] = await together(
        [
          people[caller].on(['call', name.toLowerCase()], {
            person: typing(['', () => theirs.hears(OWN), ''], mine),
          }),
          mine,
        ],
        [
          people[called].on(['call'], { person: typing([() => mine.hears(OWN), ''], theirs) }),
          theirs,
        ],
      )
      assert.deepEqual([out!.code, into!.code], [EXIT.ok, EXIT.ok], out!.err + into!.err)
      assert.match(out!.out, new RegExp(`^Verified: the words of .*${name}.*\\.\n$`))
      assert.match(into!.out, /^Verified: the words of .*(Bank|Ada).*\.\n$/)
      assert.match(
        out!.err,
        /^Call "(Bank|Ada)" now, on a number that you know\.\nWhen they answer, press Enter: Say your words: {2}[^]*\nWait until they say that your words are right\.\nIf they are not, hang up\.\nThen ask for their three words\.\n/,
      )
      assert.match(into!.err, /^They speak first\. Do not say your words yet\.\n/)
    })

  it('confirms a purpose that the caller asks for', async (t) => {
    const { ada, bob } = await two(t)
    const [a, b] = [line(), line()]
    const [asks, answers] = await together(
      [
        ada.on(['call', 'Bank', '--purpose', 'Pay 12,000'], {
          person: typing(['', '', () => b.hears(ANSWER), ''], a),
        }),
        a,
      ],
      [
        bob.on(['call'], {
          person: typing(
            [() => a.hears(OWN), 'answer', () => a.hears(CHALLENGE), 'pay 12000', 'yes', ''],
            b,
          ),
        }),
        b,
      ],
    )
    assert.deepEqual([asks!.code, answers!.code], [EXIT.ok, EXIT.ok], asks!.err + answers!.err)
    assert.match(asks!.out, /^Verified: .*, for you alone, for "pay12000"\.\n$/)
    assert.match(answers!.err, /Your words will confirm the purpose "pay12000"\.\n/)
  })

  it('does not confirm another purpose than the one that the person called asks for', async (t) => {
    const { ada, bob } = await two(t)
    const [c, d] = [line(), line()]
    const [caller, called] = await together(
      [
        bob.on(['call', 'Ada'], {
          person: typing(
            ['', () => d.hears(OWN), 'answer', () => d.hears(CHALLENGE), 'pay 99000', 'yes', ''],
            c,
          ),
        }),
        c,
      ],
      [
        ada.on(['call'], {
          person: typing(
            // A purpose that is too long does not end the call.
            [
              () => c.hears(OWN),
              'more',
              'a'.repeat(65),
              'more',
              'pay 12000',
              () => c.hears(ANSWER),
            ],
            d,
          ),
        }),
        d,
      ],
    )
    assert.equal(caller!.code, EXIT.ok, caller!.err)
    assert.match(called!.err, /The purpose is too long: it has 65 letters and digits/)
    // Ada ends the call instead of trying a second word.
    assert.equal(called!.code, EXIT.notVerified, called!.err)
    assert.match(
      called!.out,
      /^Verified: .*\nNot verified: the words, the person or the purpose differ\.\n$/,
    )
  })
})

describe('words on a call', () => {
  /** Returns a device with two guests, and computes the words as the pages of the guests do. */
  async function withGuests(t: TestContext, stateDir = freshFolder(t)) {
    const on = terminal(stateDir)
    const guest = async (label: string) => {
      const made = await on(['guest', 'create', '--label', label, '--json'])
      const { id, k } = linkOf(JSON.parse(made.out).url as string)
      const says = (minutes: number) => {
        const window = Math.floor(Date.now() / 60_000) + minutes
        return wordsFrom({ label: 'guest', k, subject: id, speaker: id, window })
      }
      return { id, says }
    }
    return { on, mum: await guest('Mum'), dad: await guest('Dad') }
  }
  type Guests = Awaited<ReturnType<typeof withGuests>>

  const own = async ({ on, mum }: Guests) =>
    JSON.parse((await on(['code', mum.id, '--json'])).out).words as string

  for (const [name, args, keys, code, out, err] of [
    [
      'right words: the own words to say back',
      ['verify'],
      [({ mum }) => mum.says(0)],
      EXIT.ok,
      /^Verified: the words of guest "Mum"\.\n$/,
      /^The caller speaks first\. Do not say your words yet\.\nThree words that they say: If they say that they are someone else, hang up\.\nNow say your words: {2}/,
    ],
    [
      'words of a clock that is a minute ahead',
      ['call'],
      [({ mum }) => mum.says(1)],
      EXIT.ok,
      /^Verified/,
      /Wait until they say that your words are right\.\n$/,
    ],
    [
      'wrong words twice',
      ['call'],
      [() => WRONG, () => WRONG],
      EXIT.notVerified,
      /^(Not verified: no contact of yours has these words now\.\n){2}$/,
      /Ask for the words once more\.\n[^]*Hang up\.\nCall a number that you know\.\n$/,
    ],
    [
      'wrong words, then the end of the input',
      ['verify'],
      [() => WRONG],
      EXIT.notVerified,
      /^Not verified/,
      /Ask for the words once more\.\n/,
    ],
    [
      'words that were misheard, then right words',
      ['verify'],
      [() => WRONG, ({ mum }) => mum.says(0)],
      EXIT.ok,
      /^Not verified: .*\nVerified: the words of guest "Mum"\.\n$/,
      /Now say your words/,
    ],
    [
      'expired words',
      ['call'],
      [({ mum }) => mum.says(-3), ({ mum }) => mum.says(-4)],
      EXIT.notVerified,
      /^(Not verified: no contact of yours has these words now\.\n){2}$/,
      /Hang up\.\n/,
    ],
    [
      'the own words, repeated',
      ['call', 'mum'],
      [() => '', own, own],
      EXIT.notVerified,
      /^(Not verified: these are your own words\.\n){2}$/,
      /Ask for their words, not for yours\.\n[^]*Hang up\.\n/,
    ],
    [
      'words of another contact than the called one',
      ['call', 'MUM'],
      [() => '', ({ dad }) => dad.says(0), ({ mum }) => mum.says(0)],
      EXIT.ok,
      /^Not verified: "Mum" does not have these words now\.\nVerified: the words of guest "Mum"\.\n$/,
      /You can talk now\.\n$/,
    ],
    [
      'no words',
      ['verify'],
      [],
      EXIT.usage,
      /^$/,
      /No words were given, so nothing is proven\. Run the command again\.\n$/,
    ],
  ] as readonly [
    string,
    string[],
    ((guests: Guests) => string | Promise<string>)[],
    number,
    RegExp,
    RegExp,
  ][])
    it(`${args.join(' ')}: ${name}`, async (t) => {
      const guests = await withGuests(t)
      const person = typing(keys.map((key) => () => key(guests)))
      const result = await guests.on(args, { person })
      assert.equal(result.code, code, result.err)
      assert.match(result.out, out)
      assert.match(result.err, err)
      // A person who is called must not see the own words before the caller is proven.
      if (code !== EXIT.ok && args.length === 1) assert.doesNotMatch(result.err, OWN)
    })

  it('fails before the call if the words are on another device', async (t) => {
    const { on } = await withGuests(t)
    const { out } = await on(['guest', 'list', '--json'])
    const [{ id }] = (JSON.parse(out) as { items: [{ id: string }] }).items
    const api = {
      connections: { list: async () => ({ items: [], next_cursor: null }) },
      guestCodes: {
        list: async () => ({
          items: [{ id, label: 'Mum', state: 'active', secret_here: false, code: null }],
          next_cursor: null,
        }),
      },
    } as unknown as Api
    const { code, err } = await call(api, ['call', id], { person: async () => '' })
    assert.equal(code, EXIT.failed)
    assert.doesNotMatch(err, /Call "Mum" now/)
    assert.match(err, /another device/)
  })

  for (const purpose of ['pay 1000.50 to 77', 'pay 0,5 BTC', "pay 12'5"])
    it(`rejects the purpose "${purpose}", because points are not compared`, async (t) => {
      const { ada } = await two(t)
      const { code, err } = await ada.on(['verify', '--challenge', '--purpose', purpose])
      assert.equal(code, EXIT.usage)
      assert.match(err, /1000\.50 would be the same as 100050/)
    })

  it('shows the stored number of a guest, and no number of another one', async (t) => {
    const { on } = await withGuests(t)
    const json = async (...args: string[]) =>
      JSON.parse((await on([...args, '--json'])).out) as { id: string }
    const { id } = await json('external', 'create', '--name', 'Eve', '--phone', '+41 44 668 18 00')
    await on(['guest', 'create', '--label', 'Eve', '--for', id])
    const calling = async (name: string) =>
      (await on(['call', name], { person: async () => null })).err
    assert.match(
      await calling('Eve'),
      /^Call "Eve" now, on \+41 44 668 18 00, which you stored\.\n/,
    )
    assert.match(await calling('Mum'), /^Call "Mum" now, on a number that you know\.\n/)
  })

  it('used before: they prove nothing, and the next words are asked for', async (t) => {
    const guests = await withGuests(t)
    const words = guests.mum.says(0)
    assert.equal((await guests.on(['verify', ...words.split(' ')])).code, EXIT.ok)
    const { code, out, err } = await guests.on(['call'], {
      person: typing([words, guests.mum.says(1)]),
    })
    assert.equal(code, EXIT.ok, err)
    assert.match(out, /^Not verified: these words were already checked on this device\.\nVerified/)
    assert.match(err, /hang up\. Otherwise ask for the words of the next minute, in \d+ s\.\n/)
  })

  it('mistyped: a similar word is chosen by its number, and is not an attempt', async (t) => {
    const guests = await withGuests(t)
    const [first = '', ...rest] = guests.mum.says(0).split(' ')
    const typed = ['qqqq', ...rest].join(' ')
    const { code, out, err } = await guests.on(['verify'], {
      person: typing([
        'matador',
        typed,
        `x${first.slice(1)}q ${rest.join(' ')}`,
        (seen) => {
          const [, number] = new RegExp(`(\\d) {2}${first}\\n`).exec(seen) ?? []
          return number ?? [first, ...rest].join(' ')
        },
      ]),
    })
    assert.equal(code, EXIT.ok, err)
    assert.match(out, /^Verified: the words of guest "Mum"\.\n$/)
    assert.match(err, /Three words are needed, but there are 1\./)
    assert.match(err, /"qqqq" is not on the word list\./)
    assert.match(err, /is not on the word list\. Did you hear:\n {2}1 {2}[a-z]+\n/)
  })

  it('with a running daemon: the same', async (t) => {
    const stateDir = freshFolder(t)
    const daemon = await daemonHere(stateDir)
    t.after(() => daemon.close())
    const guests = await withGuests(t, stateDir)
    const called = await guests.on(['call', 'Mum'], {
      person: typing(['', '', () => guests.mum.says(0)]),
    })
    assert.equal(called.code, EXIT.ok, called.err)
    // Enter shows the own words again.
    assert.equal(called.err.match(new RegExp(OWN, 'g'))?.length, 2)
    const { out } = await guests.on(['code', '--json'])
    assert.deepEqual(
      JSON.parse(out).items.map(({ name }: { name: string }) => name),
      ['Dad', 'Mum'],
    )
  })

  it('in a script: one check and no questions', async (t) => {
    const guests = await withGuests(t)
    const piped = await guests.on(['verify'], { input: guests.mum.says(0) })
    assert.deepEqual(
      [piped.code, piped.out, piped.err],
      [EXIT.ok, 'Verified: the words of guest "Mum".\n', ''],
    )
    const other = await guests.on(['verify', '--expect', guests.mum.id], {
      input: guests.dad.says(0),
    })
    assert.equal(other.code, EXIT.notVerified)
    assert.match(other.out, /^Not verified: guest "Mum" does not say these words now\./)
    const { code, err } = await guests.on(['call', 'Mum'])
    assert.equal(code, EXIT.usage)
    assert.match(err, /needs a terminal\. In a script, use "countersignd code"/)
  })

  it('a name that no one or several people have: the contacts are listed', async (t) => {
    const guests = await withGuests(t)
    const person = typing([])
    const none = await guests.on(['call', 'Aunt'], { person })
    assert.equal(none.code, EXIT.failed)
    assert.match(none.err, /No one here is called "Aunt"\. Guests: "Dad" \(gst_\w+\), "Mum" \(gst_/)
    await guests.on(['guest', 'create', '--label', 'mum'])
    const several = await guests.on(['call', 'MUM'], { person })
    assert.equal(several.code, EXIT.ambiguous)
    assert.match(several.err, /"MUM" can mean several\. Nothing was done\./)
    const purpose = await guests.on(['call', guests.dad.id, '--purpose', 'Pay 12'], { person })
    assert.equal(purpose.code, EXIT.usage)
    assert.match(purpose.err, /"Dad" is a guest, and a guest cannot confirm a purpose/)
  })
})

describe('words that cannot be judged', () => {
  const result: Verification = {
    verified: false,
    conclusive: false,
    replayed: false,
    echo: false,
    summary: '',
    matches: [],
    checked: 0,
    unchecked: 0,
    reasons: ['nothing_cached'],
    checked_at: '2026-01-01T00:00:00.000Z',
  }
  const match = {
    kind: 'connection' as const,
    speaker: 'other' as const,
    display_name: 'Bob',
    name_source: 'confirmed' as const,
    name_marks: [],
    window: 1,
    conclusive: false,
    reasons: ['sync_stale' as const],
  }
  for (const [name, answer, out, err] of [
    [
      'no contacts: no second check',
      {},
      /^Cannot say: you have no contacts yet, so no caller can be recognised\.\n$/,
      /say: Start with "countersignd guest create"[^]*This proves nothing, for or against the caller\.\n/,
    ],
    [
      'a match that is too old',
      { verified: true, conclusive: true, reasons: [], matches: [match] },
      /^Cannot say: the words match, but not everything could be checked\.\n$/,
      /The last sync is too old\. Run "countersignd sync"\.\n/,
    ],
  ] as const)
    it(name, async () => {
      const api = { verify: { words: async () => ({ ...result, ...answer }) } }
      const seen = await call(api as unknown as Partial<Api>, ['call'], { person: typing([WRONG]) })
      assert.equal(seen.code, EXIT.inconclusive)
      assert.match(seen.out, out)
      assert.match(seen.err, err)
      assert.doesNotMatch(seen.err, OWN)
    })
})

describe('code for everyone', () => {
  it('lists connections and guests, and says why there are no words', async (t) => {
    const { ada } = await two(t)
    await ada.good(['guest', 'create', '--label', 'Mum'])
    const { out, err } = await ada.good(['code'])
    assert.match(
      out,
      new RegExp(`^NAME +KIND +YOUR WORDS\nBank +connection +${WORDS}\nMum +guest +${WORDS}\n$`),
    )
    assert.match(err, /^Valid until .*\)\. The caller speaks first\./)
    const { items } = await ada.json('code')
    assert.deepEqual(
      items.map(({ name, kind, words }: Record<string, string>) => [
        name,
        kind,
        words?.split(' ').length,
      ]),
      [
        ['Bank', 'connection', 3],
        ['Mum', 'guest', 3],
      ],
    )
  })

  it('--watch shows new words when the minute ends', async () => {
    const page = (items: readonly object[]) => async () => ({ items, next_cursor: null })
    const words = ['one one one', 'two two two']
    const api = {
      connections: {
        list: page([{ id: 'con_1', name: 'Bank', members: [] }]),
        code: async () => {
          const next = words.shift()
          if (next === undefined) throw new Error('The daemon ended.')
          return { words: next, valid_until: '2026-01-01T00:00:00.000Z' }
        },
      },
      guestCodes: { list: page([]) },
    }
    const { out, err } = await call(api as unknown as Partial<Api>, ['code', '--watch'])
    assert.match(out, /Bank +connection +one one one\n[^]*Bank +connection +two two two\n$/)
    assert.match(err, /The daemon ended/)
  })

  it('a connection without words has a reason', async () => {
    const api = {
      connections: {
        list: async () => ({
          items: [{ id: 'con_1', name: 'Bank', members: [] }],
          next_cursor: null,
        }),
        code: async () => {
          throw new AppError('secret_unavailable', 'Waiting for your device "laptop".')
        },
      },
      guestCodes: { list: async () => ({ items: [], next_cursor: null }) },
    }
    const { out } = await call(api as unknown as Partial<Api>, ['code'])
    assert.match(out, /Bank +connection +none: Waiting for your device "laptop"\.\n$/)
  })
})

describe('at a real terminal', { skip: noRealTerminal }, () => {
  it('verify answers at Enter, in green, with the words to say back', async (t) => {
    const stateDir = freshFolder(t)
    const made = await terminal(stateDir)(['guest', 'create', '--label', 'Mum', '--json'])
    const { id, k } = linkOf(JSON.parse(made.out).url as string)
    const says = () => {
      const window = Math.floor(Date.now() / 60_000)
      return wordsFrom({ label: 'guest', k, subject: id, speaker: id, window })
    }
    const { code, screen } = await atRealTerminal(['verify'], environment(stateDir), [
      ['Three words that they say: ', `${WRONG}\n`],
      ['Three words that they say: ', () => `${says()}\n`],
    ])
    assert.equal(code, EXIT.ok, screen)
    const { red, green, end } = { red: '\u001b[31m', green: '\u001b[32m', end: '\u001b[39m' }
    for (const shown of [
      `${red}Not verified: no contact of yours has these words now.${end}\r\nAsk for the words once more.\r\n`,
      `${green}Verified: the words of guest "Mum".${end}\r\nIf they say that they are someone else, hang up.\r\nNow say your words:  `,
    ])
      assert(screen.includes(shown), screen)
  })
})
