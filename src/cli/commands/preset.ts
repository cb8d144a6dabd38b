import { every } from '../../api/cursor.ts'
import type { Preset } from '../../api/rest/presets.ts'
import { byId, readId } from '../by-id.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { parseSeconds, span } from '../duration.ts'
import { brief, shown, table } from '../table.ts'

const lineOf = ({ id, name }: Pick<Preset, 'id' | 'name'>) => `${id}  ${shown(name)}`

const yes = (is: boolean) => (is ? 'yes' : '')

export const presetList: Command = {
  usage: '[--json]',
  help: 'Lists your presets, newest first: what a new connection begins with.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.presets.list(query)))
    print(
      { items },
      await table(
        ['ID', 'NAME', 'DEFAULT', 'FAVORITE', 'TAGS', 'GOOD FOR', 'MESSAGE'],
        items.map((preset) => [
          preset.id,
          preset.name,
          yes(preset.is_default),
          yes(preset.favorite),
          String(preset.tag_ids.length),
          preset.invitation_expires_in === null ? '' : span(preset.invitation_expires_in),
          brief(preset.invite_message ?? ''),
        ]),
      ),
    )
  },
}

const OPTIONS = {
  name: { type: 'string' },
  tag: { type: 'string', multiple: true },
  favorite: { type: 'boolean' },
  message: { type: 'string' },
  'expires-in': { type: 'string' },
} as const

const WITHOUT = {
  'no-tags': { type: 'boolean' },
  'no-favorite': { type: 'boolean' },
  'no-message': { type: 'boolean' },
  'no-expires-in': { type: 'boolean' },
} as const

const HELP = `
  --name NAME        the name of the preset
  --tag ID           a tag that the connection gets; may be given several times
  --favorite         the connection is a favourite
  --message TEXT     the text for invited people, also in the mail
  --expires-in 7d    how long an invitation to it is good, from an hour to 30 days; by default 14 days`

/**
 * Returns the fields that the options change; a field without an option is absent.
 * @throws UsageError if an option and its `--no-` form are both given
 */
function changesOf(options: Invocation['options']) {
  const { name, favorite, message, 'expires-in': lifetime } = options
  // An option with `multiple` is a list.
  const tags = options['tag'] as unknown as readonly string[] | undefined
  for (const [some, none] of [
    ['tag', 'no-tags'],
    ['favorite', 'no-favorite'],
    ['message', 'no-message'],
    ['expires-in', 'no-expires-in'],
  ] as const)
    if (options[some] !== undefined && options[none] === true)
      throw new UsageError(`Give either --${some} or --${none}, not both.`)
  return {
    ...(name === undefined ? {} : { name: String(name) }),
    ...(tags === undefined ? {} : { tag_ids: tags.map((tag) => readId('tag', tag)) }),
    ...(options['no-tags'] === true ? { tag_ids: [] } : {}),
    ...(favorite === undefined ? {} : { favorite: true }),
    ...(options['no-favorite'] === true ? { favorite: false } : {}),
    ...(message === undefined ? {} : { invite_message: String(message) }),
    ...(options['no-message'] === true ? { invite_message: null } : {}),
    ...(lifetime === undefined
      ? {}
      : { invitation_expires_in: parseSeconds('expires-in', String(lifetime)) }),
    ...(options['no-expires-in'] === true ? { invitation_expires_in: null } : {}),
  }
}

export const presetCreate: Command = {
  usage: '--name NAME [--tag ID]… [--favorite] [--message TEXT] [--expires-in 7d] [--json]',
  help: `
Creates a preset: what a connection begins with that is made with it ("countersignd connection create --preset ID").
${HELP}`,
  options: OPTIONS,
  args: [0, 0],
  async run({ options, withApi, print, say }) {
    const { name, ...more } = changesOf(options)
    if (name === undefined) throw new UsageError('--name is missing: the name of the preset.')
    const made = await withApi((api) => api.presets.create({ body: { name, ...more } }))
    print(made, lineOf(made))
    say(`To have every new connection begin with it: countersignd preset default ${made.id}`)
  },
}

export const presetUpdate: Command = {
  usage:
    'ID [--name NAME] [--tag ID]… [--favorite] [--message TEXT] [--expires-in 7d] [--no-tags] [--no-favorite] [--no-message] [--no-expires-in] [--json]',
  help: `
Changes a preset. Connections that were made with it stay as they are; later invitations to them use the changed preset.
${HELP}

  --no-tags, --no-favorite, --no-message, --no-expires-in   without it from now on`,
  options: { ...OPTIONS, ...WITHOUT },
  args: [1, 1],
  async run({ args: [id = ''], options, withApi, print }) {
    const body = changesOf(options)
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'Nothing to change was given: "countersignd preset update --help" lists the options.',
      )
    const preset = await withApi((api) =>
      byId('preset', id, () => api.presets.update({ id, body })),
    )
    print(preset, lineOf(preset))
  },
}

export const presetDelete: Command = {
  usage: 'ID [--json]',
  help: 'Deletes a preset. Connections that were made with it stay as they are.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await withApi((api) => byId('preset', id, () => api.presets.delete({ id })))
    print({ id, state: 'deleted' }, [])
    say(`Deleted ${id}.`)
  },
}

export const presetDefault: Command = {
  usage: 'ID | --none [--json]',
  help: `
Makes a preset the default, which every new connection begins with unless another is named.

  --none   have no default any more`,
  options: { none: { type: 'boolean' } },
  args: [0, 1],
  async run({ args: [id], options, withApi, print, say }) {
    if ((id === undefined) !== (options['none'] === true))
      throw new UsageError('Give the id of a preset, or --none to have no default.')
    if (id === undefined) {
      await withApi((api) => api.presets.clearDefault({}))
      print({ default: null }, [])
      say('No preset is the default.')
      return
    }
    const preset = await withApi((api) => byId('preset', id, () => api.presets.setDefault({ id })))
    print(preset, [])
    say(`"${shown(preset.name)}" is the default.`)
  },
}
