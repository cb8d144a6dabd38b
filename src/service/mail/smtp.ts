/**
 * Mail through a relay (RFC 5321). Somebody waits for an answer meanwhile, so a relay that is silent is given up soon, and one
 * that talks on and on a little later.
 */
import { createTransport } from 'nodemailer'
import type { Relay } from '../../config/relay.ts'
import { AppError } from '../../errors.ts'
import { composed, type Mail, type Message } from './mailer.ts'

/** How long a relay may say nothing. */
const PATIENCE_MS = 10_000

/** How long it may take over a mail, whatever it says meanwhile. */
const DEADLINE_MS = 25_000

export function mailBySmtp(
  of: { relay: Relay; from: string; now: () => number },
  deadlineMs = DEADLINE_MS,
): Mail {
  const { relay, from, now } = of
  const { host, port, secure, requireTLS, auth } = relay
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS,
    // Many a relay offers on loopback too what it has no good certificate for.
    ignoreTLS: !requireTLS,
    ...(auth === null ? {} : { auth }),
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    dnsTimeout: PATIENCE_MS,
  })
  const withoutSecrets = newCensor(relay)
  return {
    send: async (message) => {
      try {
        const signal = AbortSignal.timeout(deadlineMs)
        await transport.sendMail({ ...composed(message, from, now()), signal })
      } catch (error) {
        throw notSent(error, withoutMail(withoutSecrets(error), message))
      }
    },
  }
}

/** What a caller is told. Whether to try again is the relay's to say (RFC 5321 section 4.2.1: 5yz is for good). */
function notSent(error: unknown, cause: string): AppError {
  if ((error as { permanent?: boolean }).permanent === true)
    return new AppError(
      'backend_error',
      'The mail could not be sent: the mail relay refused it. Check the address; if it is right, the operator of this account ' +
        'server finds the reason in its log.',
      { cause },
    )
  return new AppError(
    'backend_unavailable',
    'The mail could not be sent at the moment: try again in a while.',
    { cause },
  )
}

/** As little of a mail is no code or link. */
const SHORTEST = 8

/** Nor what a relay quotes of the mail, in the lines into which it was broken (RFC 2045 section 6.7): codes and links are in there. */
const withoutMail = (said: string, { text }: Message): string =>
  said
    .split(/([\s=]+)/)
    .map((piece) => (piece.length >= SHORTEST && text.includes(piece) ? '[mail]' : piece))
    .join('')

/**
 * The log gets the cause of a failure, in which a relay may quote what it was told; as a line, because where in a library it
 * came up helps nobody.
 */
function newCensor({ auth }: Relay): (error: unknown) => string {
  const plain = auth === null ? [] : [auth.user, auth.pass]
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  // RFC 4616 section 2
  const both = auth === null ? [] : [base64(`\0${auth.user}\0${auth.pass}`)]
  const secrets = [...both, ...plain, ...plain.map(encodeURIComponent), ...plain.map(base64)]
  return (error) => {
    const said = error instanceof Error ? error.message : String(error)
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), said)
  }
}
