/** Leads a person through a call: who speaks first, what to check, what to say, when to hang up. */
import { inQuotes } from '../../../api/name-text.ts'
import type { Match } from '../../../api/rest/verify.ts'
import { challengeWord } from '../../../device/codes/typed-words.ts'
import { AppError, EXIT } from '../../../errors.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import { drawChallenge, ownCode, purposeLine } from './code.ts'
import { type Callee, contactWithId, phoneOf } from './contacts.ts'
import { type Hearing, hear, instruct, sayBack, subjectIdOf, toSay } from './hearing.ts'
import { THEIR_WORDS, askForWords } from './typed-words.ts'

/** One call, at one terminal. */
interface Call {
  readonly invocation: Invocation
  readonly prompt: Prompt
}

/** Shows the own words for a contact. */
async function showOwnWords({ invocation }: Call, id: string): Promise<void> {
  const { words, valid_until } = await invocation.withApi((api) => ownCode(api, id))
  instruct(invocation, `Say your words:  ${toSay(words, valid_until)}`)
}

/** Asks the other person for words that are only for this user and this purpose. */
async function askForMore(
  { invocation, prompt }: Call,
  connection: string,
  purpose: string,
): ReturnType<typeof hear> {
  let challenge_id = ''
  const hearing: Hearing = {
    question: 'Three words that they answer: ',
    expected: null,
    // A challenge allows one check, so each question has its own word.
    before: async () => {
      const drawn = await drawChallenge(invocation, connection, purpose)
      challenge_id = drawn.id
      instruct(
        invocation,
        `Say this word:  ${drawn.word}`,
        `Say what it is for. They must see ${purposeLine(drawn.purpose)}.`,
        'They type "answer" in their "countersignd call", and say three other words.',
      )
    },
    check: (words) =>
      invocation.withApi((api) => api.verify.words({ body: { words, challenge_id } })),
  }
  return hear(invocation, prompt, hearing)
}

/** Answers the other person, who asked for more. */
async function answer({ invocation, prompt }: Call, { connection_id, member_id }: Match) {
  const { io, withApi } = invocation
  const challenge = await askForWords(io, prompt, 'Word that they say: ', challengeWord)
  if (challenge === null || challenge === '') return
  const purpose = await prompt.ask('What it is for, as they say it: ')
  if (purpose === null) return
  const asked = { challenge, purpose, ...(member_id === undefined ? {} : { listener: member_id }) }
  const read = () => withApi((api) => ownCode(api, connection_id ?? '', asked))
  const { purpose: normal = '' } = await read()
  instruct(
    invocation,
    `Your words will confirm ${purposeLine(normal)}.`,
    'Ask whether they see the same.',
  )
  if ((await prompt.ask('Type yes if you want exactly this: '))?.toLowerCase() !== 'yes') {
    instruct(invocation, 'Nothing was confirmed. Say nothing.')
    return
  }
  const { words, valid_until } = await read()
  instruct(invocation, `Say these words:  ${toSay(words, valid_until)}`)
}

const MENU = [
  'more    they confirm something to you, such as a payment',
  'answer  you confirm something to them',
  'Enter   end',
]

/** Offers challenges until the user ends the call. Returns the exit code. */
async function goOn(call: Call, speaker: Match): Promise<number> {
  const { invocation, prompt } = call
  // A guest's page has no challenges.
  if (speaker.connection_id === undefined) return EXIT.ok
  let exit: number = EXIT.ok
  for (;;) {
    instruct(invocation, ...MENU)
    const choice = (await prompt.ask('Next: '))?.toLowerCase() ?? ''
    if (choice === '') return exit
    try {
      if (choice === 'answer') await answer(call, speaker)
      if (choice !== 'more') continue
      exit = EXIT.failed
      const purpose = (await prompt.ask('What for, such as pay 12000 to 1234: ')) ?? ''
      exit = (await askForMore(call, speaker.connection_id, purpose)).exit
      if (exit !== EXIT.ok) return exit
    } catch (error) {
      // Such as a purpose that is too long. The call goes on.
      if (!(error instanceof AppError || error instanceof UsageError)) throw error
      instruct(invocation, error.message)
    }
  }
}

/** Leads the person who is called. */
async function incoming(call: Call, purpose: string | undefined): Promise<number> {
  const { invocation, prompt } = call
  instruct(invocation, 'They speak first. Do not say your words yet.', 'Ask for their three words.')
  const { exit, speaker } = await hear(invocation, prompt, {
    question: THEIR_WORDS,
    expected: null,
    check: (words) => invocation.withApi((api) => api.verify.words({ body: { words } })),
  })
  if (speaker === null) return exit
  await sayBack(invocation, speaker)
  instruct(invocation, 'Wait until they say that your words are right.')
  if (purpose === undefined) return goOn(call, speaker)
  if (speaker.connection_id === undefined) throw noGuestChallenge(speaker.display_name)
  await prompt.ask('Then press Enter: ')
  const more = await askForMore(call, subjectIdOf(speaker), purpose)
  return more.speaker === null ? more.exit : goOn(call, more.speaker)
}

const noGuestChallenge = (name: string) =>
  new UsageError(
    `${inQuotes(name)} is a guest, and a guest cannot confirm a purpose. Use a connection for this.`,
  )

/** Leads the person who calls. */
async function outgoing(call: Call, contact: Callee, purpose: string | undefined): Promise<number> {
  const { invocation, prompt } = call
  const { kind, id, name } = contact
  if (kind === 'guest' && purpose !== undefined) throw noGuestChallenge(name)
  const expected = inQuotes(name)
  const phone = await invocation.withApi(async (api) => {
    // Fails if this device has no words, before the other person is called.
    await ownCode(api, id)
    return phoneOf(api, contact)
  })
  const number = phone === null ? 'a number that you know' : `${phone}, which you stored`
  instruct(invocation, `Call ${expected} now, on ${number}.`)
  await prompt.ask('When they answer, press Enter: ')
  await showOwnWords(call, id)
  instruct(
    invocation,
    'Wait until they say that your words are right.',
    'If they are not, hang up.',
  )
  if (purpose !== undefined) {
    await prompt.ask('Then press Enter: ')
    const more = await askForMore(call, id, purpose)
    return more.speaker === null ? more.exit : goOn(call, more.speaker)
  }
  instruct(invocation, 'Then ask for their three words.')
  const expect = kind === 'guest' ? { guest_code_id: id } : { connection_id: id }
  const { exit, speaker } = await hear(invocation, prompt, {
    question: 'Three words that they say (Enter: show mine again): ',
    expected,
    check: (words) => invocation.withApi((api) => api.verify.words({ body: { words, expect } })),
    empty: () => showOwnWords(call, id),
  })
  if (speaker === null) return exit
  instruct(invocation, 'You can talk now.')
  return goOn(call, speaker)
}

export const callCommand: Command = {
  usage: '[NAME] [--purpose TEXT] [--json]',
  help: `
Leads you through a call at a terminal: who speaks first, what to check, what to say, and when to hang up.

With NAME, you call this person: the name of a connection or the label of a guest, or an id (con_…, gst_…). You say
your words first. Then you check theirs.

Without NAME, you are called. The other person says their words first. You say yours only after "Verified".

After that you can type "more" to have the other person confirm one purpose, such as a payment, or "answer" if they
ask you to. Their words are then valid only for you and for this purpose. A guest cannot do this.

  --purpose TEXT   have the other person confirm this purpose. With NAME, this takes the place of their ordinary words.
                   Only letters and digits count. Other users of this machine can read the arguments of a command, so
                   the purpose must not be confidential

The exit code is 0 after "Verified", 10 after "Not verified", and 11 after "Cannot say". With --json, each verdict is
printed as JSON. In a script, use "countersignd code" and "countersignd verify".`,
  examples: {
    call: 'you are called: type the words that the caller says',
    'call Mum': 'you call Mum',
    'call Bank --purpose "pay 12000 to 1234"': 'you call, and ask for words for this purpose only',
  },
  options: { purpose: { type: 'string' } },
  args: [0, 1],
  takes: [['guest code', 'connection']],
  async run(invocation) {
    const { args, options, io, withApi } = invocation
    if (io.stdin.isTTY !== true)
      throw new UsageError(
        '"countersignd call" asks questions, so it needs a terminal. In a script, use "countersignd code" and "countersignd verify".',
      )
    const [id] = args
    const purpose = options['purpose'] as string | undefined
    const contact = id === undefined ? null : await withApi((api) => contactWithId(api, id))
    return withPrompt(io, (prompt) => {
      const call = { invocation, prompt }
      return contact === null ? incoming(call, purpose) : outgoing(call, contact, purpose)
    })
  },
}
