import type { ServiceContext } from '../../src/service/context.ts'
import { newEvents } from '../../src/service/events.ts'
import { subscribers } from '../../src/service/subscribers.ts'

/** Adds the events of the account server to what a suite calls its functions with. */
export function withEvents<G extends Pick<ServiceContext, 'background' | 'db' | 'mail' | 'now'>>(
  ground: G,
) {
  const events = newEvents(ground, async () => subscribers(whole as unknown as ServiceContext))
  const whole = { ...ground, events }
  return whole
}
