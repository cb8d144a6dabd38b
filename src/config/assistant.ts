/**
 * The settings for the assistant of an account server.
 *
 * The assistant is an endpoint with the OpenAI interface (chat completions and models), which the
 * operator chooses. Messages never show its address, which may contain a key. They do not show an
 * invalid value for the key file either, because it may be the key itself. Only the operator's log
 * names a key file that cannot be read.
 */
import {
  type Env,
  type ConfigPlatform,
  configFault,
  isPrivateUrl,
  read,
  wrong,
  secretPath,
} from './values.ts'

export interface AssistantConfig {
  /** The base URL of the interface, such as https://host/v1, without a trailing slash. */
  readonly url: string
  /** The absolute path of the file with the key; null if the endpoint needs no key. */
  readonly keyFile: string | null
  /** The name of the model; null for the first model that the endpoint lists. */
  readonly model: string | null
}

/**
 * Returns the settings of the endpoint; null if none is configured.
 * @throws StartError
 */
export function assistantConfig(env: Env, os: ConfigPlatform): AssistantConfig | null {
  const url = baseUrl(env)
  const of = { keyFile: secretPath(env, 'SVC_ASSISTANT_KEY_FILE', 'key', os), model: model(env) }
  if (url !== null) return Object.freeze({ url, ...of })
  for (const name of ['SVC_ASSISTANT_KEY_FILE', 'SVC_ASSISTANT_MODEL'])
    if (read(env, name) !== null)
      throw configFault(`${name} has no effect without SVC_ASSISTANT_URL. Set both or neither.`)
  return null
}

function baseUrl(env: Env): string | null {
  const value = read(env, 'SVC_ASSISTANT_URL')
  if (value === null) return null
  const refused = (what: string) =>
    configFault(`SVC_ASSISTANT_URL ${what} (Its value may hold a key and is not shown.)`)
  const url = URL.parse(value)
  if (url === null) throw refused('must be a URL, for example https://host/v1.')
  if (!isPrivateUrl(url)) throw refused('must use https. http is allowed for a loopback host only.')
  if (url.href !== url.origin + url.pathname)
    throw refused(
      'must be the base URL of the interface, for example https://host/v1, without query, fragment or credentials. A key ' +
        'belongs in the file that SVC_ASSISTANT_KEY_FILE names.',
    )
  return url.href.replace(/\/+$/, '')
}

function model(env: Env): string | null {
  const value = read(env, 'SVC_ASSISTANT_MODEL')
  if (value === null || /^[\x21-\x7e]{1,200}$/.test(value)) return value
  throw wrong('SVC_ASSISTANT_MODEL', value, 'it must be the name of a model, without spaces.')
}
