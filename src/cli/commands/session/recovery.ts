/**
 * Creates a recovery key on paper.
 *
 * The command line creates the words. The daemon, which signs the key log entry, receives only the
 * public key, and only after the user has typed the words from the paper.
 */
import { rm } from 'node:fs/promises'
import type { RecoveryKey } from '../../../api/local/recovery.ts'
import type { KeyPair } from '../../../crypto/device-keys.ts'
import { vouchFor } from '../../../crypto/logs/key-log-entries.ts'
import { newRecoverySeed, paperWords, recoveryKeyOf } from '../../../crypto/recovery-paper.ts'
import { AppError, type ErrorCode } from '../../../errors.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { requireNew, writeNew } from '../../new-file.ts'
import { onOwnScreen, requireScreen, recoveryPage } from './recovery-page.ts'
import { readPaper, readPaperWords } from './paper-words.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

const NOTHING = 'The recovery key of the account did not change.'

const REPLACES = (since: string | null) => `
The account already has a recovery key${since === null ? '' : `, since ${since.slice(0, 10)}`}. To replace it, you need its 24 words.
If you have lost that paper, only "countersignd reset" without --recovery-key removes the key. Such a reset revokes
all your devices except one, and all your contacts have to confirm you again.

Type the 24 words of the current recovery key, any number of words per line. What you type is not shown.
`

const READ_BACK = `
Now type the words as you read them on the paper, any number of words per line. What you type is not shown.
The recovery key becomes valid only after that.
`

/** Returns the words in four columns, to be read row by row. */
const rowsOf = (words: readonly string[]): string =>
  Array.from({ length: words.length / 4 }, (_, row) =>
    words
      .slice(4 * row, 4 * row + 4)
      .map((word, at) => `${String(4 * row + at + 1).padStart(4)}. ${word.padEnd(10)}`)
      .join('')
      .trimEnd(),
  ).join('\n')

const screenOf = (words: readonly string[]) => `
The recovery key of your account. Write down all 24 words with a pen:

${rowsOf(words)}

They are shown only once. A thief who has these words and can read your mail can take over the account.
Do not take a photo, and keep the paper away from your devices.

`

type Running = Pick<Invocation, 'io' | 'withApi' | 'say' | 'options' | 'json'> & {
  readonly prompt: Prompt
}

/**
 * Returns the recovery key of the paper to be replaced; null if no recovery key is active.
 * @throws AppError `invalid_state` if the words are from another paper
 */
async function replaced({ io, prompt }: Running, seen: RecoveryKey): Promise<KeyPair | null> {
  if (seen.key === null) return null
  if (prompt.isTerminal) io.stderr.write(`${REPLACES(seen.since)}\n`)
  const otherwise = `The account already has a recovery key, and its 24 words are needed to replace it. ${NOTHING}`
  const old = await readPaper({ io, prompt, otherwise })
  if (old.jwk.x === seen.key.x) return old
  throw new AppError(
    'invalid_state',
    `These are not the words of the current recovery key. ${NOTHING} Use the newest paper of this account.`,
    { details: { state: 'other_recovery_key' } },
  )
}

/** Shows the words at a terminal until the user has written them down. */
const shownTo = ({ io, prompt }: Running, words: readonly string[]) =>
  onOwnScreen(io, screenOf(words), async () => {
    if ((await prompt.askUnseen('Press Enter when you have written them down. ')) !== null) return
    throw new AppError('invalid_state', `The words were not written down. ${NOTHING}`)
  })

/** Writes the page for printing. */
async function pageFor(running: Running, words: readonly string[], path: string): Promise<void> {
  const [{ user }, { backend }, { next }] = await running.withApi((api) =>
    Promise.all([api.context.read({}), api.status.read({}), api.recovery.read({})]),
  )
  const { email, kind } = user
  const at = new Date().toISOString()
  const page = recoveryPage({ words, account: next.account, kind, email, server: backend, at })
  const bytes = (async function* () {
    yield Buffer.from(page)
  })()
  await writeNew(path, bytes, '--page')
  running.say(`Wrote ${path}. Print it, then delete it: the words must be on paper only.`)
}

/**
 * Shows the words or writes the page, and then checks the words that the user types from the paper.
 */
async function onPaper(running: Running, words: readonly string[]): Promise<void> {
  const { io, prompt, options } = running
  const page = options['page'] === undefined ? null : String(options['page'])
  const show = async () => {
    if (page !== null) return
    if (prompt.isTerminal) await shownTo(running, words)
    else io.stdout.write(`${words.join(' ')}\n`)
  }
  if (page !== null) await pageFor(running, words, page)
  await show()
  if (prompt.isTerminal) {
    io.stderr.write(
      `${READ_BACK}${page === null ? 'To see the words again, press Enter.\n' : ''}\n`,
    )
  }
  const belongs = (word: string, at: number) => words[at] === word
  try {
    await readPaperWords({ io, prompt, otherwise: NOTHING }, { belongs, empty: show })
  } catch (error) {
    // The words on the page did not become active, so the page is deleted.
    if (page !== null) await rm(page, { force: true })
    throw error
  }
}

/** The maximum number of attempts. An attempt fails if another device changes the key log first. */
const ATTEMPTS = 5

const UNSURE: readonly ErrorCode[] = ['backend_unavailable', 'backend_timeout', 'backend_error']

const unsure = (cause: AppError) =>
  new AppError(
    cause.code,
    `${cause.message} The new recovery key may be valid anyway. Keep both papers until "countersignd whoami" shows the date of the current recovery key.`,
    { cause },
  )

/** Activates the new key in place of the old one. */
async function put({ withApi }: Running, key: KeyPair, old: KeyPair | null): Promise<RecoveryKey> {
  for (let attempt = 1; ; attempt++) {
    const { key: inForce, next } = await withApi((api) => api.recovery.read({}))
    if ((inForce?.x ?? null) !== (old?.jwk.x ?? null))
      throw new AppError(
        'conflict',
        'Another device of the account created a recovery key at the same time, and that key is valid. Destroy the paper that you have just written.',
      )
    const entry = { op: 'recovery', ...next, key: key.jwk } as const
    const vouched = old === null ? {} : { recovery_sig: vouchFor(entry, old) }
    const body = { key: key.jwk, seq: next.seq, ...vouched }
    try {
      return await withApi((api) => api.recovery.create({ body }))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (UNSURE.includes(error.code)) throw unsure(error)
      if (error.code !== 'conflict' || attempt === ATTEMPTS) throw error
    }
  }
}

export const recoveryCreate: Command = {
  usage: '[--page FILE] [--json]',
  help: `
Creates a recovery key: 24 words that are shown once, for you to write on paper. If all devices are lost,
"countersignd reset --recovery-key" recovers the account with these words and a code that is mailed to you, and no
contact has to confirm the account again. With these words you can also undo a reset by a thief who did not have
them.

  --page FILE   write the words to a page for printing (mode 0600), and show them nowhere else. Delete the file
                after printing it

The command then asks you to type the new words from the paper. The recovery key becomes valid only after you have
typed them correctly.

If the account already has a recovery key, the command first asks for the words of the current key. If you have lost
the paper of the current key, remove the key with "countersignd reset" without --recovery-key. All contacts must then
confirm the account again.

Without a terminal, standard input must contain the words of the current recovery key, if there is one, followed by
the new words. The command prints the new words as one line on standard output or, with --page, writes them to the page.`,
  examples: {
    'recovery create': 'show 24 words, to write on paper',
  },
  options: { page: { type: 'string' } },
  args: [0, 0],
  run: (invocation) =>
    withPrompt(invocation.io, async (prompt) => {
      const { options, json, withApi, print, say } = invocation
      const { page } = options
      if (page !== undefined) requireNew(String(page), '--page')
      if (json && page === undefined && !prompt.isTerminal)
        throw new UsageError(
          'Without a terminal, --json can only be used with --page, because both the words and the JSON would go to standard output.',
        )
      // Check this before the user types the old words.
      if (page === undefined && prompt.isTerminal) requireScreen(invocation.io)
      const running = { ...invocation, prompt }
      const old = await replaced(running, await withApi((api) => api.recovery.read({})))
      const seed = newRecoverySeed()
      await onPaper(running, paperWords(seed))
      const after = await put(running, recoveryKeyOf(seed), old)
      print(after, [])
      say(
        old === null
          ? 'The recovery key is valid. Keep the paper where you keep your passport.'
          : 'The new recovery key is valid. Destroy the old paper, which no longer works.',
      )
      if (page !== undefined) say(`Delete ${String(page)} now.`)
    }),
}

export const recoveryDismiss: Command = {
  usage: '[--json]',
  help: `
Dismisses, on this device only, the notice that another device set a recovery key. Do this only if you set the
recovery key yourself: a thief with an unlocked device of yours can also set a recovery key. If another recovery key
is set later, there is a new notice.`,
  args: [0, 0],
  async run({ withApi, print, say }) {
    const answer = await withApi((api) => api.recovery.dismiss({}))
    print(answer, [])
    say(
      answer.dismissed === null
        ? 'There is no notice about a recovery key.'
        : `Dismissed: ${shown(answer.dismissed)}`,
    )
  },
}
