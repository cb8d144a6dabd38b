/**
 * The list of all settings: the documents and the man pages are made from it or compared with it.
 *
 * The modules beside this one read and check the values.
 */
import { RETENTION_SETTINGS } from './retention.ts'
import { NAMED_SERVER, type OwnSetting, SECRET_SETTINGS, SETTING_NAMES } from './setting-names.ts'

interface SettingText {
  /** What the setting decides. Code and values are in backticks. */
  readonly meaning: string
  /** The value or the rule that applies if the setting is not set; null if there is none. */
  readonly byDefault: string | null
}

export interface Setting extends SettingText {
  readonly name: string
  /** Whether the value may contain a password, a token or a key, so that it is never shown. */
  readonly isSecret: boolean
}

const AS_POSTGRESQL = 'as PostgreSQL is configured'

const OWN: Readonly<Record<OwnSetting, SettingText>> = {
  SVC_HTTP_BIND: {
    byDefault: '`127.0.0.1`',
    meaning: 'the address that the API listens on: a literal loopback address',
  },
  SVC_HTTP_PORT: {
    byDefault: '`19821`',
    meaning:
      'the port of the API. With port 0 the daemon uses any free port and prints it. `off`: no port; the API has only a Unix socket',
  },
  SVC_HTTP_SOCKET: {
    byDefault: null,
    meaning:
      'the absolute path of a Unix socket, on which the API listens too. Its folder must belong to the user of the daemon or to root, and no other user may write there. Not on Windows',
  },
  SVC_HTTP_SOCKET_GROUP: {
    byDefault: null,
    meaning:
      'the group, as name or gid, that may connect to this socket and so create tokens. Without it, only the user of the daemon and root may connect',
  },
  SVC_STATE_DIR: {
    byDefault: "`$STATE_DIRECTORY`, else the platform's state folder + `/countersign`",
    meaning:
      'the state folder, which contains all files of the daemon. A user without a home folder, as in many containers, must set it',
  },
  SVC_ENV: {
    byDefault: '`embedded`',
    meaning:
      'which account server to use: `embedded` (inside the daemon), or a name that `SVC_ENV_<NAME>_URL` gives an address',
  },
  [NAMED_SERVER]: {
    byDefault: null,
    meaning: 'the address of the account server that `SVC_ENV=<name>` selects',
  },
  SVC_BACKEND_URL: {
    byDefault: 'from `SVC_ENV`',
    meaning:
      'the address of the account server: exactly its `SVC_PUBLIC_URL`. Must be https unless it is a loopback address',
  },
  SVC_CA_FILE: {
    byDefault: null,
    meaning:
      "a PEM file with an additional certificate authority for the account server's certificate",
  },
  SVC_ACCOUNT_BIND: {
    byDefault: '`127.0.0.1`',
    meaning:
      'the address that the account server listens on: `countersignd server` or the account server inside the daemon',
  },
  SVC_ACCOUNT_PORT: {
    byDefault: '`19822`',
    meaning: 'the port of the account server',
  },
  SVC_PUBLIC_URL: {
    byDefault: 'from bind and port',
    meaning: 'the address with which links begin. Must be https unless it is a loopback address',
  },
  SVC_DATABASE_URL: {
    byDefault: 'SQLite in the state folder',
    meaning: "`postgres://…` for the account server's database",
  },
  SVC_DATABASE_URL_FILE: {
    byDefault: null,
    meaning: 'a file with this URL, instead of the setting',
  },
  SVC_DATABASE_POOL_SIZE: {
    byDefault: '`10`',
    meaning: 'the maximum number of connections to PostgreSQL, from 1 to 1000',
  },
  SVC_DATABASE_LOCK_TIMEOUT_MS: {
    byDefault: AS_POSTGRESQL,
    meaning: 'how long a statement in PostgreSQL may wait for a lock, in milliseconds',
  },
  SVC_DATABASE_STATEMENT_TIMEOUT_MS: {
    byDefault: AS_POSTGRESQL,
    meaning: 'how long a statement in PostgreSQL may take, in milliseconds',
  },
  SVC_DRAIN_MS: {
    byDefault: '`0`',
    meaning:
      'how long `countersignd server` still answers requests after the signal to stop, in milliseconds',
  },
  SVC_DATABASE_PREPARE: {
    byDefault: '`auto`',
    meaning:
      'whether PostgreSQL plans each statement once for each connection: `auto`, `on` or `off`',
  },
  SVC_MAIL_DIR: {
    byDefault: "the state folder's `mail/`",
    meaning: 'the folder for outgoing mail, one `.eml` file for each mail',
  },
  SVC_SMTP_URL: {
    byDefault: null,
    meaning: 'a mail relay that sends the mail instead',
  },
  SVC_MAIL_FROM: {
    byDefault: '`countersign@` and the public host',
    meaning: 'the sender of mail',
  },
  SVC_MAILED_CODES: {
    byDefault: '`1000`',
    meaning:
      'how many mailed sign-in codes may be valid at the same time on the whole server, from 1 to 100,000',
  },
  SVC_MAILED_CODES_PER_DOMAIN: {
    byDefault: null,
    meaning:
      'how many mailed sign-in codes may be valid at the same time for all addresses of one mail domain',
  },
  SVC_ASSISTANT_URL: {
    byDefault: null,
    meaning:
      "the base URL of a model endpoint with an interface like OpenAI's. Without it, questions are answered from the handbook",
  },
  SVC_ASSISTANT_KEY_FILE: {
    byDefault: null,
    meaning: "a file of mode 0600 with the endpoint's key",
  },
  SVC_ASSISTANT_MODEL: {
    byDefault: 'the first model that the endpoint lists',
    meaning: 'the model that answers',
  },
  SVC_METRICS_TOKEN_FILE: {
    byDefault: null,
    meaning:
      'a file with the token that `GET /metrics` of `countersignd server` needs, 16 to 512 characters. Without it and `SVC_METRICS_PORT`, the server has no metrics',
  },
  SVC_METRICS_PORT: {
    byDefault: null,
    meaning:
      'the port of a listener on 127.0.0.1 that has only the metrics of `countersignd server`; they are then not at `SVC_ACCOUNT_PORT`. `0`: any free port',
  },
  SVC_KEYCHAIN: {
    byDefault: '`auto`',
    meaning:
      "`os` (the system's keychain), `file` (a sealed file), or `auto` (the system's keychain if there is one, or else the file). The first start records the choice",
  },
  SVC_DESKTOP_NOTIFY: {
    byDefault: '`off`',
    meaning:
      '`on`: the daemon shows a notification on the desktop for what needs a person. Only on Linux',
  },
  SVC_TOKEN_USERS: {
    byDefault: null,
    meaning:
      "users who may create tokens over HTTP, in addition to root and the daemon's own user. `any` allows all users",
  },
  SVC_CONSOLE: {
    byDefault: '`on`',
    meaning: '`off`: the daemon has no console for browsers, and ends the open ones',
  },
  SVC_LOG_LEVEL: {
    byDefault: '`info`',
    meaning: 'the level of the log on standard error: `error`, `warn`, `info` or `debug`',
  },
  SVC_TOKEN: {
    byDefault: null,
    meaning: 'a token that the command line uses instead of its own token',
  },
  SVC_TOKEN_FILE: {
    byDefault: null,
    meaning: 'a file of mode 0600 with such a token',
  },
}

const texts: Readonly<Record<string, SettingText>> = {
  ...OWN,
  ...Object.fromEntries(
    RETENTION_SETTINGS.map(({ name, what, byDefault }) => [
      name,
      {
        byDefault: byDefault === null ? '`forever`' : `\`${byDefault}\``,
        meaning: `how many days the account server keeps ${what}, or \`forever\``,
      },
    ]),
  ),
}

export const SETTINGS: readonly Setting[] = SETTING_NAMES.map((name) => ({
  name,
  isSecret: SECRET_SETTINGS.includes(name),
  ...(texts[name] as SettingText),
}))
