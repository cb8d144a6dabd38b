import { byId } from '../by-id.ts'
import {
  createCommand,
  deleteCommand,
  itemAnswer,
  listCommand,
  updateCommand,
} from '../collection.ts'
import { type Command, UsageError } from '../command.ts'
import {
  span,
  eitherField,
  flagField,
  idsField,
  secondsField,
  textField,
} from '../option-fields.ts'
import { brief, inQuotes } from '../../api/name-text.ts'
import { typedName } from '../table.ts'

const yes = (is: boolean) => (is ? 'yes' : '')

export const presetList = listCommand({
  help: 'Lists your presets, newest first. A preset contains settings for new connections.',
  work: (api, query) => api.presets.list(query),
  heading: ['ID', 'NAME', 'DEFAULT', 'FAVORITE', 'TAGS', 'VALID FOR', 'MESSAGE'],
  row: (preset) => [
    preset.id,
    preset.name,
    yes(preset.is_default),
    yes(preset.favorite),
    String(preset.tag_ids.length),
    preset.invitation_expires_in === null ? '' : span(preset.invitation_expires_in),
    brief(preset.invite_message ?? ''),
  ],
})

const FIELDS = {
  name: textField('name'),
  tag_ids: idsField('tag', 'tag'),
  favorite: flagField('favorite', true),
  invite_message: textField('message'),
  invitation_expires_in: secondsField('expires-in'),
}

const CHANGES = {
  name: FIELDS.name,
  tag_ids: eitherField(FIELDS.tag_ids, flagField('no-tags', [])),
  favorite: eitherField(FIELDS.favorite, flagField('no-favorite', false)),
  invite_message: eitherField(FIELDS.invite_message, flagField('no-message', null)),
  invitation_expires_in: eitherField(
    FIELDS.invitation_expires_in,
    flagField('no-expires-in', null),
  ),
}

const HELP = `
  --name NAME        the name of the preset
  --tag TAG          a tag that each new connection gets; can be given several times
  --favorite         mark each new connection as a favourite
  --message TEXT     the text that invited people see, also in the mail
  --expires-in 7d    how long invitations to the connection are valid: from 1 hour to 30 days. If a preset does not
                     set this, its invitations are valid for 14 days`

export const presetCreate = createCommand({
  usage: '--name NAME [--tag TAG]… [--favorite] [--message TEXT] [--expires-in 7d] [--json]',
  help: `
Creates a preset: settings for new connections. To create a connection with the preset, use
"countersignd connection create --preset PRESET".
${HELP}`,
  examples: {
    'preset create --name Clients --expires-in 7d': 'invitations that end after 7 days',
  },
  fields: FIELDS,
  needed: ['name'],
  work: (api, body) => api.presets.create({ body }),
  shows: itemAnswer,
  next: (preset) =>
    `To use this preset for every new connection: countersignd preset default ${typedName(preset)}`,
})

export const presetUpdate = updateCommand({
  kind: 'preset',
  usage:
    'PRESET [--name NAME] [--tag TAG]… [--favorite] [--message TEXT] [--expires-in 7d] [--no-tags] [--no-favorite] [--no-message] [--no-expires-in] [--json]',
  help: `
Changes a preset. Settings without an option stay unchanged; --tag replaces all tags of the preset. Connections that
were created with the preset keep their tags and their mark as a favourite. Later invitations to these connections
use the changed message and period.
${HELP}

  --no-tags, --no-favorite, --no-message, --no-expires-in   remove the setting from the preset`,
  fields: CHANGES,
  remedy: '"countersignd preset update --help" lists the options.',
  work: (api, id, body) => api.presets.update({ id, body }),
  shows: itemAnswer,
})

export const presetDelete = deleteCommand({
  kind: 'preset',
  help: 'Deletes a preset. Connections that were created with it are kept.',
  work: (api, id) => api.presets.delete({ id }),
})

export const presetDefault: Command = {
  usage: 'PRESET | --none [--json]',
  help: `
Makes a preset the default. Every new connection uses the default preset, unless another preset is given.

  --none   have no default preset`,
  options: { none: { type: 'boolean' } },
  args: [0, 1],
  takes: ['preset'],
  async run({ args: [id], options, withApi, print, say }) {
    if ((id === undefined) !== (options['none'] === true))
      throw new UsageError('Give a preset, or --none to have no default preset.')
    if (id === undefined) {
      await withApi((api) => api.presets.clearDefault({}))
      print({ default: null }, [])
      say('There is no default preset now.')
      return
    }
    const preset = await withApi((api) => byId('preset', () => api.presets.setDefault({ id })))
    print(preset, [])
    say(`${inQuotes(preset.name)} is the default preset now.`)
  },
}
