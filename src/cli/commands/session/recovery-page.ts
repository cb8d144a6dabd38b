/**
 * Shows the words of a recovery key on a terminal, or writes them as a page for printing.
 *
 * A terminal shows them on its alternate screen. The page is one file that has no scripts and loads
 * nothing.
 */
import { AppError } from '../../../errors.ts'
import { html } from '../../../service/pages/document.ts'
import type { Io } from '../../command.ts'
import { escapeMark } from '../../output.ts'
import { canHide } from '../../prompt.ts'

const STYLE = `
  body { font: 12pt/1.5 Georgia, serif; color: #000; background: #fff; max-width: 40em; margin: 2em auto; padding: 0 1em }
  h1 { font-size: 18pt; margin: 0 }
  ol { columns: 2; border: 1px solid; padding: 1em 1em 1em 3em; font: 14pt/1.7 monospace }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1em }
  dd { margin: 0; overflow-wrap: anywhere }
  code { overflow-wrap: anywhere }
  .first { border: 2px solid; padding: .5em 1em }
  @media print { .first { display: none } body { margin: 0 auto } }
  @page { margin: 2cm }
`

/** The data that the page shows. */
interface OnPage {
  readonly words: readonly string[]
  readonly account: string
  readonly kind: 'person' | 'machine'
  readonly email: string | null
  /** The address of the account server. */
  readonly server: string
  /** The time in ISO 8601. The page shows only the day. */
  readonly at: string
}

/** Returns the page as text, to be written as UTF-8. */
export function recoveryPage({ words, account, kind, email, server, at }: OnPage): string {
  const who =
    kind === 'machine' ? '--machine --key-file FILE' : `--email ${email ?? 'YOU@EXAMPLE.ORG'}`
  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta
        http-equiv="Content-Security-Policy"
        content="default-src 'none'; style-src 'unsafe-inline'"
      />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>Recovery key</title>
      <style>
        ${STYLE}
      </style>
    </head>
    <body>
      <p class="first">
        <strong>Print this page, then delete the file.</strong> The words must be on paper only.
        Type them from the printed page when countersignd asks for them. Until then they do not
        work.
      </p>
      <h1>Countersign recovery key</h1>
      <dl>
        <dt>Account</dt>
        <dd>${account}</dd>
        ${
          email === null
            ? ''
            : html`<dt>E-mail</dt>
                <dd>${email}</dd>`
        }
        <dt>Server</dt>
        <dd>${server}</dd>
        <dt>Created</dt>
        <dd>${at.slice(0, 10)}</dd>
      </dl>
      <ol>
        ${words.map((word) => html`<li>${word}</li>`)}
      </ol>
      <h2>What it is for</h2>
      <p>
        If all your devices are lost, or a thief has replaced them, these 24 words recover the
        account on a new device. Your contacts do not have to confirm you again. On the new device,
        run
      </p>
      <p><code>countersignd reset --recovery-key ${who}</code></p>
      <p>
        and type the words when it asks for them. It also needs
        ${kind === 'machine' ? 'the key of the machine' : 'a code that is sent to you by mail'}.
      </p>
      <h2>Where to keep it</h2>
      <p>
        Keep it where you keep your passport, and not near your devices. Do not take a photo of it,
        and do not store it on a computer. No employee, server or web page of Countersign ever asks
        for these words. A thief who has this paper and can read your mail can take over the
        account. If the paper is stolen, run <code>countersignd recovery create</code> immediately.
        That command asks for these words, so keep a second copy, written by hand.
      </p>
    </body>
  </html>`
  return `<!doctype html>\n${page.toString()}\n`
}

/** DEC private mode 1049: the alternate screen. ED and CUP (ECMA-48) clear it. */
const enterScreen = () => `${escapeMark()}[?1049h${escapeMark()}[2J${escapeMark()}[H`
const leaveScreen = () => `${escapeMark()}[?1049l`

/** The signals that would end the program without restoring the terminal. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/**
 * Requires that standard error is a terminal, so that a secret is not written to a file.
 * @throws AppError `invalid_state` if standard error is not a terminal
 */
export function requireScreen({ stderr }: Pick<Io, 'stderr'>): void {
  if (stderr.isTTY !== true)
    throw new AppError(
      'invalid_state',
      'Standard error is redirected to a file or to another program, which would keep the words. Run the command again without redirecting standard error (2>), or use --page FILE to write the words to a page that you can print.',
    )
}

/**
 * Shows a text on the terminal's alternate screen while a function runs.
 *
 * The alternate screen has no scrollback. It is cleared when the function ends, and also when a
 * signal ends the program.
 * @throws AppError as `requireScreen` does
 */
export async function onOwnScreen<T>(
  io: Pick<Io, 'stdin' | 'stderr' | 'env'>,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const { stdin, stderr, env } = io
  requireScreen(io)
  // A dumb terminal has no alternate screen, so the text stays in its scrollback.
  if (env['TERM'] === 'dumb') {
    stderr.write(text)
    return work()
  }
  const leave = () => void stderr.write(leaveScreen())
  function end(signal: NodeJS.Signals): void {
    leave()
    if (canHide(stdin)) stdin.setRawMode(false)
    for (const one of SIGNALS) process.off(one, end)
    process.kill(process.pid, signal)
  }
  for (const signal of SIGNALS) process.on(signal, end)
  stderr.write(enterScreen() + text)
  try {
    return await work()
  } finally {
    leave()
    for (const signal of SIGNALS) process.off(signal, end)
  }
}
