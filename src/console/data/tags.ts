/** The tags of the account, which several pages show. */
import { type AllItems, allItems, api, dataOf, type Schemas } from './api.ts'
import { newResource, useShared, type Resource } from './resource.ts'

const ownTags = newResource(() =>
  allItems((query) => dataOf(api.GET('/api/v1/tags', { params: { query } }))),
)

/** Reads the tags of the account while a component is shown. */
export const useTags = (): Resource<AllItems<Schemas['Tag']>> =>
  useShared(ownTags, ['session.*', 'sync.done', 'connection.*'])
