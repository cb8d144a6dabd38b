/**
 * Checks where the embedded account server sends mail, and the settings of the assistant.
 *
 * The only network access is a connection to the mail relay.
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { relayOf } from '../../config/relay.ts'
import { readPrivate } from '../../keychain/private-file.ts'
import { type Finding, fail, ok, shellQuoted, messageOf } from './finding.ts'
import { type DoctorCheck } from './check.ts'
import { isTaken } from './ports.ts'

const NAME = 'mail'

const nearest = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearest(dirname(path))

function folder(dir: string): Finding {
  const there = nearest(dir)
  try {
    accessSync(there, constants.W_OK | constants.X_OK)
    return ok(
      NAME,
      `mail is written to files in ${dir}${there === dir ? '' : ', which is created with the first mail'}`,
    )
  } catch (error) {
    return fail(
      NAME,
      `this user cannot write to ${there} (${(error as NodeJS.ErrnoException).code}), so no mail can be sent`,
      `chmod u+rwx ${shellQuoted(there)}, or set SVC_MAIL_DIR to another folder.`,
    )
  }
}

async function relay(url: string): Promise<Finding> {
  const { host, port } = relayOf(url)
  return (await isTaken(host, port))
    ? ok(NAME, `the mail relay ${host}:${port} accepts connections`)
    : fail(
        NAME,
        `the mail relay ${host}:${port} cannot be reached`,
        `Check SVC_SMTP_URL and the network: nc -vz ${host} ${port}`,
      )
}

export const mailCheck: DoctorCheck = {
  name: NAME,
  async run({ config }) {
    if (config.backendUrl !== null || config.mail === undefined) return []
    const { place } = config.mail
    return ['dir' in place ? folder(place.dir) : await relay(place.smtp)]
  },
}

/** Reads the key file as each question to the assistant does. Neither key nor address is shown. */
export const assistantCheck: DoctorCheck = {
  name: 'assistant',
  run({ config }) {
    if (config.backendUrl !== null || config.assistant == null) return []
    const { keyFile } = config.assistant
    const name = 'assistant'
    if (keyFile === null) return [ok(name, 'configured, without a key')]
    try {
      const key = readPrivate(keyFile)?.trim()
      if (key === undefined)
        return [
          fail(
            name,
            'the file that SVC_ASSISTANT_KEY_FILE names does not exist',
            'Write the key to that file, with mode 0600.',
          ),
        ]
      return /^[\x21-\x7e]{1,4096}$/.test(key)
        ? [ok(name, 'configured, with a key')]
        : [
            fail(
              name,
              'the file that SVC_ASSISTANT_KEY_FILE names must contain only the key',
              'Write the key to that file, and nothing else.',
            ),
          ]
    } catch (error) {
      return [
        fail(
          name,
          messageOf(error),
          'The file must belong to this user and be closed to others: chmod 600 "$SVC_ASSISTANT_KEY_FILE"',
        ),
      ]
    }
  },
}
