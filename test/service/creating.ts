/**
 * A child process that creates guest codes until it is killed. It prints each after the server’s
 * answer. Argument: the database file. Output: one id on each line.
 */
import { newId } from '../../src/crypto/encoding/id.ts'
import { enrol } from './person.ts'
import { openSubject } from './subject.ts'

async function main(file: string) {
  const { server, clock } = await openSubject({ url: null, file })
  const { account } = await enrol(server)
  const say = (line: string) =>
    new Promise<void>((resolve) => process.stdout.write(`${line}\n`, () => resolve()))
  const expires_at = new Date(clock.ms + 60_000).toISOString()
  for (;;) {
    const id = newId('gst_', Date.now())
    await account.deviceGuestCodes.create({ body: { id, label: 'Plumber', expires_at } })
    await say(id)
  }
}

void main(process.argv[2]!)
