import type { Restored } from '../daemon/restore.ts'
import type { Command } from './command.ts'
import { PASSPHRASE_OPTION, passphraseOf } from './passphrase.ts'

/** What is left for the person to do. */
function adviceFor({ server, account_database: database }: Restored): string {
  if (database === 'postgresql')
    return 'The account database was in PostgreSQL: restore its dump, and set SVC_DATABASE_URL, before you start the daemon.'
  return server === null
    ? 'Start it with "countersignd serve".'
    : `Start it with SVC_BACKEND_URL=${server}; if its session has ended, "countersignd login" gives it a new one.`
}

export const restoreCommand: Command = {
  usage: 'FILE [--passphrase-file FILE] [--json]',
  help: `
Puts a backup that "countersignd backup" wrote into the state folder, which must be new or empty, with no daemon at work there. All of
it, or nothing at all. The secrets go to the keychain of this machine: SVC_KEYCHAIN says which, as at a first start.

One device must not run twice: stop the daemon that the backup is of for good before you start the restored one. What was done after
the backup is not in it: tokens that were revoked since are good again.

  --passphrase-file FILE   a file of mode 0600 with the passphrase, instead of typing it`,
  options: PASSPHRASE_OPTION,
  args: [1, 1],
  async run(invocation) {
    const { args, config, print, say } = invocation
    const [path = ''] = args
    const settings = config()
    const { demandEmpty, restore } = await import('../daemon/restore.ts')
    demandEmpty(settings.stateDir)
    const passphrase = await passphraseOf(invocation, false)
    const restored = await restore(settings, path, passphrase)
    const { created_at: at, account } = restored
    print({ state_dir: settings.stateDir, ...restored }, settings.stateDir)
    say(
      `Restored ${account === null ? 'a device where nobody was signed in' : account} as it was at ${at}. ${adviceFor(restored)}\n` +
        'The device that the backup is of must not run any more. Look through "countersignd token list": what was revoked after the backup is good again.',
    )
  },
}
