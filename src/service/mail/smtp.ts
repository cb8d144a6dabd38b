/**
 * Sends mail through a relay (RFC 5321). Callers wait for the result, so the timeouts for a silent
 * or slow relay are short.
 */
import { createTransport } from 'nodemailer'
import type { Relay } from '../../config/relay.ts'
import { AppError } from '../../errors.ts'
import { composed, type OutgoingLetter, type MailSender } from './mailer.ts'

/** The maximum time without data from the relay, in milliseconds. */
const PATIENCE_MS = 10_000

/** The maximum time for sending one mail, in milliseconds. */
const DEADLINE_MS = 25_000

export function mailBySmtp(
  of: { relay: Relay; from: string; now: () => number },
  deadlineMs = DEADLINE_MS,
): MailSender {
  const { relay, from, now } = of
  const { host, port, secure, requireTLS, auth } = relay
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS,
    // Relays on loopback often offer STARTTLS without a valid certificate, so it is used only if
    // required.
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

/**
 * Returns the error for the caller. The relay's reply determines whether trying again can help (RFC
 * 5321 section 4.2.1: 5yz is permanent).
 */
function notSent(error: unknown, cause: string): AppError {
  if ((error as { permanent?: boolean }).permanent === true)
    return new AppError(
      'backend_error',
      'The mail could not be sent, because the mail relay refused it. Check the address. If it is right, the operator of this account ' +
        'server finds the reason in its log.',
      { cause },
    )
  return new AppError(
    'backend_unavailable',
    'The mail could not be sent at the moment. Try again later.',
    { cause },
  )
}

/**
 * The shortest piece of a mail that is removed, in characters. Shorter pieces contain no code or
 * link.
 */
const SHORTEST = 8

/**
 * Removes the mail's text from a relay's error, because the mail contains codes and links. A relay
 * may quote lines of the encoded mail (quoted-printable, RFC 2045 section 6.7), so the text is
 * compared piece by piece.
 */
const withoutMail = (reply: string, { text }: OutgoingLetter): string =>
  reply
    .split(/([\s=]+)/)
    .map((piece) => (piece.length >= SHORTEST && text.includes(piece) ? '[mail]' : piece))
    .join('')

/**
 * Returns a function that converts an error to a line for the log. It removes credentials, which a
 * relay may quote. It leaves out the stack, which only points into the library.
 */
function newCensor({ auth }: Relay): (error: unknown) => string {
  const plain = auth === null ? [] : [auth.user, auth.pass]
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  // The encoding of both credentials in SASL PLAIN (RFC 4616 section 2).
  const both = auth === null ? [] : [base64(`\0${auth.user}\0${auth.pass}`)]
  const secrets = [...both, ...plain, ...plain.map(encodeURIComponent), ...plain.map(base64)]
  return (error) => {
    const message = error instanceof Error ? error.message : String(error)
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), message)
  }
}
