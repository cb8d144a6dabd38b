/** The preferences of the account, which two sections show and change. */
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { newResource, useShared, type Resource } from '../../data/resource.ts'

const ownPreferences = newResource(() => dataOf(api.GET('/api/v1/preferences')))

/** Reads the preferences of the account while a component is shown. */
export const usePreferences = (): Resource<Schemas['Preferences']> =>
  useShared(ownPreferences, ['session.*', 'sync.done'])
