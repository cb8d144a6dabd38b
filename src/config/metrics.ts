/** The settings for the metrics of an account server. */
import { type ConfigPlatform, type Env, configFault, port, read, secretInFile } from './values.ts'

/** A token as RFC 6750 section 2.1 allows it, which cannot be guessed. */
const TOKEN = /^[A-Za-z0-9._~+/-]{16,512}=*$/

export interface MetricsConfig {
  /** The token that a request for metrics must have, a secret; null if none is needed. */
  readonly token: string | null
  /**
   * The port of a listener of its own on loopback; 0 for any free port.
   *
   * Null if there is none. The account server's own listener then has the metrics, if a token is
   * set.
   */
  readonly port: number | null
}

/** @throws StartError with a message that does not contain the token */
export function metricsConfig(env: Env, os: ConfigPlatform): MetricsConfig {
  const own = read(env, 'SVC_METRICS_PORT') === null ? null : port(env, 'SVC_METRICS_PORT', 0)
  return Object.freeze({ token: metricsToken(env, os), port: own })
}

function metricsToken(env: Env, os: ConfigPlatform): string | null {
  const text = secretInFile(env, 'SVC_METRICS_TOKEN_FILE', 'token', os)
  if (text === null || TOKEN.test(text)) return text
  throw configFault(
    'The file that SVC_METRICS_TOKEN_FILE names must hold one token of 16 to 512 letters, digits and -._~+/ (it is not shown). Make one: openssl rand -hex 32',
  )
}
