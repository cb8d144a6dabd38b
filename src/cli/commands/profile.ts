import type { Profile } from '../../api/rest/profiles.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { shown } from '../table.ts'

function lines({ display_name, handle, headline, public_code }: Profile): string[] {
  const rows: (readonly [name: string, value: string | null])[] = [
    ['name', display_name],
    ['handle', handle],
    ['headline', headline],
    ['words', public_code && `${public_code.words}  (until ${public_code.valid_until})`],
  ]
  return rows.flatMap(([name, value]) =>
    value === null ? [] : [`${name.padEnd(8)}  ${shown(value)}`],
  )
}

export const profileCommand: Command = {
  usage: '[--json]',
  help: 'Shows your profile; with the public code on ("countersignd preferences set"), also the current words of the public code.',
  args: [0, 0],
  async run({ withApi, print }) {
    const profile = await withApi((api) => api.profile.read({}))
    print(profile, lines(profile))
  },
}

/**
 * Returns the new value of a text: the option’s value, null for `--no-…`, undefined for no
 * change.
 * @throws UsageError if both are given
 */
function textOf(options: Invocation['options'], name: string): string | null | undefined {
  const { [name]: text, [`no-${name}`]: none } = options
  if (text !== undefined && none === true)
    throw new UsageError(`Give either --${name} or --no-${name}.`)
  if (none === true) return null
  return text === undefined ? undefined : String(text)
}

export const profileSet: Command = {
  usage: '[--name NAME] [--handle HANDLE | --no-handle] [--headline TEXT | --no-headline] [--json]',
  help: `
Changes your profile; the rest stays. The name and the handle are visible to all who know the id of your account.

  --name NAME       your name
  --handle HANDLE   a name that is unique on this server: 3 to 40 of a-z, 0-9 and -
  --headline TEXT   a line about you`,
  options: {
    name: { type: 'string' },
    handle: { type: 'string' },
    'no-handle': { type: 'boolean' },
    headline: { type: 'string' },
    'no-headline': { type: 'boolean' },
  },
  args: [0, 0],
  async run({ options, withApi, print }) {
    const [handle, headline] = [textOf(options, 'handle'), textOf(options, 'headline')]
    const body = {
      ...(options['name'] === undefined ? {} : { display_name: String(options['name']) }),
      ...(handle === undefined ? {} : { handle }),
      ...(headline === undefined ? {} : { headline }),
    }
    if (Object.keys(body).length === 0)
      throw new UsageError('Nothing to change was given: use --name, --handle or --headline.')
    const profile = await withApi((api) => api.profile.update({ body }))
    print(profile, lines(profile))
  },
}
