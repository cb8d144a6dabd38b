/** What a handler gets, over a device on the workbench. */
import type { Account } from '../../src/api/port.ts'
import { openTokens } from '../../src/auth/tokens.ts'
import type { Context } from '../../src/handlers/context.ts'
import type { Enrolled } from '../device/enrolled.ts'

export function contextOf(device: Enrolled, parts: Partial<Account> = {}, accept = ''): Context {
  const tokens = openTokens({
    keychain: device.store,
    rows: device.state.tokens,
    now: device.now,
    commandLineToken: () => '',
  })
  return {
    account: { ...device.account, ...parts },
    local: { ...device, tokens },
    caller: { token: 'tok_1', scope: 'full' },
    accept,
  }
}
