/** `config show`: the settings, their values, and where each of them is set. */
import { ENVIRONMENT_URL } from '../../config/accounts.ts'
import { type ConfigSurvey, surveyConfig } from '../../config/config.ts'
import { NAMED_SERVER } from '../../config/setting-names.ts'
import { SETTINGS, type Setting } from '../../config/settings.ts'
import { type InstanceFolders, isForSystem } from '../system-instance.ts'
import { EXIT } from '../../errors.ts'
import type { Command } from '../command.ts'
import { table } from '../table.ts'

interface ShownSetting {
  readonly name: string
  /** The value as it was set; null if it is not set or not shown. */
  readonly value: string | null
  /** Whether the value is set but not shown, because it may contain a secret. */
  readonly secret: boolean
  readonly source: 'environment' | 'file' | 'default'
  readonly file: string | null
  readonly line: number | null
}

/** The settings without a row in the list, because their names contain the name of a server. */
const namedServers = ({ values }: ConfigSurvey): Setting[] =>
  Object.keys(values)
    .filter((name) => ENVIRONMENT_URL.test(name))
    .toSorted()
    .map((name) => ({ name, byDefault: null, meaning: '', isSecret: false }))

/**
 * Matches a URL that may have a password or a key in its query, also one that a parser reads
 * without its two slashes.
 */
const MAYBE_SECRET = /^[a-z][a-z\d+.-]+:.*[@?]/i

/**
 * Whether a value is not shown: the setting is a secret, the value looks like a URL that contains
 * one, or a secret stands where the path of its file should.
 */
const isHidden = ({ name, isSecret }: Setting, value: string): boolean =>
  isSecret ||
  MAYBE_SECRET.test(value) ||
  (name.endsWith('_FILE') && !/^([/\\]|[A-Za-z]:)/.test(value))

function shownSetting(setting: Setting, { values, places }: ConfigSurvey): ShownSetting {
  const { name } = setting
  const value = values[name] || null
  const place = places.get(name)
  const secret = value !== null && isHidden(setting, value)
  return {
    name,
    value: secret ? null : value,
    secret,
    source: place !== undefined ? 'file' : values[name] === undefined ? 'default' : 'environment',
    file: place?.path ?? null,
    line: place?.line ?? null,
  }
}

function rowOf(
  { name, value, secret, source, file, line }: ShownSetting,
  defaults: ReadonlyMap<string, string>,
): string[] {
  const shown = secret ? '(set; not shown)' : (value ?? defaults.get(name) ?? 'none')
  return [name, shown, file === null ? source : `${file}:${line}`]
}

const FILE_NOTES = {
  read: (path: string) => `${path} was read.`,
  absent: (path: string) => `There is no ${path}.`,
  unreadable: (path: string) => `This user may not read ${path}, so its settings do not apply.`,
  refused: (path: string) => `${path} was refused, so its settings do not apply.`,
} as const

/** Returns what a person needs besides the table. */
function notesOf({ files, config }: ConfigSurvey): string[] {
  const { stateDir, system } = config
  const place: InstanceFolders | null =
    stateDir === undefined || system === undefined ? null : { stateDir, system }
  return [
    ...files.map(({ path, state }) => FILE_NOTES[state](path)),
    ...files.flatMap(({ path, others }) =>
      others.length === 0
        ? []
        : [`Only systemd passes these lines of ${path} on to the program: ${others.join(', ')}.`],
    ),
    ...(place !== null && isForSystem(place)
      ? [
          'These are the settings of commands. The service of this machine also has those of its unit and of its own state folder.',
        ]
      : []),
  ]
}

export const configShow: Command = {
  usage: '[--json]',
  help: `
Shows every setting, its value, and where it is set: in the environment, in a line of a file, or nowhere
("default"). Values that may contain a password, a token or a key are not shown. The files are countersignd.env in the
state folder, and one for all users of the machine. The environment comes first, then the file in the state folder.

If a setting is wrong, the exit code is 3, and standard error has every fault.`,
  examples: {
    'config show': 'show all settings',
    'config show --json': 'print the settings and their files for a script',
  },
  args: [0, 0],
  async run({ io, print, say }) {
    const survey = surveyConfig(io.env, io.machine)
    const { files, faults, config } = survey
    const listed = SETTINGS.filter(({ name }) => name !== NAMED_SERVER)
    const settings = [...listed, ...namedServers(survey)].map((one) => shownSetting(one, survey))
    const defaults = new Map(
      SETTINGS.flatMap(({ name, byDefault }) =>
        byDefault === null ? [] : [[name, byDefault.replaceAll('`', '')] as const],
      ),
    )
    if (config.stateDir !== undefined) defaults.set('SVC_STATE_DIR', config.stateDir)
    const report = {
      ok: faults.length === 0,
      settings,
      files: files.map(({ path, state, others }) => ({ path, state, others })),
      faults: faults.map(({ message }) => message),
    }
    const rows = settings.map((setting) => rowOf(setting, defaults))
    print(report, await table(['SETTING', 'VALUE', 'SOURCE'], rows))
    say(notesOf(survey).join('\n'))
    for (const { message } of faults) io.stderr.write(`countersignd: ${message}\n`)
    return faults.length === 0 ? EXIT.ok : EXIT.configuration
  },
}
