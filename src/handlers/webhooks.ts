/** Handlers for webhooks. They need a signed-in device, which seals their settings. */
import { type HandlerContext, type Handlers, noDevice } from './context.ts'
import { pageIn } from './account.ts'

async function webhooksFor({ home, caller, local: _signedIn }: HandlerContext) {
  if (caller === null) throw noDevice()
  return { by: caller, webhooks: await home.webhooks() }
}

export const webhooks: Handlers['webhooks'] = {
  list: async (page, context) => {
    const { by, webhooks: all } = await webhooksFor(context)
    return pageIn(all.list(by), page, 'whk_')
  },
  create: async ({ body }, context) => {
    const { by, webhooks: all } = await webhooksFor(context)
    return all.create(by, body)
  },
  update: async ({ id, body }, context) => {
    const { by, webhooks: all } = await webhooksFor(context)
    return all.update(by, id, body)
  },
  delete: async ({ id }, context) => {
    const { by, webhooks: all } = await webhooksFor(context)
    all.delete(by, id)
  },
  test: async ({ id }, context) => {
    const { by, webhooks: all } = await webhooksFor(context)
    return all.test(by, id)
  },
  deliveries: async ({ id, ...page }, context) => {
    const { by, webhooks: all } = await webhooksFor(context)
    return pageIn(all.deliveries(by, id), page, 'evt_')
  },
}
