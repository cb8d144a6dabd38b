/** Mail through a relay (RFC 5321). Somebody waits for an answer meanwhile, so a relay that is silent is given up soon. */
import { createTransport } from 'nodemailer'
import { AppError } from '../../errors.ts'
import { composed, type Mail } from './mail.ts'

const PATIENCE_MS = 10_000

/**
 * @param of `url`: `smtp:` or `smtps:` with host, and with user and password where the relay asks for them
 */
export function mailBySmtp(of: { url: string; from: string; now: () => number }): Mail {
  const { url, from, now } = of
  const relay = createTransport({
    url,
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    dnsTimeout: PATIENCE_MS,
  })
  const withoutSecrets = newCensor(url)
  return {
    send: async (message) => {
      try {
        await relay.sendMail(composed(message, from, now()))
      } catch (error) {
        throw new AppError(
          'backend_unavailable',
          'The mail could not be sent: try again in a while.',
          { cause: withoutSecrets(error) },
        )
      }
    },
  }
}

/** The log gets the cause of a failure, in which a relay may quote what it was told. */
function newCensor(url: string): (error: unknown) => Error {
  const { username, password } = new URL(url)
  const plain = [username, password].map(decodeURIComponent)
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const secrets = [
    ...plain,
    username,
    password,
    ...plain.map(base64),
    // RFC 4616 section 2
    base64(`\0${plain.join('\0')}`),
  ].filter((text) => text !== '')
  return (error) => {
    const said = error instanceof Error ? error.message : String(error)
    return new Error(secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), said))
  }
}
