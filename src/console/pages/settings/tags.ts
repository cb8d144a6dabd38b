/** The tags of the account, which two sections show. */
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { newResource, useShared, type Resource } from '../../data/resource.ts'

const ownTags = newResource(async () => ({
  items: await allItems((cursor) => dataOf(api.GET('/api/v1/tags', { params: { query: cursor } }))),
}))

/** Reads the tags of the account while a component is shown. */
export const useTags = (): Resource<{ readonly items: readonly Schemas['Tag'][] }> =>
  useShared(ownTags, ['session.*', 'sync.done', 'connection.*'])
